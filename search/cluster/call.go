package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/nats-io/nats.go"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
)

// call is a question to another node: one of the requests to a replica, or a wait.
type call struct {
	Timeout time.Duration `cbor:",omitempty"` // how long the asker waits
	Trace   string        `cbor:",omitempty"` // traceparent of the asker's span

	Revision uint64 `cbor:",omitempty"` // wait until the replicas follow the catalogue up to it
	Settle   uint64 `cbor:",omitempty"` // wait until Replica has applied its log up to it, or does not serve
	Log      int    `cbor:",omitempty"` // the generation that Settle is a place of
	Replica  string `cbor:",omitempty"`
	Inspect  uint64 `cbor:",omitempty"` // describe Replica after waiting as for Revision

	Open      *backend.OpenRequest      `cbor:",omitempty"`
	Select    *backend.SelectRequest    `cbor:",omitempty"`
	Words     *backend.WordsRequest     `cbor:",omitempty"`
	Vectors   *backend.VectorsRequest   `cbor:",omitempty"`
	Aggregate *backend.AggregateRequest `cbor:",omitempty"`
	Fetch     *backend.FetchRequest     `cbor:",omitempty"`
	Suggest   *backend.SuggestRequest   `cbor:",omitempty"`
	Lookup    *backend.LookupRequest    `cbor:",omitempty"`
	List      *backend.ListRequest      `cbor:",omitempty"`
	Stats     *backend.StatsRequest     `cbor:",omitempty"`

	Filters []string `cbor:",omitempty"` // of Select and Fetch, which are sent without
}

// name names what is asked for, in spans.
func (c *call) name() string {
	switch {
	case c.Open != nil:
		return "open"
	case c.Select != nil:
		return "select"
	case c.Words != nil:
		return "words"
	case c.Vectors != nil:
		return "vectors"
	case c.Aggregate != nil:
		return "aggregate"
	case c.Fetch != nil:
		return "fetch"
	case c.Suggest != nil:
		return "suggest"
	case c.Lookup != nil:
		return "lookup"
	case c.List != nil:
		return "list"
	case c.Stats != nil:
		return "stats"
	}
	return "wait"
}

// reply answers a call.
type reply struct {
	Fault string `cbor:",omitempty"` // of faults; empty: none
	Text  string `cbor:",omitempty"`

	Open      *backend.OpenResponse      `cbor:",omitempty"`
	Select    *backend.Selection         `cbor:",omitempty"`
	Words     *backend.WordsResponse     `cbor:",omitempty"`
	Vectors   *backend.VectorsResponse   `cbor:",omitempty"`
	Aggregate *backend.AggregateResponse `cbor:",omitempty"`
	Fetch     *backend.FetchResponse     `cbor:",omitempty"`
	Suggest   *backend.SuggestResponse   `cbor:",omitempty"`
	Documents []*backend.Document        `cbor:",omitempty"`
	List      *backend.ListResponse      `cbor:",omitempty"`
	Stats     *backend.StatsResponse     `cbor:",omitempty"`
	Place     uint64                     `cbor:",omitempty"` // of the replica's last change
	Settled   bool                       `cbor:",omitempty"` // the replica serves and has applied its log
	Replica   *inspection                `cbor:",omitempty"`
}

// errNotServing is the answer of a replica that may lack writes.
var errNotServing = errors.New("the replica does not serve")

// faults are the errors that keep what they match on their way.
var faults = map[string]error{
	"log lost": errLogLost, "not serving": errNotServing, "not found": backend.ErrCollectionNotFound, "invalid": backend.ErrInvalid, "statistics": backend.ErrStatistics,
	"damaged": backend.ErrDamaged, "closed": backend.ErrClosed, "no space": backend.ErrNoSpace, "read-only": backend.ErrReadOnly,
	"unavailable": backend.ErrUnavailable, "canceled": context.Canceled, "deadline": context.DeadlineExceeded,
}

