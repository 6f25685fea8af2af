package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
)

// one opens a cluster of one node with the collection docs of three partitions.
func one(t *testing.T) *Backend {
	n, err := Open(t.Context(), t.TempDir(), Options{Cluster: "test", Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := (backendtest.Calls{Backend: n}).Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	return n
}

func replicasOf(n *Backend) map[string]*replica {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	return maps.Clone(n.catalogue.mu.replicas)
}

// want waits until the gauges of a node are as wanted.
func want(t *testing.T, n *Backend, what string, ok func(g Gauges) bool) {
	t.Helper()
	until(t, patience, func() error {
		if g := n.Gauges(); !ok(g) {
			return fmt.Errorf("%s: %+v", what, g)
		}
		return nil
	})
}

// TestReady holds the replicas of a node back: it is not ready until they have caught up, and
// replicas that fall behind later do not change that.
func TestReady(t *testing.T) {
	n := one(t)
	until(t, patience, n.Ready)
	want(t, n, "three replicas serve", func(g Gauges) bool {
		return g.Serving == 3 && g.Unserved == 0 && g.UnderReplicated == 0 && g.Partitions == 3
	})

	replicas := replicasOf(n)
	release := sync.OnceFunc(func() {
		for _, r := range replicas {
			r.applying.Unlock()
		}
	})
	defer release() // the node could not be closed
	for _, r := range replicas {
		r.applying.Lock()
		r.update(func() { r.mu.serving = false })
	}
	want(t, n, "three replicas are behind", func(g Gauges) bool {
		return g.CatchingUp == 3 && g.Unserved == 3 && g.UnderReplicated == 3 && g.Lag > 0
	})
	if err := n.Ready(); err != nil {
		t.Errorf("a node that was ready: %v", err)
	}
	n.caughtUp.Store(false)
	if err := n.Ready(); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "3 of 3 replicas of this node are catching up") {
		t.Errorf("replicas that catch up: %v", err)
	}
	release()
	until(t, patience, n.Ready)
	want(t, n, "three replicas have caught up", func(g Gauges) bool { return g.Serving == 3 && g.Lag == 0 })

	if !n.Leads() {
		t.Error("a cluster of one has no leader")
	}
	n.members.mu.Lock() // as if another node were needed for a majority
	n.members.peer("other")
	n.members.mu.Unlock()
	n.catalogue.change(func() { n.catalogue.mu.nodes["other"] = nodeRecord{Name: "other"} })
	if err := n.Ready(); !strings.Contains(fmt.Sprint(err), "not in contact with a majority") {
		t.Errorf("without a majority: %v", err)
	}
	want(t, n, "one of two nodes", func(g Gauges) bool { return !g.InContact && g.Up == 1 && g.Down == 1 })
	if n.Leads() {
		t.Error("without a majority a node leads")
	}
}

// TestHedges asks a replica that does not answer, and one that cannot, before one that does.
func TestHedges(t *testing.T) {
	n := one(t)
	until(t, patience, n.Ready)
	if _, err := n.nc.Subscribe(n.prefix+".call.silent", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	c, err := n.collection(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	race := func(first string) {
		t.Helper()
		r := routed{n, c, 0}
		if _, err := r.race(t.Context(), []string{first, n.name}, call{Replica: localName(c.ID, 0), Open: &backend.OpenRequest{}}); err != nil {
			t.Fatal(err)
		}
	}
	race("silent")
	if g := n.Gauges(); g.Hedges != 1 || g.Failovers != 0 {
		t.Errorf("%d hedges and %d failovers, want 1 and 0", g.Hedges, g.Failovers)
	}
	until(t, patience, func() error { // where the error comes late, it is a hedge
		if race("absent"); n.Gauges().Failovers == 0 {
			return errors.New("no failover was counted")
		}
		return nil
	})
}

// TestLogErrors counts messages that no log takes, and replicas that cannot follow theirs.
func TestLogErrors(t *testing.T) {
	n := one(t)
	until(t, patience, n.Ready)
	if g := n.Gauges(); g.WriteErrors != 0 {
		t.Errorf("%d errors of writes, want 0", g.WriteErrors)
	}
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() {
		_, err := n.send(ctx, "nobody", 0, logRecord{}, &nats.Msg{Subject: "nothing", Header: nats.Header{}})
		sent <- err
	}()
	want(t, n, "a failed write", func(g Gauges) bool { return g.WriteErrors > 0 })
	cancel()
	if err := <-sent; err == nil {
		t.Error("a message without a log was taken")
	}
	for _, r := range replicasOf(n) {
		r.fail(errors.New("provoked"))
	}
	if g := n.Gauges(); g.ReadErrors != 3 || g.Failing != 3 {
		t.Errorf("%d errors of reads and %d replicas that fail, want 3 and 3", g.ReadErrors, g.Failing)
	}
}

// TestGaugesOfThree counts the leaders of new logs, and reports partitions that lack a replica when
// a node has stopped.
func TestGaugesOfThree(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	c := newThree(t)
	c.start(0, 1, 2)
	c.create(1)
	for i := range c.nodes {
		want(t, c.nodes[i], "all is well", func(g Gauges) bool {
			return g.InContact && g.Up == 3 && g.Down == 0 && g.Partitions == 4 && g.UnderReplicated == 0 && g.LeaderChanges >= 4
		})
		until(t, patience, c.nodes[i].Ready)
	}
	c.stop(2)
	want(t, c.nodes[0], "a node is down", func(g Gauges) bool { return g.Up == 2 && g.Down == 1 && g.UnderReplicated > 0 && g.Unserved == 0 })
	if err := c.nodes[0].Ready(); err != nil {
		t.Errorf("two nodes of three: %v", err)
	}
	leads := func(of int, nodes ...int) {
		t.Helper()
		until(t, patience, func() error {
			for _, i := range nodes {
				if c.nodes[i].Leads() != (i == of) {
					return fmt.Errorf("node %d leads: %t, want node %d", i, c.nodes[i].Leads(), of)
				}
			}
			return nil
		})
	}
	leads(0, 0, 1)
	c.start(2)
	leads(0, 0, 1, 2)
	c.stop(0)
	leads(1, 1, 2)
	c.start(0)
	leads(0, 0, 1, 2)
	want(t, c.nodes[0], "the node is back", func(g Gauges) bool { return g.Down == 0 && g.UnderReplicated == 0 })
	c.stop(1)
	c.stop(2)
	until(t, patience, func() error {
		if c.nodes[0].Ready() == nil {
			return errors.New("a node without a majority is ready")
		}
		return nil
	})
}
