package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"example.com/searchd/search/backend"
)

// A log that was lost is rebuilt from a replica while searches go on:
//
//  1. The record of the log says that it is lost. A node that follows it there takes part in no
//     acknowledgement any more, and serves again after a lapse of contact only when it follows it.
//  2. One node repairs: it is entered in the record, and others take its place when the record has
//     not changed for repairLease. All changes are by compare-and-swap, so a repairer that was
//     replaced cannot finish.
//  3. When all nodes that are not gone know, what is acknowledged does not grow. A replica that has
//     been serving all the time has all of it. Where none has, all nodes must answer, and the
//     replica furthest on has all that is left.
//  4. That replica's node fills the next generation, whose places come after all that any node
//     knows: a copy of each document with its number and revision, then a mark. What an earlier
//     repairer began is not used.
//  5. The record names the new generation, and replicas follow it.

// Times of a repair.
const (
	repairLease = 10 * time.Second // after which a repairer whose record does not change is replaced
	repairBeat  = 2 * time.Second  // between two changes of it
	repairPause = time.Second
)

// copying is how many documents are on their way to the log.
const copying = 64

// repairs are the logs that this node looks after until they are rebuilt.
type repairs struct {
	sync.Mutex
	running map[string]bool // by local name
}

// startRepair looks after a log that was lost, unless that is done.
func (n *Backend) startRepair(id string, p int) {
	n.repairs.Lock()
	defer n.repairs.Unlock()
	name := localName(id, p)
	if n.repairs.running[name] || n.closed() {
		return
	}
	if n.repairs.running == nil {
		n.repairs.running = map[string]bool{}
	}
	n.repairs.running[name] = true
	n.wait.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-n.done:
				cancel()
			case <-ctx.Done():
			}
		}()
		n.repair(ctx, id, p)
		n.repairs.Lock()
		defer n.repairs.Unlock()
		delete(n.repairs.running, name)
	})
}

// repair rebuilds a log, or waits until another node has.
func (n *Backend) repair(ctx context.Context, id string, p int) {
	var told string
	for seen, since := uint64(0), time.Now(); ctx.Err() == nil; pause(ctx, repairPause) {
		log := n.log(id, p)
		if log.Lost == "" || n.collectionOf(id) == nil {
			return
		}
		if log.revision != seen {
			seen, since = log.revision, time.Now()
		}
		if !n.inContact() || log.Repairer != "" && log.Repairer != n.name && time.Since(since) < repairLease {
			continue
		}
		if err := n.tryRepair(ctx, id, p, log); err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			n.alarm(fmt.Sprintf("partition %s: rebuilding the log, which is tried again: %v", localName(id, p), err))
		}
	}
}

// lease is the record of a log while this node repairs it.
type lease struct {
	node *Backend
	id   string
	part int

	mu    sync.Mutex
	log   logRecord
	ended bool // the log was rebuilt
}

// change changes the record, which ends the lease if another node has.
func (l *lease) change(ctx context.Context, change func(*logRecord)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	next := l.log
	next.Beat++
	change(&next)
	if err := l.node.saveLog(ctx, l.id, l.part, &next); err != nil {
		return err
	}
	l.log, l.ended = next, next.Lost == ""
	return nil
}

func (l *lease) record() logRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log
}

// keep changes the record now and then until ctx ends, and calls cancel when that fails.
func (l *lease) keep(ctx context.Context, cancel context.CancelCauseFunc, done func() int) {
	for {
		pause(ctx, repairBeat)
		if ctx.Err() != nil {
			return
		}
		if err := l.change(ctx, func(log *logRecord) { log.Done = done() }); err != nil {
			cancel(fmt.Errorf("another node repairs it, or the catalogue does not answer: %w", err))
			return
		}
	}
}

