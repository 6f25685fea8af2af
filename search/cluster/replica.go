package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// A replica applies at most so many messages, and about so many bytes, in one transaction.
const (
	batchMessages = 512
	batchBytes    = 8 << 20
)

// retryDelay is how long a replica waits after a failure before it tries again.
const retryDelay = 500 * time.Millisecond

// replica is a copy of one partition on this node: a collection of the embedded backend that
// follows the partition's log.
type replica struct {
	node   *Backend
	id     string // of the collection
	part   int
	stream string
	local  string // name of the collection
	first  uint64 // place before the first message of the log
	salt   uint64 // of the names that this replica gives passages

	revision uint64 // of the collection's entry in the catalogue whose settings it has; for reconcile alone
	stop     context.CancelFunc
	wait     sync.WaitGroup

	mu struct {
		sync.Mutex
		place   uint64        // up to which the log was applied
		change  uint64        // of the last message that was no barrier
		changed chan struct{} // closed when place grows or serving changes
		serving bool          // it has applied all that was acknowledged when it began to serve
		fault   error         // why it does not follow the log; nil: it does
		lost    error         // the log lost messages that were applied here: the replica stops for good
	}
}

// startReplica opens the collection of a partition and follows its log from where it stopped.
func (n *Backend) startReplica(ctx context.Context, c *collection, p int) (*replica, error) {
	r := &replica{node: n, id: c.ID, part: p, stream: n.streamName(c.ID, p), local: localName(c.ID, p), first: c.Config.FirstSequence, salt: rand.Uint64()}
	config := c.Config
	config.FirstSequence = 0
	err := n.local.Configure(ctx, backend.ConfigureRequest{Collection: r.local, Create: true, Config: config})
	if errors.Is(err, backend.ErrCollectionExists) {
		err = n.local.Configure(ctx, backend.ConfigureRequest{Collection: r.local, Config: config})
	}
	if err != nil {
		return nil, err
	}
	place, err := n.local.Place(ctx, r.local)
	if err != nil {
		return nil, err
	}
	r.mu.place = max(place, r.first)
	r.mu.change, r.mu.changed = r.mu.place, make(chan struct{})
	run, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.wait.Go(func() { r.follow(run) })
	r.wait.Go(func() { r.serve(run) })
	return r, nil
}

// end stops following the log.
func (r *replica) end() {
	r.stop()
	r.wait.Wait()
	r.update(func() { r.mu.serving = false })
}

// update changes what waiters see.
func (r *replica) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.mu.changed)
	r.mu.changed = make(chan struct{})
}

// fail notes why the replica does not follow the log; nil: it does.
func (r *replica) fail(err error) {
	r.mu.Lock()
	before := r.mu.fault
	r.mu.fault = err
	r.mu.Unlock()
	if err != nil && (before == nil || before.Error() != err.Error()) {
		r.node.alarm(fmt.Sprintf("partition %s does not follow its log, which is tried again: %v", r.local, err))
	}
}

// follow applies the log until ctx ends.
func (r *replica) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.consume(ctx)
		if ctx.Err() != nil {
			return
		}
		r.fail(err)
		pause(ctx, retryDelay)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// consume reads the log from the present place on and applies it, until it fails.