var (
	encoding = must(cbor.EncOptions{}.EncMode())
	decoding = must(cbor.DecOptions{MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32, UTF8: cbor.UTF8DecodeInvalid}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// remoteError is an error of another node.
type remoteError struct {
	node, text string
	is         error
}

func (e *remoteError) Error() string { return fmt.Sprintf("node %s: %s", e.node, e.text) }

func (e *remoteError) Unwrap() error { return e.is }

// call asks another node.
func (n *Backend) call(ctx context.Context, node string, c call) (r reply, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		c.Timeout = time.Until(deadline)
	}
	if c.Select != nil && c.Select.Filter != nil {
		own := *c.Select
		c.Filters, own.Filter = []string{own.Filter.String()}, nil
		c.Select = &own
	}
	if c.Fetch != nil && len(c.Fetch.Passing) > 0 {
		own := *c.Fetch
		for _, e := range own.Passing {
			c.Filters = append(c.Filters, e.String())
		}
		own.Passing = nil
		c.Fetch = &own
	}
	ctx, span := n.o.Tracer.Start(ctx, "call")
	defer func() { span.End(err) }()
	span.Text("searchd.call", c.name())
	c.Trace = n.o.Tracer.Parent(ctx)
	b, err := encoding.Marshal(c)
	if err != nil {
		return r, err
	}
	msg, err := n.nc.RequestWithContext(ctx, n.subjectOf(node), b)
	if err != nil {
		return r, cmpContext(ctx, &remoteError{node, err.Error(), backend.ErrUnavailable})
	}
	if err := decoding.Unmarshal(msg.Data, &r); err != nil {
		return r, &remoteError{node, err.Error(), backend.ErrUnavailable}
	}
	if r.Fault != "" {
		return r, &remoteError{node, r.Text, faults[r.Fault]}
	}
	return r, nil
}

// callTime bounds a call whose asker names no time.
const callTime = 60 * time.Second

// takeCall answers a call of another node.
func (n *Backend) takeCall(msg *nats.Msg) {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	if n.closed() {
		return
	}
	n.wait.Go(func() {
		var c call
		var r reply
		err := decoding.Unmarshal(msg.Data, &c)
		if err == nil {
			if c.Timeout <= 0 {
				c.Timeout = callTime
			}
			ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
			stop := context.AfterFunc(ctx, func() {})
			go func() {
				select {
				case <-n.done:
					cancel()
				case <-ctx.Done():
				}
			}()
			within, span := n.o.Tracer.Continue(ctx, "answer", c.Trace)
			span.Text("searchd.call", c.name())
			r, err = n.perform(within, c)
			span.End(err)
			stop()
			cancel()
		}
		if err != nil {
			r = reply{Fault: "other", Text: err.Error()}
			for name, is := range faults {
				if errors.Is(err, is) && (r.Fault == "other" || is != backend.ErrUnavailable) && r.Fault != "log lost" {
					r.Fault = name
				}
			}
		}
		b, err := encoding.Marshal(r)
		if err == nil {
			_ = msg.Respond(b)
		}
	})
}

// perform does what a call asks for.
func (n *Backend) perform(ctx context.Context, c call) (r reply, err error) {
	switch {
	case c.Revision > 0:
		n.catalogue.look()
		return r, n.followed(ctx, c.Revision)
	case c.Settle > 0:
		r.Settled, err = n.settledHere(ctx, c.Replica, c.Log, c.Settle)
		return r, err
	case c.Inspect > 0:
		n.catalogue.look()
		if err := n.followed(ctx, c.Inspect); err != nil {
			return r, err
		}
		r.Replica = n.inspect(c.Replica)
		return r, nil
	}
	n.catalogue.mu.Lock()
	own := n.catalogue.mu.replicas[c.Replica]
	n.catalogue.mu.Unlock()
	if own == nil {
		return r, errNotServing
	}
	var exprs []filter.Expr
	for _, text := range c.Filters {
		e, err := filter.Parse(text)
		if err != nil {
			return r, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
		}
		exprs = append(exprs, filter.WithID(e))
	}
	switch {
	case c.Select != nil && len(exprs) > 0:
		c.Select.Filter = exprs[0]
	case c.Fetch != nil:
		c.Fetch.Passing = exprs
	}
	return own.perform(ctx, c)
}

// perform answers a call from the replica. It is answered only by a replica that serves from
// beginning to end.
func (r *replica) perform(ctx context.Context, c call) (out reply, err error) {
	if !r.mayServe() {
		return out, errNotServing
	}
	_, out.Place, _, _ = r.state()
	local := r.node.local
	switch {
	case c.Open != nil:
		c.Open.Collection = r.local
		out.Open, err = pointer(local.Open(ctx, *c.Open))
	case c.Select != nil:
		c.Select.Collection = r.local
		out.Select, err = local.Select(ctx, *c.Select)
	case c.Words != nil:
		c.Words.Collection = r.local
		out.Words, err = pointer(local.RetrieveWords(ctx, *c.Words))
	case c.Vectors != nil:
		c.Vectors.Collection = r.local
		out.Vectors, err = pointer(local.RetrieveVectors(ctx, *c.Vectors))
	case c.Aggregate != nil:
		c.Aggregate.Collection = r.local
		out.Aggregate, err = pointer(local.Aggregate(ctx, *c.Aggregate))
	case c.Fetch != nil:
		c.Fetch.Collection = r.local
		out.Fetch, err = pointer(local.Fetch(ctx, *c.Fetch))
		r.rename(out.Fetch)
	case c.Suggest != nil:
		c.Suggest.Collection = r.local
		out.Suggest, err = pointer(local.Suggest(ctx, *c.Suggest))
	case c.Lookup != nil:
		c.Lookup.Collection = r.local
		out.Documents, err = local.Lookup(ctx, *c.Lookup)
	case c.List != nil:
		c.List.Collection = r.local
		out.List, err = pointer(local.List(ctx, *c.List))
	case c.Stats != nil:
		c.Stats.Collection = r.local
		out.Stats, err = pointer(local.Stats(ctx, *c.Stats))
	default:
		err = fmt.Errorf("%w: a call of another version of the program", backend.ErrInvalid)
	}
	if err == nil && !r.mayServe() {
		err = errNotServing
	}
	return out, err
}

// mayServe reports whether the replica serves and its node has been in contact with a majority
// since it began to.
func (r *replica) mayServe() bool {
	if !r.node.inContact() || !r.whole() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.serving && r.mu.lapses == r.node.members.lapses.Load()
}

// whole reports whether searches of the replica miss nothing. Where there is no other node, one
// that may lack documents answers, too, and says so.
func (r *replica) whole() bool {
	if r.node.alone() {
		return true
	}
	partial, err := r.node.local.Partial(context.Background(), r.local)
	return err == nil && !partial
}

// rename gives passages names that no other replica gives.
func (r *replica) rename(f *backend.FetchResponse) {
	name := func(own uint64) uint64 {
		if own == 0 {
			return 0
		}
		return max(1, mix(own^r.salt))
	}
	for i := range f.Names {
		f.Names[i] = name(f.Names[i])
	}
	for i := range f.Texts {
		f.Texts[i].Name = name(f.Texts[i].Name)
	}
}

func pointer[T any](v T, err error) (*T, error) { return &v, err }
