package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/searchd/search/cluster"
)

// clusterGauges are the metrics of a node of a cluster.
type clusterGauges func() cluster.Gauges

// Describe implements prometheus.Collector: the metrics are checked as they are collected.
func (clusterGauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (read clusterGauges) Collect(to chan<- prometheus.Metric) {
	g := read()
	contact := 0
	if g.InContact {
		contact = 1
	}
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		label, of  string
		value      float64
	}{
		{"in_contact", "1 while the node is in contact with a majority of the nodes.", prometheus.GaugeValue, "", "", float64(contact)},
		{"nodes", "Nodes by whether they have answered this node lately.", prometheus.GaugeValue, "state", "up", float64(g.Up)},
		{"nodes", "Nodes by whether they have answered this node lately.", prometheus.GaugeValue, "state", "down", float64(g.Down)},
		{"partitions", "Partitions of all collections.", prometheus.GaugeValue, "", "", float64(g.Partitions)},
		{"partitions_under_replicated", "Partitions served by fewer nodes than --copies.", prometheus.GaugeValue, "", "", float64(g.UnderReplicated)},
		{"partitions_unserved", "Partitions that no node serves: searches of their collections fail.", prometheus.GaugeValue, "", "", float64(g.Unserved)},
		{"lost_logs", "Partitions whose log was lost and is not rebuilt yet: they take no writes.", prometheus.GaugeValue, "", "", float64(g.LostLogs)},
		{"replicas", "Replicas of this node by state; failing ones cannot follow their log.", prometheus.GaugeValue, "state", "serving", float64(g.Serving)},
		{"replicas", "Replicas of this node by state; failing ones cannot follow their log.", prometheus.GaugeValue, "state", "catching_up", float64(g.CatchingUp)},
		{"replicas", "Replicas of this node by state; failing ones cannot follow their log.", prometheus.GaugeValue, "state", "failing", float64(g.Failing)},
		{"replica_lag", "Messages of its log that the replica furthest behind on this node has not applied.", prometheus.GaugeValue, "", "", float64(g.Lag)},
		{"hedges_total", "Calls sent to another replica because the first did not answer soon.", prometheus.CounterValue, "", "", float64(g.Hedges)},
		{"failovers_total", "Calls sent to another replica because the first could not answer.", prometheus.CounterValue, "", "", float64(g.Failovers)},
		{"leader_changes_total", "Elections of leaders of logs in the whole cluster.", prometheus.CounterValue, "", "", float64(g.LeaderChanges)},
		{"log_errors_total", "Failed attempts of this node to follow a log or to append to it.", prometheus.CounterValue, "operation", "read", float64(g.ReadErrors)},
		{"log_errors_total", "Failed attempts of this node to follow a log or to append to it.", prometheus.CounterValue, "operation", "write", float64(g.WriteErrors)},
	} {
		var names, values []string
		if m.label != "" {
			names, values = []string{m.label}, []string{m.of}
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("searchd_cluster_"+m.name, m.help, names, nil), m.kind, m.value, values...)
	}
}
