package api

import (
	"context"
	"testing"

	"example.com/searchd/search/cluster"
)

// TestClusterStatus describes a cluster, and refuses to where there is none.
func TestClusterStatus(t *testing.T) {
	status := func(context.Context) any {
		return cluster.Status{Cluster: "demo", Node: "n1", InContact: true, Nodes: []cluster.NodeStatus{{Name: "n1", State: "up", Serving: 1}},
			Partitions: []cluster.PartitionStatus{{Collection: "docs", Placed: []string{"n1"}, Serving: []string{"n1"}, Leader: "n1", Messages: 2, Last: 3, Fault: "it was deleted"}}}
	}
	var s cluster.Status
	newFixture(t, Options{ClusterStatus: status}).do("GET", "/v1/cluster", "").want(200, &s)
	if len(s.Nodes) != 1 || len(s.Partitions) != 1 || s.Partitions[0].Leader != "n1" || s.Partitions[0].Fault != "it was deleted" {
		t.Errorf("status %+v", s)
	}
	newFixture(t, Options{}).do("GET", "/v1/cluster", "").want(422, nil)
}