// tryRepair takes the lease and rebuilds the log, or hands it to the node that can.
func (n *Backend) tryRepair(ctx context.Context, id string, p int, log logRecord) error {
	l := &lease{node: n, id: id, part: p, log: log}
	if err := l.change(ctx, func(log *logRecord) { log.Repairer, log.Done, log.Total = n.name, 0, 0 }); err != nil {
		if isConflict(err) { // another node was first
			return nil
		}
		return err
	}
	lapses := n.members.lapses.Load()
	if err := n.spread(ctx, l.record().revision); err != nil {
		return err
	}
	best, base, complete, err := n.survey(ctx, id, p, l.record())
	if err != nil {
		waiting := err.Error()
		if l.record().Waiting == waiting {
			return nil
		}
		return l.change(ctx, func(log *logRecord) { log.Waiting = waiting })
	}
	if best != n.name {
		return l.change(ctx, func(log *logRecord) { log.Repairer, log.Waiting, log.Complete = best, "", complete })
	}
	r := n.replica(id, p)
	if r == nil {
		return errNotServing
	}
	r.update(func() { // it has all there is, so that it may answer searches meanwhile
		if r.mu.log.Lost != "" && !r.mu.serving {
			r.mu.serving, r.mu.complete, r.mu.lapses = true, true, lapses
		}
	})
	return n.rebuild(ctx, l, r, base, complete)
}

// complete reports whether the replica has been serving since before its log was lost.
func (r *replica) complete() bool {
	r.mu.Lock()
	complete, lapses := r.mu.complete, r.mu.lapses
	r.mu.Unlock()
	return complete && r.node.inContact() && lapses == r.node.members.lapses.Load()
}

// inspection is what a node knows about a partition.
type inspection struct {
	Has        bool   // a replica
	Generation int    // of the log that it follows
	Change     uint64 // place of the last change that it has applied
	Complete   bool   // it has all that was acknowledged
	Top        uint64 // the largest place that the node knows
}

// inspect describes a partition, of whose log this node knows that it was lost.
func (n *Backend) inspect(name string) *inspection {
	n.catalogue.mu.Lock()
	r := n.catalogue.mu.replicas[name]
	n.catalogue.mu.Unlock()
	out := &inspection{Top: n.places.of(name)}
	if r == nil {
		return out
	}
	r.applying.Lock() // what was being applied is
	defer r.applying.Unlock()
	r.mu.Lock()
	out.Has, out.Generation, out.Change, out.Top = true, r.mu.generation, r.mu.change, max(out.Top, r.mu.place)
	r.mu.Unlock()
	out.Complete = r.complete()
	return out
}

