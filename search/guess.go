package search

import (
	"context"
	"time"

	"searchd/search/backend"
)

// guess is what a search over shards begins with while they say how the collection is: of the collection as it was last seen the documents of the filter are asked
// for, the query is encoded as it was typed, unless it is one of a batch, and in a semantic search the nearest passages are looked for. Where the collection leads elsewhere by now, or words
// are misspelled, it was for nothing.
type guess struct {
	stored string // name of the collection

	selected  chan struct{}     // closed when selection is there; nil: there is no filter
	selection backend.Selection // nil where it failed

	encoding     *encoding
	text         string
	encoded      chan struct{} // closed when vector and tokenization are there; nil: nothing is encoded
	vector       []float32     // nil where it failed
	tokenization time.Duration

	ended  chan struct{}       // closed when nothing is under way any more
	legs   *backend.LegMatches // nil where they were not looked for, or it failed
	cancel context.CancelFunc
}

// guess begins a search with a plan of a collection; nil where there is nothing to begin with. The caller ends it.
func (e *Engine) guess(ctx context.Context, collection string, p *plan) *guess {
	if e.cluster == nil || p.wrong.err() != nil {
		return nil
	}
	stored, known := e.catalog.stored(collection)
	e.mu.Lock()
	last, seen := e.mu.records[stored]
	e.mu.Unlock()
	g := &guess{stored: stored, text: p.text.Text, ended: make(chan struct{})}
	operators := len(p.text.Phrases)+len(p.text.Without) > 0
	if p.filter != nil && !operators {
		g.selected = make(chan struct{})
	}
	if p.Mode != Keyword && !p.given && !p.batched {
		if enc, mismatch := e.encodings.of(collection, last.record); seen && mismatch == nil {
			g.encoding, g.encoded = enc, make(chan struct{})
		}
	}
	if !known || !seen || g.selected == nil && g.encoded == nil {
		return nil
	}
	ctx, g.cancel = context.WithCancel(ctx)
	subset, legs := p.subset(), p.legs()
	alike := p.Mode == Semantic && !operators
	go func() {
		defer close(g.ended)
		// What fails is asked for again by who needs it, and said then.
		_ = backend.Together(func() error { return g.choose(ctx, e.cluster, subset) }, func() error { return g.encode(ctx) })
		if alike && g.vector != nil && (g.selected == nil || g.selection != nil) {
			_ = protected(func() error { return g.find(ctx, e.cluster, legs) })
		}
	}()
	return g
}

// choose asks for the documents of the filter.
func (g *guess) choose(ctx context.Context, c *cluster, q backend.Subset) error {
	if g.selected == nil {
		return nil
	}
	defer close(g.selected)
	return protected(func() (err error) {
		g.selection, err = c.Select(ctx, g.stored, q)
		return err
	})
}

// encode encodes the query.
func (g *guess) encode(ctx context.Context) error {
	if g.encoded == nil {
		return nil
	}
	defer close(g.encoded)
	return protected(func() (err error) {
		g.vector, g.tokenization, err = g.encoding.queries.vector(ctx, g.encoding.collector, g.text)
		return err
	})
}

// find looks for the nearest passages.
func (g *guess) find(ctx context.Context, c *cluster, q backend.Legs) error {
	q.Vector = g.vector
	found, err := c.Legs(ctx, g.stored, q, g.selection)
	if err == nil {
		g.legs = &found
	}
	return err
}

// end ends what is still under way.
func (g *guess) end() {
	if g != nil {
		g.cancel()
		<-g.ended
	}
}

// of says whether a guess is of the collection.
func (g *guess) of(collection string) bool { return g != nil && g.stored == collection }

// ofQuery says whether a guess is of the query as it is by now.
func (g *guess) ofQuery(s *search) bool {
	return g.of(s.collection) && g.encoded != nil && g.encoding == s.encoding && g.text == s.plan.text.Text
}

// wait waits until something is there.
func wait(ctx context.Context, there chan struct{}) error {
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// selectedBy returns the documents of a subset.
func (s *search) selectedBy(ctx context.Context, q backend.Subset) (backend.Selection, error) {
	if g := s.guess; g.of(s.collection) && g.selected != nil && len(q.With)+len(q.Without) == 0 {
		if err := wait(ctx, g.selected); err != nil {
			return nil, err
		}
		if s.guessed = g.selection != nil; s.guessed {
			return g.selection, nil
		}
	}
	return s.engine.backend.Select(ctx, s.collection, q)
}

// queryVector returns the vector of the query, and how long it took to become tokens.
func (s *search) queryVector(ctx context.Context) ([]float32, time.Duration, error) {
	if g := s.guess; g.ofQuery(s) {
		if err := wait(ctx, g.encoded); err != nil {
			return nil, 0, err
		}
		if g.vector != nil {
			return g.vector, g.tokenization, nil
		}
	}
	return s.encoding.queries.vector(ctx, s.encoding.collector, s.plan.text.Text)
}

// findLegs returns what q asks for.
func (s *search) findLegs(ctx context.Context, q backend.Legs) (backend.LegMatches, error) {
	if g := s.guess; q.Words == nil && g.ofQuery(s) && (s.selection == nil || s.guessed) {
		if err := wait(ctx, g.ended); err != nil {
			return backend.LegMatches{}, err
		}
		if g.legs != nil {
			return *g.legs, nil
		}
	}
	return backend.FindLegs(ctx, s.engine.backend, s.collection, q, s.selection)
}
