package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// maxRounds is more often than the partitions are ever asked for their statistics.
const maxRounds = 4

// statistics adds up what all partitions know of the words of a query, see [backend.Statistics].
func statistics(ctx context.Context, parts []partition, collection string, q backend.Words) (*backend.Statistics, error) {
	q.And, q.Statistics = false, nil
	for range maxRounds {
		list, err := each(ctx, parts, func(ctx context.Context, p partition) (*backend.Statistics, error) {
			out, err := p.Open(ctx, backend.OpenRequest{Collection: collection, Words: &q})
			if err == nil && out.Statistics == nil {
				err = fmt.Errorf("partition %d returns no statistics", p.index)
			}
			return out.Statistics, err
		})
		if err != nil {
			return nil, err
		}
		var sum keyword.Statistics
		for _, s := range list {
			if s.Parts > 0 { // else the partition is missing
				sum.Add(keyword.Statistics(*s))
			}
		}
		if q.Statistics = (*backend.Statistics)(&sum); sum.Complete {
			return q.Statistics, nil
		}
	}
	return nil, fmt.Errorf("the statistics of %.100q are not complete after %d rounds", q.Text, maxRounds)
}

// of returns what a selection has of a partition; nil of nil.
func (p partition) of(s *backend.Selection) *backend.Selection {
	if s == nil {
		return nil
	}
	if own, ok := s.Local().([]*backend.Selection); ok && p.index < len(own) {
		return own[p.index]
	}
	out := &backend.Selection{Numbers: []*roaring.Bitmap{roaring.New()}, Partial: s.Partial}
	if p.index < len(s.Numbers) {
		out.Numbers[0] = s.Numbers[p.index]
	}
	if p.index < len(s.Loose) {
		out.Loose = []*roaring.Bitmap{s.Loose[p.index]}
	}
	return out
}

// selected puts selections of all partitions together. It keeps them as they are for later calls.
func selected(parts []*backend.Selection) *backend.Selection {
	out := &backend.Selection{}
	loose := false
	for _, p := range parts {
		numbers, forms := roaring.New(), roaring.New()
		if len(p.Numbers) > 0 {
			numbers = p.Numbers[0]
		}
		if len(p.Loose) > 0 {
			forms, loose = p.Loose[0], true
		}
		out.Numbers, out.Loose = append(out.Numbers, numbers), append(out.Loose, forms)
		out.Partial = out.Partial || p.Partial
	}
	if !loose {
		out.Loose = nil
	}
	out.SetLocal(parts)
	return out
}

// choose answers [backend.Storage.Select].
func choose(ctx context.Context, parts []partition, r backend.SelectRequest) (*backend.Selection, error) {
	list, err := each(ctx, parts, func(ctx context.Context, p partition) (*backend.Selection, error) { return p.Select(ctx, r) })
	if err != nil {
		return nil, err
	}
	return selected(list), nil
}

// aggregate merges counts, orders and missing fields. r.Order.Words has the statistics of all.
func aggregate(ctx context.Context, parts []partition, r backend.AggregateRequest) (out backend.AggregateResponse, err error) {
	list, err := each(ctx, parts, func(ctx context.Context, p partition) (backend.AggregateResponse, error) {
		own := r
		own.Selection = p.of(r.Selection)
		own.Facets = slices.Clone(r.Facets)
		for i := range own.Facets {
			if own.Facets[i].Limit >= 0 { // else it is refused
				own.Facets[i].Limit = keyword.MaxFacetValues
			}
		}
		if r.Order != nil {
			order := *r.Order
			order.WithKeys, order.Scores = true, map[backend.Ref]float64{}
			for ref, score := range r.Order.Scores {
				if at, local := placeRef(ref); at == p.index {
					order.Scores[local] = score
				}
			}
			own.Order = &order
		}
		found, err := p.Aggregate(ctx, own)
		if err == nil && (len(found.Facets) != len(r.Facets) || len(found.Keys) != len(found.Order)) {
			err = fmt.Errorf("partition %d answers %d of %d facets and %d of %d order keys", p.index, len(found.Facets), len(r.Facets), len(found.Keys), len(found.Order))
		}
		for i := range found.Order {
			found.Order[i] = p.ref(found.Order[i])
		}
		return found, err
	})
	if err != nil {
		return out, err
	}
	out.Facets = mergeFacets(r.Facets, list)
	if r.Order != nil {
		out.Order, out.Keys = mergeOrders(*r.Order, list)
	}
	out.Missing = list[0].Missing
	for _, found := range list {
		out.Partial = out.Partial || found.Partial
		out.Missing.Values = both(out.Missing.Values, found.Missing.Values)
		out.Missing.Texts = both(out.Missing.Texts, found.Missing.Texts)
	}
	return out, nil
}

