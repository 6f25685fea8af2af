package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// Limits of a write.
const (
	maxPublishing = 64               // messages of a call on their way
	publishTries  = 6                // of one message; the log takes it once
	publishWait   = 4 * time.Second  // for the answer to a try
	maxRounds4CAS = 64               // of a document that others write at the same time
	settleWait    = 15 * time.Second // for the replicas that serve
)

// headerID is the header with the id of a message's document.
const headerID = "Id"

// Apply writes documents: a message of the log of its partition for each that changes something.
// Writes of one call are not one transaction. After an error some of them may have been made;
// those made again end with the same, but for conditions.
//
//  1. The heads of the documents are read from a replica, which may be behind: each write that is
//     to be made names the revision that it replaces, and the log refuses it if there is another.
//  2. A write that changes nothing is answered only after the head was read again behind a barrier
//     in the log, so that the answer is not older than the call.
//  3. The call returns when every replica that serves has applied its writes.
func (n *Backend) Apply(ctx context.Context, r backend.ApplyRequest) ([]backend.Outcome, error) {
	c, err := n.collection(ctx, r.Collection)
	if err != nil {
		return nil, err
	}
	if err := embedded.CheckWrites(r.Writes, c.Config.Dimension); err != nil {
		return nil, err
	}
	parts := n.partitions(c)
	shares := share(parts, r.Writes, func(w backend.Write) (int, backend.Write) { return partitionOf(w.ID, len(parts)), w })
	var failed struct {
		sync.Mutex
		err error
	}
	out := make([]backend.Outcome, len(r.Writes))
	var wait sync.WaitGroup
	for _, k := range shares { // all of them end: one that fails does not leave the others unknown
		wait.Go(func() {
			w := writer{node: n, collection: c, partition: k.partition}
			outcomes, err := w.apply(ctx, k.own)
			if err != nil {
				failed.Lock()
				defer failed.Unlock()
				failed.err = errors.Join(failed.err, err)
				return
			}
			for i, o := range outcomes {
				out[k.at[i]] = o
			}
		})
	}
	wait.Wait()
	if failed.err != nil {
		return nil, failed.err
	}
	return out, nil
}

// writer makes the writes of one call to one partition.
type writer struct {
	node       *Backend
	collection *collection
	partition
	fresh bool // heads read from now on are not older than the call

	mu   sync.Mutex
	last position // of the last message
}

// apply makes writes in waves in which each document occurs once.
func (w *writer) apply(ctx context.Context, writes []backend.Write) ([]backend.Outcome, error) {
	out := make([]backend.Outcome, len(writes))
	for pending := indices(len(writes)); len(pending) > 0; {
		seen := map[string]bool{}
		var wave, rest []int
		for _, i := range pending {
			if seen[writes[i].ID] {
				rest = append(rest, i)
				continue
			}
			seen[writes[i].ID] = true
			wave = append(wave, i)
		}
		if err := w.wave(ctx, writes, wave, out); err != nil {
			return nil, err
		}
		pending = rest
	}
	return out, nil
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// wave makes some of writes, which are of different documents, and sets their outcomes.
func (w *writer) wave(ctx context.Context, writes []backend.Write, pending []int, out []backend.Outcome) error {
	for round := 0; len(pending) > 0; round++ {
		if round == maxRounds4CAS {
			return fmt.Errorf("%w: document %q is written by too many at once", backend.ErrUnavailable, writes[pending[0]].ID)
		}
		heads, err := w.heads(ctx, writes, pending)
		if err != nil {
			return err
		}
		var publish, idle []int
		for k, i := range pending {
			if o, ok := w.idle(writes[i], heads[k]); !ok {
				publish = append(publish, k)
			} else if w.fresh {
				out[i] = o
			} else {
				idle = append(idle, i)
			}
		}
		again, err := w.publish(ctx, writes, pending, heads, publish, out)
		if err != nil {
			return err
		}
		if len(idle) > 0 && !w.fresh {
			at, err := w.node.barrierAt(ctx, w.collection.ID, w.index)
			if err != nil {
				return err
			}
			w.fresh, w.last = true, w.last.later(at)
		}
		if err := w.settle(ctx); err != nil {
			return err
		}
		pending = slices.Concat(idle, again)
		slices.Sort(pending)
	}
	return nil
}

// heads returns the heads of documents, nil where there is none.
func (w *writer) heads(ctx context.Context, writes []backend.Write, pending []int) (heads []*backend.Document, err error) {
	r := backend.LookupRequest{Collection: w.collection.Name, NoFields: true}
	for _, i := range pending {
		r.IDs = append(r.IDs, writes[i].ID)
	}
	err = backend.LookupPages(ctx, w.Storage, r, func(_ []string, docs []*backend.Document) error {
		heads = append(heads, docs...)
		return nil
	})
	return heads, err
}

// idle returns the outcome of a write that changes nothing; false for others.
func (w *writer) idle(write backend.Write, head *backend.Document) (o backend.Outcome, ok bool) {
	if head != nil {
		o.Revision = head.Revision
	}
	switch {
	case write.Delete && head == nil:
		o.Status = backend.Missing
	case write.IfRevision != nil && *write.IfRevision != o.Revision:
		o.Status = backend.Conflict
	case !write.Delete && head != nil && write.Hash != [32]byte{} && write.Hash == head.Hash:
		o.Status = backend.Unchanged
	default:
		return o, false
	}
	return o, true
}

// publish sends some of the writes to the log and sets their outcomes. It returns those that found
// another revision than their head.
func (w *writer) publish(ctx context.Context, writes []backend.Write, pending []int, heads []*backend.Document, some []int, out []backend.Outcome) (again []int, err error) {
	slots := make(chan struct{}, maxPublishing)
	var wait sync.WaitGroup
	for _, k := range some {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			i, head := pending[k], heads[k]
			at, fault := w.send(ctx, writes[i], head)
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.last = w.last.later(at); errors.Is(fault, errRevision) {
				again = append(again, i)
			} else if fault != nil {
				err = errors.Join(err, fault)
			} else {
				out[i] = backend.Outcome{Status: backend.Created, Revision: at.place}
				switch {
				case writes[i].Delete:
					out[i] = backend.Outcome{Status: backend.Deleted, Revision: head.Revision}
				case head != nil:
					out[i].Status = backend.Updated
				}
			}
		})
	}
	wait.Wait()
	return again, err
}

