package search

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/searchd/search/fault"
	"example.com/searchd/search/inference"
)

// MaxBatch is the most queries of one [Engine.SearchBatch].
const MaxBatch = 100

// BatchResult answers one query of a batch: Response, or why there is none.
type BatchResult struct {
	Response *Response
	Err      error
}

// batchAhead is how many queries of a batch are read before the first of them is answered: each
// holds the set of documents that it may find.
const batchAhead = 32

// SearchBatch answers queries, each with its own result or error, in their order. Their texts are
// encoded together. What makes all of them fail, a collection that is not there or ctx at its end,
// is the error of each.
func (e *Engine) SearchBatch(ctx context.Context, collection string, queries []Query) ([]BatchResult, error) {
	if len(queries) == 0 || len(queries) > MaxBatch {
		return nil, fault.Field("searches", len(queries), fmt.Sprintf("1 to %d queries", MaxBatch))
	}
	defer e.throttle.Begin()()
	ctx, span := e.tracer.Start(ctx, "search batch")
	span.Count("searchd.searches", len(queries))
	defer span.End(nil)
	out := make([]BatchResult, 0, len(queries))
	now := time.Now()
	for part := range slices.Chunk(queries, batchAhead) {
		begun := make([]*begunSearch, len(part))
		for i, q := range part {
			q.Now = now
			begun[i] = e.beginSearch(ctx, collection, q)
		}
		prepare(ctx, begun)
		for _, b := range begun {
			r, err := b.end(ctx)
			out = append(out, BatchResult{r, err})
		}
	}
	return out, nil
}

// begunSearch is a search whose query has been read.
type begunSearch struct {
	*search
	err  error // why it goes no further
	took time.Duration
}

// beginSearch checks and reads a query.
func (e *Engine) beginSearch(ctx context.Context, collection string, q Query) *begunSearch {
	start := time.Now()
	b := &begunSearch{}
	if b.search, b.err = e.newSearch(ctx, collection, q, false); b.err == nil {
		b.err = b.run(ctx, b.reading())
	}
	b.took = time.Since(start)
	return b
}

// end answers the query.
func (b *begunSearch) end(ctx context.Context) (*Response, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.finish(ctx, time.Now().Add(-b.took))
}

// prepare encodes the texts of queries in one call for each checkpoint, of which a collection may
// get another meanwhile, and keeps their vectors. What fails here fails, or degrades, in the search
// it is for. Where one of them is hybrid, all together may take as long as that.
func prepare(ctx context.Context, begun []*begunSearch) {
	limited, cancel := ctx, func() {}
	if slices.ContainsFunc(begun, func(b *begunSearch) bool { return b.err == nil && b.plan.Mode == Hybrid }) {
		limited, cancel = share(ctx, embedShare)
	}
	defer cancel()
	until, _ := limited.Deadline()
	texts := map[*inference.Encoding][]string{}
	for _, b := range begun {
		if b.err == nil && b.plan.Mode != Keyword && !b.plan.browse && b.vector == nil && !b.encoding.Given() {
			b.embedUntil = until
			texts[b.encoding] = append(texts[b.encoding], b.plan.text.Text)
		}
	}
	for enc, list := range texts {
		enc.PrepareQueries(limited, list)
	}
}