// both returns the elements of a that are in b.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func mergeFacets(asked []backend.Facet, list []backend.AggregateResponse) (out []backend.FacetCounts) {
	if len(asked) == 0 {
		return nil
	}
	facets := make([]keyword.Facet, len(asked))
	for i, f := range asked {
		facets[i] = keyword.Facet{Field: f.Field, Limit: f.Limit, Ranges: make([]keyword.Range, len(f.Ranges))}
	}
	parts := make([][]keyword.FacetCounts, len(list))
	for i, found := range list {
		for _, n := range found.Facets {
			counts := keyword.FacetCounts{Distinct: n.Distinct, Ranges: n.Ranges, Missing: n.Missing}
			for _, v := range n.Values {
				counts.Values = append(counts.Values, keyword.ValueCount(v))
			}
			parts[i] = append(parts[i], counts)
		}
	}
	for _, n := range keyword.MergeFacets(facets, parts) {
		counts := backend.FacetCounts{Distinct: n.Distinct, Ranges: n.Ranges, Missing: n.Missing}
		for _, v := range n.Values {
			counts.Values = append(counts.Values, backend.ValueCount(v))
		}
		out = append(out, counts)
	}
	return out
}

// mergeOrders returns the first of the first documents of each partition, with their keys if asked.
func mergeOrders(o backend.Order, list []backend.AggregateResponse) (refs []backend.Ref, with [][]string) {
	sorted := make([]keyword.SortKey, len(o.Keys))
	for i, k := range o.Keys {
		sorted[i] = keyword.SortKey(k)
	}
	type ordered struct {
		ref backend.Ref
		key keyword.OrderKey
	}
	var all []ordered
	for _, found := range list {
		for i, ref := range found.Order {
			all = append(all, ordered{ref, found.Keys[i]})
		}
	}
	slices.SortFunc(all, func(a, b ordered) int {
		return cmp.Or(keyword.CompareOrderKeys(sorted, a.key, b.key), cmp.Compare(a.ref, b.ref))
	})
	for _, d := range all[:max(0, min(o.Limit, len(all)))] {
		if refs = append(refs, d.ref); o.WithKeys {
			with = append(with, d.key)
		}
	}
	return refs, with
}

// suggest merges spellings. What a query is expanded to is the same for all partitions, as
// r.Expand has the statistics of all.
func suggest(ctx context.Context, parts []partition, r backend.SuggestRequest) (out backend.SuggestResponse, err error) {
	if r.Word == "" {
		return parts[0].Suggest(ctx, r)
	}
	list, err := each(ctx, parts, func(ctx context.Context, p partition) (backend.SuggestResponse, error) {
		own := r
		if own.Selection = p.of(r.Selection); p.index > 0 {
			own.Expand = nil
		}
		found, err := p.Suggest(ctx, own)
		for _, t := range found.Terms {
			for i := range t.Refs {
				t.Refs[i] = p.ref(t.Refs[i])
			}
		}
		return found, err
	})
	if err != nil {
		return out, err
	}
	out.Expansions = list[0].Expansions
	var terms [][]keyword.NearTerm
	refs := map[string][]backend.Ref{}
	for _, found := range list {
		out.Correct = out.Correct || found.Correct
		var own []keyword.NearTerm
		for _, t := range found.Terms {
			own = append(own, keyword.NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled, DF: t.Documents})
			refs[t.Term] = append(refs[t.Term], t.Refs...)
		}
		terms = append(terms, own)
	}
	if out.Correct {
		return out, nil
	}
	for _, t := range keyword.MergeNear(terms) {
		own := refs[t.Term]
		slices.Sort(own)
		out.Terms = append(out.Terms, backend.NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled, Documents: t.DF, Refs: own[:min(len(own), backend.MaxNearRefs)]})
	}
	return out, nil
}

