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
	node  *Backend
	id    string // of the collection
	part  int
	local string // name of the collection
	first uint64 // place before the first message of the first generation of the log
	salt  uint64 // of the names that this replica gives passages

	revision uint64 // of the collection's entry in the catalogue whose settings it has; for reconcile alone
	stop     context.CancelFunc
	wait     sync.WaitGroup
	admin    sync.Mutex // held while the collection is configured, or made anew
	applying sync.Mutex // held while messages are applied

	mu struct {
		sync.Mutex
		log        logRecord     // which it is to follow
		generation int           // of the log that it follows
		place      uint64        // up to which the log was applied
		change     uint64        // of the last message that was no barrier
		changed    chan struct{} // closed when something here changes
		serving    bool          // it has applied all that was acknowledged when it began to serve
		lapses     uint64        // of the node's contact with the others, when it began to serve
		complete   bool          // it was serving when it heard that the log was lost
		fault      error         // why it does not follow the log; nil: it does
		lost       error         // the log went on without messages that were applied here: the replica stops for good
	}
}

// startReplica opens the collection of a partition and follows its log from where it stopped.
func (n *Backend) startReplica(ctx context.Context, c *collection, p int) (*replica, error) {
	r := &replica{node: n, id: c.ID, part: p, local: localName(c.ID, p), first: c.Config.FirstSequence, salt: rand.Uint64()}
	config := c.Config
	config.FirstSequence = 0
	err := n.local.Configure(ctx, backend.ConfigureRequest{Collection: r.local, Create: true, Config: config})
	if errors.Is(err, backend.ErrCollectionExists) {
		err = n.local.Configure(ctx, backend.ConfigureRequest{Collection: r.local, Config: config})
	}
	if err != nil {
		return nil, err
	}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	r.mu.log = n.log(r.id, r.part)
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
	if err != nil {
		r.node.counters.readErrors.Add(1)
	}
	if err != nil && (before == nil || before.Error() != err.Error()) {
		r.node.alarm(fmt.Sprintf("partition %s does not follow its log, which is tried again: %v", r.local, err))
	}
}

// follow applies the log until ctx ends.
func (r *replica) follow(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		log, generation, changed := r.mu.log, r.mu.generation, r.mu.changed
		r.mu.Unlock()
		var err error
		switch {
		case log.Lost != "":
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		case generation != log.Generation:
			if err = r.adopt(ctx, log); err == nil {
				continue
			}
		default:
			err = r.consume(ctx, log)
		}
		if ctx.Err() != nil {
			return
		}
		switch {
		case errors.Is(err, errLogChanged):
			continue
		case errors.Is(err, errNotApplied): // nobody is to wait for it
			r.update(func() { r.mu.serving = false })
			r.fail(err)
		case !errors.Is(err, errLogLost): // which the record of the log says
			r.fail(err)
		}
		pause(ctx, retryDelay)
	}
}

// errNotApplied is the error of a replica that cannot commit, as where the disk is full.
var errNotApplied = errors.New("writes cannot be applied")

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errLogChanged ends the reading of a log whose record has changed.
var errLogChanged = errors.New("the log has changed")

// consume reads the log from the present place on and applies it, until it fails or its record
// changes.
func (r *replica) consume(ctx context.Context, log logRecord) error {
	r.mu.Lock()
	from, lost := r.mu.place, r.mu.lost
	r.mu.Unlock()
	if lost != nil {
		return lost
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.wait.Go(func() { r.whileLog(ctx, log, cancel) })
	stream, err := r.node.js.Stream(ctx, r.node.streamName(r.id, r.part, log.Generation))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return errors.Join(err, r.node.missing(ctx, r.id, r.part, log))
	}
	if err != nil {
		return cmpCause(ctx, err)
	}
	if err := r.check(ctx, stream, log, from); err != nil {
		return cmpCause(ctx, err)
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
			if err := r.apply(ctx, log, r.batch(m, messages)); err != nil {
				return cmpCause(ctx, err)
			}
		case err := <-failed:
			return err
		case <-consuming.Closed():
			return errors.New("the consumer of the log was closed")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// whileLog calls cancel when the record of the log changes.
func (r *replica) whileLog(ctx context.Context, log logRecord, cancel context.CancelCauseFunc) {
	for {
		r.mu.Lock()
		now, changed := r.mu.log, r.mu.changed
		r.mu.Unlock()
		if now.revision != log.revision {
			cancel(errLogChanged)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// cmpCause returns why ctx has ended, or else err.
func cmpCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// errDiverged is the fault of a replica with writes that its log does not have and has gone on
// without.
var errDiverged = errors.New("the log went on without what was applied here")

// lose stops the replica for good: what it holds may have been acknowledged and is not in the log,
// which has continued with other messages.
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
func (r *replica) apply(ctx context.Context, log logRecord, list []jetstream.Msg) error {
	r.applying.Lock()
	defer r.applying.Unlock()
	var entries []embedded.LogEntry
	r.mu.Lock()
	place, change, now := r.mu.place, r.mu.change, r.mu.log
	r.mu.Unlock()
	if now.revision != log.revision {
		return errLogChanged
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
			return fmt.Errorf("message %d of generation %d of the log: %w", at, log.Generation, err)
		}
		if place = at; ok {
			entries, change = append(entries, e), at
		}
		if at == log.Filled { // as in replicas that begin behind the mark
			change = at
		}
	}
	if len(entries) > 0 {
		if err := r.node.local.Replay(ctx, r.local, entries); err != nil {
			return fmt.Errorf("%w: %w", errNotApplied, err)
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
		serving, lost, log, generation := r.mu.serving, r.mu.lost, r.mu.log, r.mu.generation
		r.mu.Unlock()
		switch mayServe := r.mayServe(); {
		case lost != nil:
			return
		case serving && !mayServe:
			r.update(func() { r.mu.serving = false })
		case !serving && log.Lost == "" && log.Generation == generation && r.node.inContact() && r.whole():
			r.begin(ctx, log)
		}
		pause(ctx, serveInterval)
	}
}

// begin makes the replica serve, if its node has not lost contact meanwhile.
func (r *replica) begin(ctx context.Context, log logRecord) {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lapses := r.node.members.lapses.Load()
	if r.node.freshen(within, lapses) != nil {
		return
	}
	place, err := r.node.barrier(within, r.id, r.part)
	if err != nil || r.reached(within, place) != nil {
		return
	}
	r.update(func() {
		if r.mu.lost == nil && r.mu.log.revision == log.revision {
			r.mu.serving, r.mu.lapses = true, lapses
		}
	})
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

// settled waits until the replica has applied a generation of the log up to a place, or does not
// serve: then served is false. A replica that knows that the log was lost refuses.
func (r *replica) settled(ctx context.Context, generation int, place uint64) (served bool, err error) {
	for {
		r.mu.Lock()
		log, has, at, serving, changed := r.mu.log, r.mu.generation, r.mu.place, r.mu.serving, r.mu.changed
		r.mu.Unlock()
		switch {
		case log.Lost != "":
			return false, log.err(r.part)
		case has > generation:
			return false, fmt.Errorf("%w: partition %d: its log was rebuilt meanwhile", backend.ErrUnavailable, r.part)
		case !serving:
			return false, nil
		case has == generation && at >= place:
			return r.mayServe(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// state returns the place of the last change, and whether the replica serves.
func (r *replica) state() (place, change uint64, serving bool, fault error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.place, r.mu.change, r.mu.serving, r.mu.fault
}