// survey asks all nodes about a log that was lost. It returns the node with the best replica, which
// is this one if that is as good, a place after which nobody knows of any, and the nodes whose
// replica has all that was acknowledged, which stays so until the log is rebuilt.
func (n *Backend) survey(ctx context.Context, id string, p int, log logRecord) (best string, base uint64, complete map[string]uint64, err error) {
	name := localName(id, p)
	found := map[string]*inspection{n.name: n.inspect(name)}
	var silent []string
	for _, node := range n.others() {
		within, cancel := context.WithTimeout(ctx, leaseTime)
		r, err := n.call(within, node, call{Replica: name, Inspect: log.revision})
		cancel()
		if err != nil || r.Replica == nil {
			silent = append(silent, node)
			continue
		}
		found[node] = r.Replica
	}
	if stream, err := n.js.Stream(ctx, n.streamName(id, p, log.Generation)); err == nil {
		base = stream.CachedInfo().State.LastSeq
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return "", 0, nil, fmt.Errorf("the old log: %w", err)
	}
	var names []string
	complete = maps.Clone(log.Complete)
	known := false
	for node, f := range found {
		base = max(base, f.Top)
		if !f.Has {
			continue
		}
		names = append(names, node)
		if change, ok := complete[node]; ok && f.Generation == log.Generation && f.Change >= change {
			f.Complete = true
		}
		if known = known || f.Complete; f.Complete {
			if complete == nil {
				complete = map[string]uint64{}
			}
			complete[node] = f.Change
		}
	}
	slices.Sort(silent)
	switch {
	case !known && len(silent) > 0:
		return "", 0, nil, fmt.Errorf("no replica is known to have all writes, and %s may have later ones: start it, with an empty data folder if its disk is lost", strings.Join(silent, ", "))
	case len(names) == 0:
		return "", 0, nil, errors.New("no node has a replica yet")
	}
	if known {
		names = slices.DeleteFunc(names, func(node string) bool { return !found[node].Complete })
	}
	return slices.MaxFunc(names, func(a, b string) int {
		x, y := found[a], found[b]
		return cmp.Or(cmp.Compare(x.Generation, y.Generation), cmp.Compare(x.Change, y.Change), btoi(a == n.name)-btoi(b == n.name), cmp.Compare(b, a))
	}), base, complete, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rebuild fills the next generation of a log from the replica of this node.
func (n *Backend) rebuild(ctx context.Context, l *lease, r *replica, base uint64, complete map[string]uint64) error {
	opened, err := n.local.Open(ctx, backend.OpenRequest{Collection: r.local})
	if err != nil {
		return err
	}
	total := opened.Collection.Documents
	err = l.change(ctx, func(log *logRecord) {
		log.Attempt, log.Total, log.Waiting, log.Complete = max(log.Attempt, log.Generation)+1, total, "", complete
	})
	if err != nil {
		return err
	}
	log := l.record()
	n.notice(fmt.Sprintf("partition %s: rebuilding the log from %d documents of this node, from place %d on", r.local, total, base))
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = n.steady(within, "making the next log", func(ctx context.Context) error {
		_, err := n.js.CreateStream(ctx, n.logConfig(l.id, l.part, log.Attempt, base))
		return err
	})
	if err != nil {
		return err
	}
	next := filling{node: n, replica: r, log: log, subject: n.logSubject(l.id, l.part, log.Attempt)}
	n.wait.Go(func() { l.keep(within, cancel, next.count) })
	if err := next.copy(within); err != nil {
		return cmpCause(within, err)
	}
	place, err := next.send(within, markSubject, mark())
	if err != nil {
		return cmpCause(within, err)
	}
	kept, err := n.local.Place(within, r.local)
	if err != nil {
		return err
	}
	digest, err := r.digest(within)
	if err != nil {
		return err
	}
	err = l.change(within, func(log *logRecord) {
		*log = logRecord{Generation: log.Attempt, Attempt: log.Attempt, First: base, Kept: kept, Digest: digest, Filled: place, revision: log.revision}
	})
	if err != nil {
		return cmpCause(within, err)
	}
	cancel(nil)
	n.alarm(fmt.Sprintf("partition %s: the log was rebuilt with %d documents", r.local, next.count()))
	if err := n.removeGenerations(ctx, l.id, l.part, log.Attempt, log.Attempt); err != nil {
		n.notice(fmt.Sprintf("partition %s: earlier generations of the log, which are left over: %v", r.local, err))
	}
	return nil
}

// filling copies the documents of a replica to a log.
type filling struct {
	node    *Backend
	replica *replica
	log     logRecord
	subject string

	mu   sync.Mutex
	done int
}

func (f *filling) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

// copied is called by tests after each document.
var copied = func(done int) {}

// copy sends all documents.
func (f *filling) copy(ctx context.Context) error {
	local, g := f.node.local, errgroup.Group{}
	g.SetLimit(copying)
	for q := (backend.ListRequest{Collection: f.replica.local, Limit: 256, NoFields: true}); ; {
		page, err := local.List(ctx, q)
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		var ids []string
		for _, d := range page.Documents {
			ids = append(ids, d.ID)
		}
		err = backend.LookupPages(ctx, local, backend.LookupRequest{Collection: f.replica.local, IDs: ids, Vectors: true}, func(ids []string, docs []*backend.Document) error {
			for i, d := range docs {
				if d == nil || d.Fields == nil || d.Vectors == nil && len(d.Passages) > 0 {
					f.node.alarm(fmt.Sprintf("partition %s: document %q cannot be read and is not in the log that is rebuilt: write it again", f.replica.local, ids[i]))
					continue
				}
				g.Go(func() error {
					w := backend.Write{ID: d.ID, Fields: d.Fields, Hash: d.Hash, Passages: d.Passages, Blocks: d.Blocks, Vectors: d.Vectors}
					_, err := f.send(ctx, documentSubject(d.ID), encodeCopy(w, d.Ref.Number(), d.Revision))
					if err != nil {
						return fmt.Errorf("document %q: %w", d.ID, err)
					}
					f.mu.Lock()
					f.done++
					done := f.done
					f.mu.Unlock()
					copied(done)
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return g.Wait()
		}
	}
}

// send sends a message to the log.
func (f *filling) send(ctx context.Context, subject string, data []byte) (place uint64, err error) {
	m := nats.NewMsg(f.subject + subject)
	m.Data = data
	for { // as long as the lease is kept
		err = f.node.steady(ctx, "writing to the next log", func(ctx context.Context) error {
			ack, err := f.node.js.PublishMsg(ctx, m)
			if err == nil {
				place = ack.Sequence
			}
			return err
		})
		if !errors.Is(err, backend.ErrUnavailable) || ctx.Err() != nil {
			return place, err
		}
	}
}
