package remote

import (
	"context"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/filter"
	"searchd/search/backend"
)

// Set implements backend.SetReader. It is answered without the shard.
func (s *Shard) Set(_ context.Context, _ string, sel backend.Selection, list []backend.Ref) (backend.Selection, error) {
	docs := roaring.New()
	if sel != nil {
		own, err := ownSelection(sel)
		if err != nil {
			return nil, err
		}
		docs = own.documents.Clone()
	}
	for _, ref := range list {
		docs.Add(uint32(ref))
	}
	return newSelection(docs, func() ([]byte, error) { return encodeBitmap(docs) }), nil
}

// Refs implements backend.SetReader. It is answered without the shard.
func (s *Shard) Refs(_ context.Context, _ string, set backend.Selection, from backend.Ref, n int) ([]backend.Ref, error) {
	own, err := ownSelection(set)
	if err != nil || from > math.MaxUint32 {
		return nil, err
	}
	var list []backend.Ref
	it := own.documents.Iterator()
	for it.AdvanceIfNeeded(uint32(from)); it.HasNext() && len(list) < n; {
		list = append(list, backend.Ref(it.Next()))
	}
	return list, nil
}

// Facets implements backend.SetReader.
func (s *Shard) Facets(ctx context.Context, collection string, asked []backend.Facet, set backend.Selection) ([]backend.FacetCounts, error) {
	got, err := withSet(set, func(c *chosen) ([]facetCounts, error) {
		return methodFacets.call(ctx, s, facets{collection, convert(asked, facetOf), c})
	})
	return answers(s, len(asked), got, err, facetCounts.facetCounts)
}

// Firsts implements backend.SetReader.
func (s *Shard) Firsts(ctx context.Context, collection, field string, list []backend.Ref) ([]*filter.Value, error) {
	got, err := methodFirsts.call(ctx, s, ofField{Collection: collection, Field: text(field), Refs: refs.pack(list)})
	return answers(s, len(list), got, err, (*value).optional)
}

// Passing implements backend.SetReader.
func (s *Shard) Passing(ctx context.Context, collection string, e filter.Expr, list []backend.Ref) ([]bool, error) {
	parts, err := partsOf(nil, e)
	if err != nil {
		return nil, err
	}
	out, err := methodPassing.call(ctx, s, passing{collection, parts, refs.pack(list)})
	if err != nil {
		return nil, err
	}
	return out, s.enough(len(list), len(out))
}

// Numbers implements backend.SetReader.
func (s *Shard) Numbers(ctx context.Context, collection, field string, dates bool, list []backend.Ref) ([]backend.Number, error) {
	got, err := methodNumbers.call(ctx, s, ofField{collection, text(field), dates, refs.pack(list)})
	return unpacked(s, fieldNumbers, anyLength, got, err)
}

// Order implements backend.SetReader.
func (s *Shard) Order(ctx context.Context, collection string, keys []backend.SortKey, set backend.Selection, k int, by backend.Scorer) ([]backend.Ordered, error) {
	q := order{Collection: collection, Keys: convert(keys, sortKeyOf), K: k, Words: optionalWords(by.Words), Known: knownOf(by.Known), Values: by.Values}
	got, err := withSet(set, func(c *chosen) ([]ordered, error) {
		q.Set = c
		return methodOrder.call(ctx, s, q)
	})
	return answers(s, anyLength, got, err, ordered.ordered)
}
