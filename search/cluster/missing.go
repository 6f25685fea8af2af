package cluster

import (
	"context"
	"errors"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
)

// lacking answers for a partition, or in the place of one that does not answer with nothing, where
// the query may go on without it.
type lacking struct {
	routed
	missing *backend.Gaps // nil: it may not
}

// without returns partitions that a query may go on without, if it may.
func without(ctx context.Context, parts []partition) []partition {
	m := backend.GapsOf(ctx)
	if m == nil {
		return parts
	}
	out := make([]partition, len(parts))
	for i, p := range parts {
		out[i] = partition{lacking{p.Storage.(routed), m}, p.index}
	}
	return out
}

// or calls ask, or returns nothing where the partition is missing.
func or[T any](l lacking, nothing T, ask func() (T, error)) (T, error) {
	if l.missing.Has(l.part) {
		return nothing, nil
	}
	out, err := ask()
	if err != nil && errors.Is(err, backend.ErrUnavailable) && l.missing.Add(l.part, l.collection.Partitions) {
		return nothing, nil
	}
	return out, err
}

// Open implements [backend.Storage].
func (l lacking) Open(ctx context.Context, q backend.OpenRequest) (backend.OpenResponse, error) {
	nothing := backend.OpenResponse{}
	if q.Words != nil {
		nothing.Statistics = &backend.Statistics{}
	}
	return or(l, nothing, func() (backend.OpenResponse, error) { return l.routed.Open(ctx, q) })
}

// Select implements [backend.Storage].
func (l lacking) Select(ctx context.Context, q backend.SelectRequest) (*backend.Selection, error) {
	return or(l, backend.Select(nil), func() (*backend.Selection, error) { return l.routed.Select(ctx, q) })
}

// RetrieveWords implements [backend.Storage].
func (l lacking) RetrieveWords(ctx context.Context, q backend.WordsRequest) (backend.WordsResponse, error) {
	return or(l, backend.WordsResponse{All: backend.Select(nil)}, func() (backend.WordsResponse, error) { return l.routed.RetrieveWords(ctx, q) })
}

// RetrieveVectors implements [backend.Storage].
func (l lacking) RetrieveVectors(ctx context.Context, q backend.VectorsRequest) (backend.VectorsResponse, error) {
	return or(l, backend.VectorsResponse{}, func() (backend.VectorsResponse, error) { return l.routed.RetrieveVectors(ctx, q) })
}

// Aggregate implements [backend.Storage].
func (l lacking) Aggregate(ctx context.Context, q backend.AggregateRequest) (backend.AggregateResponse, error) {
	nothing := backend.AggregateResponse{Missing: q.Fields, Partial: true}
	for _, f := range q.Facets {
		nothing.Facets = append(nothing.Facets, backend.FacetCounts{Ranges: make([]int, len(f.Ranges))})
	}
	return or(l, nothing, func() (backend.AggregateResponse, error) { return l.routed.Aggregate(ctx, q) })
}

// Fetch implements [backend.Storage].
func (l lacking) Fetch(ctx context.Context, q backend.FetchRequest) (backend.FetchResponse, error) {
	n, passages := len(q.Refs), len(q.Passages)
	nothing := backend.FetchResponse{Documents: make([]*backend.Document, n), Cosines: make([][]float64, n), Scores: make([]float64, n), Terms: make([][]backend.TermScore, n),
		Firsts: make([]*filter.Value, n), Numbers: make([][]backend.Number, len(q.Numbers)),
		Names: make([]uint64, passages), Texts: make([]backend.PassageText, passages), Vectors: make([][]float32, passages)}
	for range q.Passing {
		nothing.Passing = append(nothing.Passing, make([]bool, n))
	}
	return or(l, nothing, func() (backend.FetchResponse, error) { return l.routed.Fetch(ctx, q) })
}

// Suggest implements [backend.Storage]. What words are expanded to any partition can say.
func (l lacking) Suggest(ctx context.Context, q backend.SuggestRequest) (backend.SuggestResponse, error) {
	out, err := or(l, backend.SuggestResponse{}, func() (backend.SuggestResponse, error) { return l.routed.Suggest(ctx, q) })
	if err != nil || q.Expand == nil || !l.missing.Has(l.part) {
		return out, err
	}
	q.Word, q.Selection = "", nil
	for p := range l.collection.Partitions {
		if !l.missing.Has(p) {
			return routed{l.node, l.collection, p}.Suggest(ctx, q)
		}
	}
	return out, nil
}

// Lookup implements [backend.Storage].
func (l lacking) Lookup(ctx context.Context, q backend.LookupRequest) ([]*backend.Document, error) {
	return or(l, make([]*backend.Document, len(q.IDs)), func() ([]*backend.Document, error) { return l.routed.Lookup(ctx, q) })
}
