package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/searchd/search/backend"
)

// routed answers for a partition through one of its replicas that serve.
type routed struct {
	node       *Backend
	collection *collection
	part       int
}

var _ backend.Storage = routed{}

// partitions returns the partitions of a collection.
func (n *Backend) partitions(c *collection) []partition {
	out := make([]partition, c.Partitions)
	for p := range out {
		out[p] = partition{routed{n, c, p}, p}
	}
	return out
}

// Times of routing.
const (
	hedgeDelay   = 300 * time.Millisecond // after which another replica is asked, too
	routeWait    = 1500 * time.Millisecond
	routePoll    = 50 * time.Millisecond
	servingStale = 2 * time.Second
)

// candidates returns the nodes with a replica that serves as far as this one knows, itself first.
func (r routed) candidates() (names []string) {
	name := localName(r.collection.ID, r.part)
	if own := r.node.replica(r.collection.ID, r.part); own != nil && own.mayServe() {
		names = append(names, r.node.name)
	}
	m := &r.node.members
	m.mu.Lock()
	defer m.mu.Unlock()
	first := len(names)
	for node, p := range m.mu.peers {
		if p.serving[name] && time.Since(p.came) < servingStale {
			names = append(names, node)
		}
	}
	rand.Shuffle(len(names)-first, func(i, j int) { names[first+i], names[first+j] = names[first+j], names[first+i] })
	return names
}

// ask asks one replica, and another if that does not answer soon or cannot.
func (r routed) ask(ctx context.Context, c call) (reply, error) {
	if r.node.closed() {
		return reply{}, backend.ErrClosed
	}
	c.Replica = localName(r.collection.ID, r.part)
	var last error
	for deadline := time.Now().Add(routeWait); ; {
		names := r.candidates()
		if len(names) > 0 {
			out, err := r.race(ctx, names, c)
			if err == nil || ctx.Err() != nil || !errors.Is(err, errNotServing) && !errors.Is(err, backend.ErrUnavailable) {
				return out, err
			}
			last = err
		}
		switch {
		case r.node.closed():
			return reply{}, backend.ErrClosed
		case ctx.Err() != nil:
			return reply{}, ctx.Err()
		case r.isGone():
			return reply{}, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, r.collection.Name)
		case time.Now().After(deadline):
			if last == nil {
				last = errors.New("no replica serves")
			}
			return reply{}, fmt.Errorf("%w: partition %d of collection %q: %w", backend.ErrUnavailable, r.part, r.collection.Name, last)
		}
		pause(ctx, routePoll)
	}
}

// isGone reports whether the collection was dropped meanwhile.
func (r routed) isGone() bool {
	r.node.catalogue.mu.Lock()
	defer r.node.catalogue.mu.Unlock()
	now := r.node.catalogue.mu.collections[r.collection.Name]
	return now == nil || now.ID != r.collection.ID
}

