package search

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxBatch is the most queries of one [Engine.SearchBatch].
const MaxBatch = 100

// BatchResult answers one query of a batch: Response, or why there is none.
type BatchResult struct {
	Response *Response
	Err      error
}

// SearchBatch answers queries, each with its own result or error, in their order. Their texts are encoded together. What makes all of them
// fail, a collection that is not there or ctx at its end, is the error of each.
func (e *Engine) SearchBatch(ctx context.Context, collection string, queries []Query) ([]BatchResult, error) {
	if len(queries) == 0 || len(queries) > MaxBatch {
		return nil, &FieldError{"searches", len(queries), fmt.Sprintf("1 to %d queries", MaxBatch)}
	}
	defer e.courtesy.begin()()
	if _, rec, err := e.open(ctx, collection); err == nil {
		if enc, err := e.encodings.of(collection, rec); err == nil {
			enc.prepare(ctx, queries)
		}
	}
	out := make([]BatchResult, len(queries))
	now := time.Now()
	for i, q := range queries {
		q.now = now
		out[i].Response, out[i].Err = e.Search(ctx, collection, q)
	}
	return out, nil
}

// prepare encodes the texts of queries in one call and keeps their vectors. What fails here fails, or degrades, in the search it is for.
func (e *encoding) prepare(ctx context.Context, queries []Query) {
	var texts []string
	for _, q := range queries {
		if q.Mode == Keyword || !utf8.ValidString(q.Q) || len(q.Q) > MaxQueryBytes {
			continue
		}
		text := q.Q
		if q.Syntax != Plain {
			text = ParseQueryText(q.Q).Text
		}
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	e.queries.prepare(ctx, e.collector, texts)
}