// fetch puts together what partitions return of their documents and passages. r.Words has the
// statistics of all.
func fetch(ctx context.Context, parts []partition, r backend.FetchRequest) (out backend.FetchResponse, err error) {
	if len(r.Refs) > 0 || len(r.Passages) == 0 {
		if out, err = fetchRefs(ctx, parts, r); err != nil {
			return out, err
		}
	}
	shares := share(parts, r.Passages, placePassage)
	list, err := eachShare(ctx, shares, func(ctx context.Context, k keys[backend.PassageRef]) (backend.FetchResponse, error) {
		if len(k.own) == 0 {
			return backend.FetchResponse{}, nil
		}
		return k.Fetch(ctx, backend.FetchRequest{Collection: r.Collection, Passages: k.own, Names: r.Names, Texts: r.Texts, Vectors: r.Vectors})
	})
	if err != nil {
		return out, err
	}
	n := len(r.Passages)
	out.Names = join(n, shares, list, func(f backend.FetchResponse) []uint64 { return f.Names })
	out.Texts = join(n, shares, list, func(f backend.FetchResponse) []backend.PassageText { return f.Texts })
	out.Vectors = join(n, shares, list, func(f backend.FetchResponse) [][]float32 { return f.Vectors })
	return out, nil
}

// fetchRefs is fetch of documents.
func fetchRefs(ctx context.Context, parts []partition, r backend.FetchRequest) (out backend.FetchResponse, err error) {
	shares := share(parts, r.Refs, placeRef)
	list, err := eachShare(ctx, shares, func(ctx context.Context, k keys[backend.Ref]) (backend.FetchResponse, error) {
		own := r
		own.Refs, own.Passages, own.Names, own.Texts, own.Vectors = k.own, nil, false, false, false
		found, err := k.Fetch(ctx, own)
		found.Documents = k.documents(found.Documents)
		return found, err
	})
	if err != nil {
		return out, err
	}
	n := len(r.Refs)
	if r.Documents {
		n = pageEnd(n, shares, func(i int) int { return len(list[i].Documents) })
		out.Documents = onePage(n, shares, list, func(f backend.FetchResponse) []*backend.Document { return f.Documents })
		n = len(out.Documents)
	}
	out.Cosines = join(n, shares, list, func(f backend.FetchResponse) [][]float64 { return f.Cosines })
	out.Scores = join(n, shares, list, func(f backend.FetchResponse) []float64 { return f.Scores })
	out.Terms = join(n, shares, list, func(f backend.FetchResponse) [][]backend.TermScore { return f.Terms })
	out.Firsts = join(n, shares, list, func(f backend.FetchResponse) []*filter.Value { return f.Firsts })
	for i := range r.Numbers {
		all := []backend.Number{}
		for j, s := range shares {
			for _, number := range list[j].Numbers[i] {
				if at := s.at[number.Index]; at < n {
					all = append(all, backend.Number{Index: at, Value: number.Value})
				}
			}
		}
		out.Numbers = append(out.Numbers, all)
	}
	for i := range r.Points {
		all := []backend.Point{}
		for j, s := range shares {
			for _, p := range list[j].Points[i] {
				if at := s.at[p.Index]; at < n {
					all = append(all, backend.Point{Index: at, At: p.At})
				}
			}
		}
		out.Points = append(out.Points, all)
	}
	for i := range r.Passing {
		out.Passing = append(out.Passing, join(n, shares, list, func(f backend.FetchResponse) []bool { return f.Passing[i] }))
	}
	return out, nil
}