// race asks nodes one after another until one answers: the next one when one cannot, or has not for
// hedgeDelay.
func (r routed) race(ctx context.Context, names []string, c call) (reply, error) {
	if names[0] == r.node.name && len(names) == 1 {
		return r.askNode(ctx, names[0], c)
	}
	type answer struct {
		reply reply
		err   error
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(names))
	next, open := 0, 0
	start := func() {
		name := names[next]
		next, open = next+1, open+1
		go func() {
			out, err := r.askNode(within, name, c)
			answers <- answer{out, err}
		}()
	}
	start()
	hedge := time.NewTimer(hedgeDelay)
	defer hedge.Stop()
	for {
		select {
		case a := <-answers:
			open--
			if a.err == nil || !errors.Is(a.err, errNotServing) && !errors.Is(a.err, backend.ErrUnavailable) {
				return a.reply, a.err
			}
			if next < len(names) {
				r.node.counters.failovers.Add(1)
				start()
			} else if open == 0 {
				return a.reply, a.err
			}
		case <-hedge.C:
			if next < len(names) {
				r.node.counters.hedges.Add(1)
				start()
				hedge.Reset(hedgeDelay)
			}
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
	}
}

// askNode asks a replica, which may be on this node.
func (r routed) askNode(ctx context.Context, name string, c call) (reply, error) {
	if name != r.node.name {
		return r.node.call(ctx, name, c)
	}
	own := r.node.replica(r.collection.ID, r.part)
	if own == nil {
		return reply{}, errNotServing
	}
	out, err := own.perform(ctx, c.clone())
	if errors.Is(err, backend.ErrCollectionNotFound) { // it moves, or the collection is being dropped
		err = errNotServing
	}
	return out, err
}

// clone copies the requests of a call, in which a replica sets its own name.
func (c call) clone() call {
	copyOf(&c.Open)
	copyOf(&c.Select)
	copyOf(&c.Words)
	copyOf(&c.Vectors)
	copyOf(&c.Aggregate)
	copyOf(&c.Fetch)
	copyOf(&c.Suggest)
	copyOf(&c.Lookup)
	copyOf(&c.List)
	copyOf(&c.Stats)
	return c
}

func copyOf[T any](p **T) {
	if *p != nil {
		own := **p
		*p = &own
	}
}

// answerOf returns a part of a reply.
func answerOf[T any](r reply, err error, part func(reply) *T) (out T, _ error) {
	if err != nil {
		return out, err
	}
	if p := part(r); p != nil {
		return *p, nil
	}
	return out, nil
}

// Open implements [backend.Storage].
func (r routed) Open(ctx context.Context, q backend.OpenRequest) (backend.OpenResponse, error) {
	out, err := r.ask(ctx, call{Open: &q})
	opened, err := answerOf(out, err, func(o reply) *backend.OpenResponse { return o.Open })
	opened.Collection.Sequence = max(out.Place, r.collection.Config.FirstSequence)
	return opened, err
}

// Select implements [backend.Storage].
func (r routed) Select(ctx context.Context, q backend.SelectRequest) (*backend.Selection, error) {
	out, err := r.ask(ctx, call{Select: &q})
	if err == nil && out.Select == nil {
		out.Select = backend.Select(nil)
	}
	return out.Select, err
}

// RetrieveWords implements [backend.Storage].
func (r routed) RetrieveWords(ctx context.Context, q backend.WordsRequest) (backend.WordsResponse, error) {
	out, err := r.ask(ctx, call{Words: &q})
	return answerOf(out, err, func(o reply) *backend.WordsResponse { return o.Words })
}

// RetrieveVectors implements [backend.Storage].
func (r routed) RetrieveVectors(ctx context.Context, q backend.VectorsRequest) (backend.VectorsResponse, error) {
	out, err := r.ask(ctx, call{Vectors: &q})
	return answerOf(out, err, func(o reply) *backend.VectorsResponse { return o.Vectors })
}

// Aggregate implements [backend.Storage].
func (r routed) Aggregate(ctx context.Context, q backend.AggregateRequest) (backend.AggregateResponse, error) {
	out, err := r.ask(ctx, call{Aggregate: &q})
	return answerOf(out, err, func(o reply) *backend.AggregateResponse { return o.Aggregate })
}

// Fetch implements [backend.Storage].
func (r routed) Fetch(ctx context.Context, q backend.FetchRequest) (backend.FetchResponse, error) {
	out, err := r.ask(ctx, call{Fetch: &q})
	return answerOf(out, err, func(o reply) *backend.FetchResponse { return o.Fetch })
}

// Suggest implements [backend.Storage].
func (r routed) Suggest(ctx context.Context, q backend.SuggestRequest) (backend.SuggestResponse, error) {
	out, err := r.ask(ctx, call{Suggest: &q})
	return answerOf(out, err, func(o reply) *backend.SuggestResponse { return o.Suggest })
}

// Lookup implements [backend.Storage].
func (r routed) Lookup(ctx context.Context, q backend.LookupRequest) ([]*backend.Document, error) {
	out, err := r.ask(ctx, call{Lookup: &q})
	return out.Documents, err
}

// List implements [backend.Storage].
func (r routed) List(ctx context.Context, q backend.ListRequest) (backend.ListResponse, error) {
	out, err := r.ask(ctx, call{List: &q})
	return answerOf(out, err, func(o reply) *backend.ListResponse { return o.List })
}

// Apply implements [backend.Storage]; writes go to the log.
func (r routed) Apply(context.Context, backend.ApplyRequest) ([]backend.Outcome, error) {
	return nil, errors.ErrUnsupported
}