func (r *replica) consume(ctx context.Context) error {
	r.mu.Lock()
	from, lost := r.mu.place, r.mu.lost
	r.mu.Unlock()
	if lost != nil {
		return lost
	}
	stream, err := r.node.js.Stream(ctx, r.stream)
	if err != nil {
		return err
	}
	if last := stream.CachedInfo().State.LastSeq; last < from {
		err := fmt.Errorf("%w: it ends at %d, and this replica has applied it up to %d", errLogLost, last, from)
		r.lose(err)
		return err
	}
	cons, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from + 1})
	if err != nil {
		return err
	}
	messages, failed := make(chan jetstream.Msg, 2*batchMessages), make(chan error, 1)
	consuming, err := cons.Consume(func(m jetstream.Msg) {
		select {
		case messages <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(2*batchMessages, 2*batchBytes), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrStreamNotFound) {
			select {
			case failed <- err:
			default:
			}
		}
	}))
	if err != nil {
		return err
	}
	defer consuming.Stop()
	r.fail(nil)
	for {
		select {
		case m := <-messages:
			if err := r.apply(ctx, r.batch(m, messages)); err != nil {
				return err
			}
		case err := <-failed:
			return err
		case <-consuming.Closed():
			return errors.New("the consumer of the log was closed")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errLogLost is the fault of a replica that is ahead of its log.
var errLogLost = errors.New("the log lost what was applied")

// lose stops the replica for good. What it holds was acknowledged and is not in the log any more,
// which may continue with other messages in the same places.
func (r *replica) lose(err error) {
	r.update(func() { r.mu.serving, r.mu.lost = false, err })
	r.fail(err)
}

// batch returns a message and those that have arrived after it.
func (r *replica) batch(m jetstream.Msg, more <-chan jetstream.Msg) []jetstream.Msg {
	list, size := []jetstream.Msg{m}, len(m.Data())
	for len(list) < batchMessages && size < batchBytes {
		select {
		case m := <-more:
			list, size = append(list, m), size+len(m.Data())
		default:
			return list
		}
	}
	return list
}

// apply commits the writes of messages in one transaction.
func (r *replica) apply(ctx context.Context, list []jetstream.Msg) error {
	var entries []embedded.LogEntry
	r.mu.Lock()
	place, change, lost := r.mu.place, r.mu.change, r.mu.lost
	r.mu.Unlock()
	if lost != nil {
		return lost
	}
	for _, m := range list {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		at := meta.Sequence.Stream
		if at <= place { // delivered again
			continue
		}
		e, ok, err := decodeMessage(m.Data(), at, r.first)
		if err != nil {
			return fmt.Errorf("message %d of %s: %w", at, r.stream, err)
		}
		if place = at; ok {
			entries, change = append(entries, e), at
		}
	}
	if len(entries) > 0 {
		if err := r.node.local.Replay(ctx, r.local, entries); err != nil {
			return err
		}
	}
	r.update(func() { r.mu.place, r.mu.change = max(r.mu.place, place), max(r.mu.change, change) })
	return nil
}

// serve makes the replica serve while the node is in contact with a majority of the nodes. It
// begins once it has applied all that was accepted before it asked.
func (r *replica) serve(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		serving, lost := r.mu.serving, r.mu.lost
		r.mu.Unlock()
		if lost != nil {
			return
		}
		switch inContact := r.node.inContact(); {
		case serving && !inContact:
			r.update(func() { r.mu.serving = false })
		case !serving && inContact:
			within, cancel := context.WithTimeout(ctx, 5*time.Second)
			place, err := r.node.barrier(within, r.id, r.part)
			if err == nil && r.reached(within, place) == nil && r.node.inContact() {
				r.update(func() { r.mu.serving = r.mu.lost == nil })
			}
			cancel()
		}
		pause(ctx, serveInterval)
	}
}

// serveInterval is how often a replica looks whether it may serve.
const serveInterval = 100 * time.Millisecond

// reached waits until the replica has applied the log up to a place.
func (r *replica) reached(ctx context.Context, place uint64) error {
	for {
		r.mu.Lock()
		at, changed := r.mu.place, r.mu.changed
		r.mu.Unlock()
		if at >= place {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settled waits until the replica has applied the log up to a place or does not serve.
func (r *replica) settled(ctx context.Context, place uint64) error {
	for {
		r.mu.Lock()
		done, changed := r.mu.place >= place || !r.mu.serving, r.mu.changed
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// state returns the place of the last change, and whether the replica serves.
func (r *replica) state() (place, change uint64, serving bool, fault error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.place, r.mu.change, r.mu.serving, r.mu.fault
}
