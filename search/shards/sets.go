package shards

import (
	"context"
	"slices"

	"searchd/index/filter"
	"searchd/search/backend"
)

// selection is a set of documents, by the shard that they are on. None of the parts is nil, which would mean all to some and none to others.
type selection struct{ parts []backend.Selection }

// Len implements backend.Selection.
func (s *selection) Len() (n int) {
	for _, p := range s.parts {
		n += p.Len()
	}
	return n
}

// Contains implements backend.Selection.
func (s *selection) Contains(ref backend.Ref) bool {
	shard, own := placeRef(ref)
	return shard < len(s.parts) && s.parts[shard].Contains(own)
}

// Partial implements backend.Selection.
func (s *selection) Partial() bool {
	return slices.ContainsFunc(s.parts, backend.Selection.Partial)
}

// of returns what a selection has of the part; nil of nil.
func (p *part) of(sel backend.Selection) backend.Selection {
	if sel == nil {
		return nil
	}
	return sel.(*selection).parts[p.index]
}

// Set returns the documents of sel, nil meaning none here, and those of refs.
func (b *Backend) Set(ctx context.Context, collection string, sel backend.Selection, refs []backend.Ref) (backend.Selection, error) {
	own, _, _ := share(b, refs, placeRef)
	return b.selected(ctx, collection, func(ctx context.Context, p *part) (backend.Selection, error) {
		return p.Set(ctx, collection, p.of(sel), own[p.index])
	})
}

// selected puts together what all parts select.
func (b *Backend) selected(ctx context.Context, collection string, ask func(ctx context.Context, p *part) (backend.Selection, error)) (backend.Selection, error) {
	parts, err := all(ctx, b, collection, ask)
	if err != nil {
		return nil, err
	}
	return &selection{parts}, nil
}

// Refs returns the n lowest refs of a set that are not below from.
func (b *Backend) Refs(ctx context.Context, collection string, set backend.Selection, from backend.Ref, n int) ([]backend.Ref, error) {
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) ([]backend.Ref, error) {
		refs, err := p.Refs(ctx, collection, p.of(set), p.from(from), n)
		for i, ref := range refs {
			refs[i] = p.ref(ref)
		}
		return refs, err
	})
	if err != nil {
		return nil, err
	}
	out := slices.Concat(found...)
	slices.Sort(out)
	return out[:min(n, len(out))], nil
}

// Facets counts values over a set. Each shard is asked for all of its values, up to a bound, so that the counts are those of the whole.
func (b *Backend) Facets(ctx context.Context, collection string, facets []backend.Facet, set backend.Selection) ([]backend.FacetCounts, error) {
	asked := slices.Clone(facets)
	if len(b.parts) > 1 {
		for i := range asked {
			asked[i].Limit = backend.MaxFacetValues
		}
	}
	counts, err := all(ctx, b, collection, func(ctx context.Context, p *part) ([]backend.FacetCounts, error) {
		return p.Facets(ctx, collection, asked, p.of(set))
	})
	if err != nil {
		return nil, err
	}
	return backend.MergeFacets(facets, counts), nil
}

// Firsts returns for each document a value of a field.
func (b *Backend) Firsts(ctx context.Context, collection, field string, refs []backend.Ref) ([]*filter.Value, error) {
	return gather(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([]*filter.Value, error) {
		return p.Firsts(ctx, collection, field, own)
	})
}

// Passing says which documents pass a filter.
func (b *Backend) Passing(ctx context.Context, collection string, e filter.Expr, refs []backend.Ref) ([]bool, error) {
	return gather(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([]bool, error) {
		return p.Passing(ctx, collection, e, own)
	})
}

// Numbers returns the numbers or dates that documents have in a field.
func (b *Backend) Numbers(ctx context.Context, collection, field string, dates bool, refs []backend.Ref) ([]backend.Number, error) {
	own, _, asked := share(b, refs, placeRef)
	found, err := some(ctx, b, collection, asked, func(ctx context.Context, p *part) ([]backend.Number, error) {
		numbers, err := p.Numbers(ctx, collection, field, dates, own[p.index])
		for i := range numbers {
			numbers[i].Ref = p.ref(numbers[i].Ref)
		}
		return numbers, err
	})
	return slices.Concat(found...), err
}

// Order returns the first k documents of a set in the order of keys: the first of the k of each shard.
func (b *Backend) Order(ctx context.Context, collection string, keys []backend.SortKey, set backend.Selection, k int, by backend.Scorer) ([]backend.Ordered, error) {
	known := make([]map[backend.Ref]float64, len(b.parts))
	for i := range known {
		known[i] = map[backend.Ref]float64{}
	}
	for ref, score := range by.Known {
		if p, own := placeRef(ref); p < len(known) {
			known[p][own] = score
		}
	}
	ordered := func(words *backend.Words) ([]backend.Ordered, error) {
		orders, err := all(ctx, b, collection, func(ctx context.Context, p *part) ([]backend.Ordered, error) {
			list, err := p.Order(ctx, collection, keys, p.of(set), k, backend.Scorer{Words: words, Known: known[p.index], Values: by.Values || len(b.parts) > 1})
			for i := range list {
				list[i].Ref = p.ref(list[i].Ref)
			}
			return list, err
		})
		if err != nil || len(orders) == 1 {
			return slices.Concat(orders...), err
		}
		return backend.MergeOrdered(keys, orders, k), nil
	}
	if by.Words == nil {
		return ordered(nil)
	}
	return withGlobal(ctx, b, collection, *by.Words, func(q backend.Words) ([]backend.Ordered, error) { return ordered(&q) })
}
