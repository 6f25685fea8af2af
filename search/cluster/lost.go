package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// A log is lost when its stream is gone, or ends before what a replica has applied. Whoever finds
// out enters it in the catalogue, after it has made sure:
//
//   - A stream that is not found is looked for missingTries times.
//   - A stream that seems to end early is sent a barrier. Its place in the log is the answer of a
//     majority, which the state of a new leader need not be.

// Times of the search for a stream.
const missingTries = 4

// missingWait is the pause between two of them.
const missingWait = time.Second

// missing makes sure that a log is gone, which it declares lost. It returns errLogLost then, nil
// where the log was found or the collection is gone, too, and other errors where that is unknown.
func (n *Backend) missing(ctx context.Context, id string, p int, log logRecord) error {
	for range missingTries {
		_, err := n.js.Stream(ctx, n.streamName(id, p, log.Generation))
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		pause(ctx, n.o.missingWait)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return n.declareLost(ctx, id, p, log, "it was deleted")
}

// check makes sure that a log has what the replica has applied up to a place.
func (r *replica) check(ctx context.Context, stream jetstream.Stream, log logRecord, place uint64) error {
	info := stream.CachedInfo().State
	if info.LastSeq >= place {
		return r.checkLast(ctx, stream, log)
	}
	at, err := r.node.barrierAt(ctx, r.id, r.part) // which declares the log lost
	if err == nil && at.place <= place {
		err = r.node.declareLost(ctx, r.id, r.part, log, fmt.Sprintf("it continues at %d, and had reached %d", at.place, place))
	}
	return err
}

// checkLast makes sure that a log still has the last document that was created, or a later revision
// of it.
func (r *replica) checkLast(ctx context.Context, stream jetstream.Stream, log logRecord) error {
	head, err := r.node.local.Newest(ctx, r.local)
	if err != nil || head == nil || head.Revision <= log.First {
		return err
	}
	m, err := stream.GetLastMsgForSubject(ctx, r.node.logSubject(r.id, r.part, log.Generation)+documentSubject(head.ID))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return err
	case m.Sequence >= head.Revision:
		return nil
	}
	err = fmt.Errorf("%w: document %q of place %d", errDiverged, head.ID, head.Revision)
	r.lose(err)
	return err
}

// diverged describes the replica of this node, if it has writes that its log has gone on without.
func (n *Backend) diverged(id string, p int) string {
	r := n.replica(id, p)
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.lost == nil {
		return ""
	}
	return fmt.Sprintf("node %s does not serve it: %v", n.name, r.mu.lost)
}

// declareLost enters in the catalogue that a generation of a log was lost, unless it is not the
// present one, or the collection is gone. It returns errLogLost if it is entered.
func (n *Backend) declareLost(ctx context.Context, id string, p int, log logRecord, reason string) error {
	if err := n.refresh(ctx); err != nil {
		return err
	}
	now, c := n.log(id, p), n.collectionOf(id)
	switch {
	case c == nil:
		return fmt.Errorf("%w: it was dropped", backend.ErrCollectionNotFound)
	case now.Lost != "":
		return now.err(p)
	case now.Generation != log.Generation:
		return fmt.Errorf("%w: partition %d: its log was rebuilt meanwhile", backend.ErrUnavailable, p)
	}
	now.Lost = reason
	switch err := n.saveLog(ctx, id, p, &now); {
	case isConflict(err): // another node was first
		return fmt.Errorf("%w: partition %d: %w", backend.ErrUnavailable, p, errLogLost)
	case err != nil:
		return unavailable(err)
	}
	n.alarm(fmt.Sprintf("collection %s: partition %d: the log was lost: %s; it is rebuilt from a replica", c.Name, p, reason))
	return now.err(p)
}

// collectionOf returns the collection with an id, nil if there is none.
func (n *Backend) collectionOf(id string) *collection {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	for _, c := range n.catalogue.mu.collections {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// freshKey begins the keys that nodes write to find out how far the catalogue has come.
const freshKey = "fresh."

// refresh waits until this node follows the catalogue at least up to now.
func (n *Backend) refresh(ctx context.Context) error {
	revision, err := n.kv.Put(ctx, freshKey+n.name, nil)
	if err != nil {
		return unavailable(err)
	}
	for {
		n.catalogue.mu.Lock()
		now, changed := n.catalogue.mu.revision, n.catalogue.mu.changed
		n.catalogue.mu.Unlock()
		if now >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// freshen is refresh, unless that was done since the contact with the others had lapsed so many
// times.
func (n *Backend) freshen(ctx context.Context, lapses uint64) error {
	m := &n.members
	m.freshing.Lock()
	defer m.freshing.Unlock()
	if m.fresh > lapses {
		return nil
	}
	if err := n.refresh(ctx); err != nil {
		return err
	}
	m.fresh = lapses + 1
	return nil
}
