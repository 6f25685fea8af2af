package embedded

import (
	"context"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// Aggregate counts values over a selection, returns its first documents in an order, and finds
// missing fields.
func (b *Backend) Aggregate(ctx context.Context, r backend.AggregateRequest) (out backend.AggregateResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	if len(r.Facets) > 0 {
		if out.Facets, err = c.facets(ctx, r.Facets, r.Selection); err != nil {
			return out, err
		}
	}
	if r.Order != nil {
		if out.Order, out.Keys, err = c.order(ctx, *r.Order, r.Selection); err != nil {
			return out, err
		}
	}
	if len(r.Fields.Values)+len(r.Fields.Texts) > 0 {
		out.Partial = c.partial() || c.keyword.Seq() < c.seq.Load() // before the call, during which a rebuild may end
		missing, err := c.keyword.Lacking(ctx, keyword.Fields{Values: r.Fields.Values, Texts: indexNames(r.Fields.Texts)})
		if err != nil {
			return out, err
		}
		out.Missing = backend.FieldNames{Values: missing.Values, Texts: missingFields(r.Fields.Texts, missing.Texts)}
	}
	return out, nil
}

// facets counts values over a set, without its stale documents.
func (c *collection) facets(ctx context.Context, facets []backend.Facet, set *backend.Selection) ([]backend.FacetCounts, error) {
	asked := make([]keyword.Facet, len(facets))
	for i, f := range facets {
		asked[i] = keyword.Facet{Field: f.Field, Limit: f.Limit}
		for _, r := range f.Ranges {
			asked[i].Ranges = append(asked[i].Ranges, keyword.Range(r))
		}
	}
	docs, err := c.withoutStale(ctx, documentsOf(set))
	if err != nil {
		return nil, err
	}
	counts, err := c.keyword.Facets(ctx, asked, docs)
	if err != nil {
		return nil, queryError(err)
	}
	out := make([]backend.FacetCounts, len(counts))
	for i, n := range counts {
		out[i] = backend.FacetCounts{Distinct: n.Distinct, Ranges: n.Ranges, Missing: n.Missing}
		for _, v := range n.Values {
			out[i].Values = append(out[i].Values, backend.ValueCount(v))
		}
	}
	return out, nil
}

// order returns the first documents of a set in an order, and what they are ordered by if asked.
func (c *collection) order(ctx context.Context, o backend.Order, set *backend.Selection) ([]backend.Ref, [][]string, error) {
	keys := make([]keyword.SortKey, len(o.Keys))
	for i, k := range o.Keys {
		keys[i] = keyword.SortKey(k)
	}
	var by keyword.Scorer
	if o.Words != nil {
		q := c.query(*o.Words)
		by.Query = &q
	}
	by.Known = func(nos []uint32) ([]float64, error) {
		out := make([]float64, len(nos))
		for i, no := range nos {
			out[i] = o.Scores[refOf(no)]
		}
		return out, nil
	}
	nos, err := c.keyword.Order(ctx, keys, documentsOf(set), o.Limit, by)
	var sorted [][]string
	if err == nil && o.WithKeys {
		var list []keyword.OrderKey
		list, err = c.keyword.OrderKeys(ctx, keys, nos, by)
		for _, k := range list {
			sorted = append(sorted, k)
		}
	}
	out := make([]backend.Ref, len(nos))
	for i, no := range nos {
		out[i] = refOf(no)
	}
	return out, sorted, queryError(err)
}
