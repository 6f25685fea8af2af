package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/filter"
	"searchd/index/keyword"
	"searchd/search/backend"
)

// Set returns the documents of sel and of refs. Its slots are not filled in: it is for Facets and Order.
func (b *Backend) Set(_ context.Context, _ string, sel backend.Selection, refs []backend.Ref) (backend.Selection, error) {
	docs := numbersOf(refs)
	if sel != nil {
		docs.Or(sel.(*selection).documents)
	}
	return &selection{documents: docs}, nil
}

// Refs returns the n lowest refs of a set that are not below from.
func (b *Backend) Refs(_ context.Context, _ string, set backend.Selection, from backend.Ref, n int) ([]backend.Ref, error) {
	var refs []backend.Ref
	if from > math.MaxUint32 {
		return nil, nil
	}
	it := set.(*selection).documents.Iterator()
	for it.AdvanceIfNeeded(uint32(from)); it.HasNext() && len(refs) < n; {
		refs = append(refs, refOf(it.Next()))
	}
	return refs, nil
}

// Facets counts values over a set, but for documents whose changes the keyword index lacks: what it has of them is not so any more.
func (b *Backend) Facets(ctx context.Context, name string, facets []backend.Facet, set backend.Selection) ([]backend.FacetCounts, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	docs, err := c.known(ctx, set.(*selection).documents)
	if err != nil {
		return nil, err
	}
	counts, err := c.words.Facets(ctx, facets, docs)
	return counts, queryError(err)
}

// Firsts returns for each document the first value of a field; as Passing and Numbers it takes a document whose changes the keyword index lacks for one without values.
func (b *Backend) Firsts(ctx context.Context, name, field string, refs []backend.Ref) ([]*filter.Value, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	docs, err := c.known(ctx, numbersOf(refs))
	if err != nil {
		return nil, err
	}
	values, err := c.words.Firsts(ctx, field, docs)
	if err != nil {
		return nil, queryError(err)
	}
	out := make([]*filter.Value, len(refs))
	for i, ref := range refs {
		if v, ok := values[uint32(ref)]; ok {
			out[i] = &v
		}
	}
	return out, nil
}

// Passing says which documents pass a filter.
func (b *Backend) Passing(ctx context.Context, name string, e filter.Expr, refs []backend.Ref) ([]bool, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	wanted, err := c.numbered(ctx, e)
	if err != nil {
		return nil, c.translate(err)
	}
	docs, err := c.known(ctx, numbersOf(refs))
	if err == nil {
		docs, err = c.words.Passing(ctx, wanted, docs)
	}
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(refs))
	for i, ref := range refs {
		out[i] = docs.Contains(uint32(ref))
	}
	return out, nil
}

// Numbers returns the numbers or dates that documents have in a field.
func (b *Backend) Numbers(ctx context.Context, name, field string, dates bool, refs []backend.Ref) ([]backend.Number, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]backend.Number, 0, len(refs))
	docs, err := c.known(ctx, numbersOf(refs))
	if err != nil {
		return nil, err
	}
	err = c.words.Numbers(ctx, field, dates, docs, func(no uint32, value float64) {
		out = append(out, backend.Number{Ref: refOf(no), Value: value})
	})
	return out, err
}

// numbersOf returns the numbers of documents.
func numbersOf(refs []backend.Ref) *roaring.Bitmap {
	docs := roaring.New()
	for _, ref := range refs {
		docs.Add(uint32(ref))
	}
	return docs
}

// Order returns the first k documents of a set in the order of keys.
func (b *Backend) Order(ctx context.Context, name string, keys []backend.SortKey, set backend.Selection, k int, score backend.Scorer) ([]backend.Ordered, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	var scorer keyword.Scorer
	if score.Words != nil {
		q := c.query(*score.Words)
		scorer.Query = &q
	}
	scorer.Known = func(nos []uint32) ([]float64, error) {
		out := make([]float64, len(nos))
		for i, no := range nos {
			out[i] = score.Known[refOf(no)]
		}
		return out, nil
	}
	docs := set.(*selection).documents
	if score.Values {
		ordered, err := c.words.OrderWithValues(ctx, keys, docs, k, scorer)
		out := make([]backend.Ordered, len(ordered))
		for i, o := range ordered {
			out[i] = backend.Ordered{Ref: refOf(o.No), Values: o.Values}
		}
		return out, queryError(err)
	}
	nos, err := c.words.Order(ctx, keys, docs, k, scorer)
	out := make([]backend.Ordered, len(nos))
	for i, no := range nos {
		out[i].Ref = refOf(no)
	}
	return out, queryError(err)
}

// queryError marks what the index refuses as the client's.
func queryError(err error) error {
	if errors.Is(err, keyword.ErrQuery) {
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return err
}

func refsOf(nos []uint32) []backend.Ref {
	refs := make([]backend.Ref, len(nos))
	for i, no := range nos {
		refs[i] = refOf(no)
	}
	return refs
}
