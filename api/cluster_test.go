package api

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"example.com/searchd/search"
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

// TestChangeNode drains a node, undoes it and removes it, and refuses to where there is no cluster.
func TestChangeNode(t *testing.T) {
	var got []string
	change := func(_ context.Context, node, change string) error {
		if got = append(got, node+" "+change); node == "n9" {
			return fmt.Errorf("%w: node %q: allowed: n1", search.ErrInvalid, node)
		}
		return nil
	}
	f := newFixture(t, Options{ClusterNode: change})
	f.do("PUT", "/v1/cluster/nodes/n1/drain", "").want(204, nil)
	f.do("DELETE", "/v1/cluster/nodes/n1/drain", "").want(204, nil)
	f.do("DELETE", "/v1/cluster/nodes/n1", "").want(204, nil)
	f.do("PUT", "/v1/cluster/nodes/n9/drain", "").want(400, nil)
	if want := []string{"n1 drain", "n1 undrain", "n1 remove", "n9 drain"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	newFixture(t, Options{}).do("PUT", "/v1/cluster/nodes/n1/drain", "").want(422, nil)
}
