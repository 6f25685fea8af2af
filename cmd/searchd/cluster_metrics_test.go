package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/searchd/search/cluster"
)

// TestClusterMetrics gathers the metrics of a node: each gauge has its own name or label.
func TestClusterMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(clusterGauges(func() cluster.Gauges {
		return cluster.Gauges{InContact: true, Up: 2, Down: 3, Partitions: 4, UnderReplicated: 5, Unserved: 6, LostLogs: 7, Serving: 8, CatchingUp: 9, Failing: 10,
			Lag: 11, Hedges: 12, Failovers: 13, LeaderChanges: 14, ReadErrors: 15, WriteErrors: 16}
	}))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "searchd_cluster_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{"in_contact": 1, "nodes up": 2, "nodes down": 3, "partitions": 4, "partitions_under_replicated": 5, "partitions_unserved": 6, "lost_logs": 7,
		"replicas serving": 8, "replicas catching_up": 9, "replicas failing": 10, "replica_lag": 11, "hedges_total": 12, "failovers_total": 13, "leader_changes_total": 14,
		"log_errors_total read": 15, "log_errors_total write": 16}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d metrics, want %d: %v", len(got), len(want), got)
	}
}
