package cluster

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/searchd/search/backend"
)

// counters count events since the node was opened.
type counters struct {
	hedges, failovers       atomic.Uint64
	leaderChanges           atomic.Uint64
	readErrors, writeErrors atomic.Uint64
}

// Gauges are the state of the cluster as this node sees it, and what has happened since it was
// opened. They are read without asking another node.
type Gauges struct {
	InContact       bool // with a majority of the nodes
	Up, Down        int  // nodes, by whether they have answered lately
	Partitions      int  // of all collections
	UnderReplicated int  // partitions that fewer nodes serve than should
	Unserved        int  // partitions that no node serves
	LostLogs        int  // partitions whose log was lost and is not rebuilt yet

	Serving, CatchingUp, Failing int    // replicas of this node; Failing: they cannot follow their log
	Lag                          uint64 // messages of its log that a replica of this node has not applied, at most

	Hedges        uint64 // calls sent to another replica because the first did not answer soon
	Failovers     uint64 // calls sent to another replica because the first could not answer
	LeaderChanges uint64 // elections of leaders of logs, in the whole cluster
	ReadErrors    uint64 // failed attempts to follow a log
	WriteErrors   uint64 // failed attempts to append to a log
}

// Gauges returns the gauges of the node.
func (n *Backend) Gauges() Gauges {
	g := Gauges{
		InContact: n.inContact(), Hedges: n.counters.hedges.Load(), Failovers: n.counters.failovers.Load(), LeaderChanges: n.counters.leaderChanges.Load(),
		ReadErrors: n.counters.readErrors.Load(), WriteErrors: n.counters.writeErrors.Load(),
	}
	nodes := n.nodes()
	n.members.mu.Lock()
	for name := range nodes {
		if name == n.name || time.Since(n.members.peer(name).answered) <= leaseTime {
			g.Up++
		} else {
			g.Down++
		}
	}
	n.members.mu.Unlock()
	n.catalogue.mu.Lock()
	collections, replicas := maps.Clone(n.catalogue.mu.collections), maps.Clone(n.catalogue.mu.replicas)
	n.catalogue.mu.Unlock()
	copies := min(n.o.Copies, len(nodes))
	for _, c := range collections {
		for p := range c.Partitions {
			g.Partitions++
			served := len(routed{n, c, p}.candidates())
			if served < copies {
				g.UnderReplicated++
			}
			if served == 0 {
				g.Unserved++
			}
			if n.log(c.ID, p).Lost != "" {
				g.LostLogs++
			}
		}
	}
	for name, r := range replicas {
		place, _, serving, fault := r.state()
		switch {
		case fault != nil:
			g.Failing++
		case serving:
			g.Serving++
		default:
			g.CatchingUp++
		}
		if last := n.places.of(name); last > place {
			g.Lag = max(g.Lag, last-place)
		}
	}
	return g
}

// Ready returns nil when the node takes requests, else an error with the reason: it needs contact
// with a majority, and once after it was opened its catalogue must have been current and all its
// replicas must have caught up. Replicas that it gets later do not count, since other nodes serve
// their partitions: otherwise no node would be ready after one had died.
func (n *Backend) Ready() error {
	if n.closed() {
		return backend.ErrClosed
	}
	if !n.inContact() {
		return fmt.Errorf("%w: not in contact with a majority of the nodes", backend.ErrUnavailable)
	}
	if n.caughtUp.Load() {
		return nil
	}
	n.catalogue.mu.Lock()
	revision, collections := n.catalogue.mu.revision, maps.Clone(n.catalogue.mu.collections)
	n.catalogue.mu.Unlock()
	if applied := n.members.applied.Load(); applied < revision {
		return fmt.Errorf("%w: the catalogue is followed up to revision %d of %d", backend.ErrUnavailable, applied, revision)
	}
	behind, all := 0, 0
	for _, c := range collections {
		for p := range c.Partitions {
			if !n.hosts(c, p) {
				continue
			}
			all++
			if !n.settledIn(c.ID, p) {
				behind++
			}
		}
	}
	if behind > 0 {
		return fmt.Errorf("%w: %d of %d replicas of this node are catching up", backend.ErrUnavailable, behind, all)
	}
	n.caughtUp.Store(true)
	return nil
}

// settledIn reports whether the replica of a partition on this node serves, or will not before
// somebody repairs the partition.
func (n *Backend) settledIn(id string, p int) bool {
	if n.log(id, p).Lost != "" {
		return true
	}
	r := n.replica(id, p)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.serving || r.mu.lost != nil
}

// leaderElected is the subject under which NATS reports the leaders of streams; the name of the
// stream follows.
const leaderElected = "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED."

// takeElection counts a new leader of a log.
func (n *Backend) takeElection(msg *nats.Msg) {
	if strings.HasPrefix(strings.TrimPrefix(msg.Subject, leaderElected), n.bucket+"-") {
		n.counters.leaderChanges.Add(1)
	}
}