// errRevision is the error of a message that found another revision than it was to replace; then
// its place is where that revision is.
var errRevision = errors.New("another revision")

// position is a place in a generation of a log.
type position struct {
	generation int
	place      uint64
}

// later returns the later one of two positions.
func (a position) later(b position) position {
	if b.place > a.place {
		return b
	}
	return a
}

// send sends a write to the log and returns its position. It replaces head, or nothing where that
// is nil, but perhaps the mark of a deletion.
func (w *writer) send(ctx context.Context, write backend.Write, head *backend.Document) (at position, err error) {
	m := nats.NewMsg(documentSubject(write.ID))
	m.Header.Set(headerID, write.ID)
	var number uint32
	var replaces uint64
	if head != nil {
		number, replaces = head.Ref.Number(), head.Revision
	}
	m.Data = encodeMessage(write, number)
	if most := w.node.nc.MaxPayload() - 4096; int64(len(m.Data)) > most {
		return at, fmt.Errorf("%w: document %q takes %d bytes in the log: at most %d are allowed (max_payload of NATS)", backend.ErrInvalid, write.ID, len(m.Data), most)
	}
	at, err = w.put(ctx, m, replaces)
	if !errors.Is(err, errRevision) {
		return at, err
	}
	log := w.node.log(w.collection.ID, w.index)
	last, found, err := w.node.lastOf(ctx, w.collection, w.index, log, m.Subject)
	if err != nil {
		return position{}, err
	}
	if head == nil && (!found || last.Delete) || head != nil && found && last.Place != 0 && last.Revision == head.Revision { // it is the same, in a log that was rebuilt
		return w.put(ctx, m, last.at)
	}
	return position{log.Generation, last.at}, errRevision
}

// settle waits until every replica that serves has applied what was written.
func (w *writer) settle(ctx context.Context) error {
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	if last.place == 0 {
		return nil
	}
	return w.node.settle(ctx, w.collection, w.index, last)
}

// documentSubject returns the last part of the subject of a document: one for each, so that the log
// keeps the last message of each.
func documentSubject(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// The last parts of the subjects of messages without a document are longer than those of documents.
const (
	barrierSubject = "barrier-of-the-whole-partition"
	markSubject    = "mark-after-copies-of-documents"
)

// barrier writes a message that changes nothing to the log of a partition and returns its place.
func (n *Backend) barrier(ctx context.Context, id string, p int) (place uint64, err error) {
	at, err := n.barrierAt(ctx, id, p)
	return at.place, err
}

// barrierAt is barrier with the generation of the log.
func (n *Backend) barrierAt(ctx context.Context, id string, p int) (at position, err error) {
	m := nats.NewMsg(barrierSubject)
	m.Data = barrier()
	return n.publishAny(ctx, id, p, m)
}

// put sends a write to its log, in place of the message at a place, 0 for none.
func (w *writer) put(ctx context.Context, m *nats.Msg, replaces uint64) (at position, err error) {
	return w.node.publishAny(ctx, w.collection.ID, w.index, m, jetstream.WithExpectLastSequencePerSubject(replaces))
}

// publishAny sends a message to the log of a partition until that has answered, with one id, by
// which the log recognises it when it is sent again. A log that answers with a place that was in
// use before has lost messages: nothing is acknowledged, and the log is rebuilt.
func (n *Backend) publishAny(ctx context.Context, id string, p int, m *nats.Msg, o ...jetstream.PublishOpt) (at position, err error) {
	for {
		log := n.log(id, p)
		if err := log.err(p); err != nil {
			return at, err
		}
		if at, err = n.publishTo(ctx, id, p, log, m, o...); !errors.Is(err, errLogChanged) {
			return at, err
		}
	}
}

// publishTo is publishAny for one generation of the log.
func (n *Backend) publishTo(ctx context.Context, id string, p int, log logRecord, m *nats.Msg, o ...jetstream.PublishOpt) (at position, err error) {
	before := n.places.last(n, id, p)
	own := *m
	own.Subject = n.logSubject(id, p, log.Generation) + m.Subject
	at = position{generation: log.Generation}
	if at.place, err = n.send(ctx, id, p, log, &own, o...); err != nil {
		return at, err
	}
	if at.place <= before {
		reason := fmt.Sprintf("it continues at %d, and had reached %d", at.place, before)
		n.notice(fmt.Sprintf("partition %s: the log lost messages: %s", localName(id, p), reason))
		if err := n.declareLost(ctx, id, p, log, reason); err != nil {
			return position{}, err
		}
		return position{}, fmt.Errorf("%w: partition %d: %w: %s", backend.ErrUnavailable, p, errLogLost, reason)
	}
	n.places.saw(localName(id, p), at.place)
	return at, nil
}

// send sends a message to a generation of a log until that has answered.
func (n *Backend) send(ctx context.Context, id string, p int, log logRecord, m *nats.Msg, o ...jetstream.PublishOpt) (place uint64, err error) {
	o = append(o, jetstream.WithMsgID(nuid.Next()), jetstream.WithRetryAttempts(0))
	unknown := func(err error) error {
		return fmt.Errorf("%w: the outcome of the write is unknown: %w", backend.ErrUnavailable, err)
	}
	sent, absent := false, 0 // an earlier try may have been taken; tries that no log answered to
	for range publishTries {
		within, cancel := context.WithTimeout(ctx, publishWait)
		var ack *jetstream.PubAck
		ack, err = n.js.PublishMsg(within, m, o...)
		cancel()
		var api *jetstream.APIError
		switch {
		case err == nil:
			return ack.Sequence, nil
		case errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
			if sent { // the log may have taken it, and another since
				return 0, unknown(err)
			}
			return 0, errRevision
		case n.closed():
			return 0, backend.ErrClosed
		}
		if ctx.Err() == nil { // else the caller has given up
			n.counters.writeErrors.Add(1)
		}
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders):
			if absent++; absent == 3 {
				err = errors.Join(err, n.missing(ctx, id, p, log))
			}
		default:
			sent = true
		}
		if ctx.Err() != nil {
			break
		}
		if now := n.log(id, p); now.revision != log.revision {
			if err = now.err(p); err == nil && !sent {
				return 0, errLogChanged
			}
			break
		}
		pause(ctx, retryDelay)
	}
	if sent {
		return 0, unknown(cmp.Or(err, errLogChanged))
	}
	if ctx.Err() != nil && !errors.Is(err, errLogLost) {
		return 0, ctx.Err()
	}
	return 0, unavailable(err)
}

// places are the last places in the logs of partitions that this node has been answered with.
type places struct {
	mu     sync.Mutex
	byName map[string]uint64
}

func (l *places) saw(name string, place uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName == nil {
		l.byName = map[string]uint64{}
	}
	l.byName[name] = max(l.byName[name], place)
}

// of returns the last place of a log that this node was answered with, or heard of.
func (l *places) of(name string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byName[name]
}

// last returns a place that the log of a partition has reached, as far as this node knows.
func (l *places) last(n *Backend, id string, p int) uint64 {
	var applied uint64
	if r := n.replica(id, p); r != nil {
		applied, _, _, _ = r.state()
	}
	return max(l.of(localName(id, p)), applied)
}

// lastOf returns the last message of a subject, whose last part is given, of a log; found is false
// where there is none.
func (n *Backend) lastOf(ctx context.Context, c *collection, p int, log logRecord, subject string) (last logMessage, found bool, err error) {
	s, err := n.js.Stream(ctx, n.streamName(c.ID, p, log.Generation))
	if err != nil {
		return last, false, unavailable(err)
	}
	m, err := s.GetLastMsgForSubject(ctx, n.logSubject(c.ID, p, log.Generation)+subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return last, false, nil
	}
	if err != nil {
		return last, false, unavailable(err)
	}
	last.at = m.Sequence
	last.LogEntry, _, err = decodeMessage(m.Data, m.Sequence, c.Config.FirstSequence)
	return last, true, err
}

// logMessage is a message with its place.
type logMessage struct {
	embedded.LogEntry
	at uint64
}

// unavailable turns errors of NATS into [backend.ErrUnavailable].
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}
