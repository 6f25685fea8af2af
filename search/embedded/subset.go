package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// Limits on reading texts for phrases: about a second of one core.
const (
	phraseDocuments  = 10_000
	phraseBytes      = 8 << 20
	literalDocuments = 1000 // of more with a single quoted word, texts are not read for its literal form
	phrasePage       = 128  // documents that are read between two checks of the limits
)

// Select returns the documents that pass a filter, contain phrases and lack others.
//
//  1. The postings answer the filter and the words that must or must not occur.
//  2. For a phrase, the postings only show which documents have all its words in one field. The
//     texts of these are read from the store and analysed again, best BM25 first, up to the limits
//     above; the rest is left out.
//  3. Without conditions, the selection is all documents of the store, whether or not the keyword
//     index has them yet.
func (b *Backend) Select(ctx context.Context, s backend.SelectRequest) (*backend.Selection, error) {
	c, release, err := b.collection(ctx, s.Collection)
	if err != nil {
		return nil, err
	}
	defer release()
	if s.Filter == nil && len(s.With)+len(s.Without) == 0 && s.NoVectors {
		return selection(c.slots.documents()), nil
	}
	partial := c.partial()
	wanted, err := c.numbered(ctx, s.Filter)
	if err != nil {
		return nil, c.translate(err)
	}
	docs, err := c.keyword.Filter(ctx, wanted)
	if err == nil {
		docs, err = c.withoutStale(ctx, docs)
	}
	if err != nil {
		return nil, err
	}
	check := phraseCheck{c: c, fields: indexNames(s.Fields), doubtful: roaring.New(), documents: phraseDocuments, bytes: phraseBytes}
	for _, text := range s.With {
		p := c.keyword.Phrase(text)
		if p.Len() == 0 {
			continue
		}
		have, err := c.keyword.WithTerms(ctx, p, check.fields)
		if err != nil {
			return nil, err
		}
		if docs.And(have); p.Len() > 1 || docs.GetCardinality() <= literalDocuments {
			check.with = append(check.with, p)
		}
	}
	for _, text := range s.Without {
		p := c.keyword.Phrase(text)
		have, err := c.keyword.WithTerms(ctx, p, nil)
		if err != nil {
			return nil, err
		}
		if p.Len() > 1 {
			check.without = append(check.without, p)
			check.doubtful.Or(have)
		} else {
			docs.AndNot(have)
		}
	}
	if len(check.with) > 0 {
		check.doubtful = docs.Clone()
	} else {
		check.doubtful.And(docs)
	}
	sel := selection(docs)
	sel.Partial = partial
	if !check.doubtful.IsEmpty() {
		passed, loose, whole, err := check.run(ctx, c.query(s.Rank))
		if err != nil {
			return nil, err
		}
		if !loose.IsEmpty() {
			sel.Loose = []*roaring.Bitmap{loose}
		}
		docs.AndNot(check.doubtful)
		docs.Or(passed)
		sel.Partial = sel.Partial || !whole
	}
	if !s.NoVectors {
		slots, version := c.slots.of(docs)
		sel.SetLocal(&slotSet{slots, &c.slots, version})
	}
	return sel, nil
}

// numbered replaces the ids of documents in a filter by numbers, as the keyword index needs it.
func (c *collection) numbered(ctx context.Context, e filter.Expr) (out filter.Expr, err error) {
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		out, err = withNumbers(tx, e)
		return err
	})
	return out, err
}

func withNumbers(tx *store.Tx, e filter.Expr) (filter.Expr, error) {
	switch e := e.(type) {
	case filter.And:
		list, err := allWithNumbers(tx, e)
		return filter.And(list), err
	case filter.Or:
		list, err := allWithNumbers(tx, e)
		return filter.Or(list), err
	case filter.Not:
		inner, err := withNumbers(tx, e.Expr)
		return filter.Not{Expr: inner}, err
	case filter.OfID:
		numbers := roaring.New()
		for _, id := range e.IDs {
			d, err := tx.Head(id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			if err == nil {
				numbers.Add(d.No)
			}
		}
		return keyword.Among{OfID: e, Numbers: numbers}, nil
	}
	return e, nil
}

func allWithNumbers(tx *store.Tx, list []filter.Expr) (out []filter.Expr, err error) {
	for _, e := range list {
		one, err := withNumbers(tx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// phraseCheck reads texts for phrases of several words.
type phraseCheck struct {
	c             *collection
	with, without []keyword.Phrase
	fields        []string        // of with; empty: all
	doubtful      *roaring.Bitmap // documents to be read
	documents     int             // at most
	bytes         int64           // of text, at most; a page more may be read
}

// run returns the doubtful documents that pass, and those of them that have a phrase only in other
// forms of its words. whole is false if a limit was reached: documents that were not read do not
// pass.
func (p *phraseCheck) run(ctx context.Context, rank keyword.Query) (passed, loose *roaring.Bitmap, whole bool, err error) {
	nos, whole, err := p.order(ctx, rank)
	if err != nil {
		return nil, nil, false, err
	}
	passed, loose = roaring.New(), roaring.New()
	held := make([]keyword.Held, phrasePage)
	for read := int64(0); len(nos) > 0; nos = nos[min(len(held), len(nos)):] {
		if read >= p.bytes {
			return passed, loose, false, nil
		}
		page := nos[:min(len(held), len(nos))]
		n, err := p.page(ctx, page, held)
		if err != nil {
			return nil, nil, false, err
		}
		read += n
		for i, no := range page {
			if held[i] != keyword.NotHeld {
				passed.Add(no)
			}
			if held[i] == keyword.Stemmed {
				loose.Add(no)
			}
		}
	}
	return passed, loose, whole, nil
}

// order returns the documents to read, best first if there may be too many.
func (p *phraseCheck) order(ctx context.Context, rank keyword.Query) (nos []uint32, whole bool, err error) {
	if p.doubtful.GetCardinality() <= phrasePage {
		return p.doubtful.ToArray(), true, nil
	}
	rank.Operator = keyword.Or
	hits, _, err := p.c.keyword.Search(ctx, rank, p.documents, p.doubtful)
	if err != nil {
		return nil, false, err
	}
	rest := p.doubtful.Clone()
	for _, h := range hits {
		nos = append(nos, h.No)
		rest.Remove(h.No)
	}
	for it := rest.Iterator(); it.HasNext() && len(nos) < p.documents; {
		nos = append(nos, it.Next())
	}
	return nos, uint64(len(nos)) == p.doubtful.GetCardinality(), nil
}

// page reads documents in parallel and sets how each of them passes.
func (p *phraseCheck) page(ctx context.Context, nos []uint32, held []keyword.Held) (read int64, err error) {
	var bytes atomic.Int64
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(nos))
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[w] = fmt.Errorf("reading texts for phrases: panic: %v", v)
				}
			}()
			errs[w] = p.c.store.View(ctx, p.c.id, func(tx *store.Tx) error {
				for i := w; i < len(nos) && ctx.Err() == nil; i += workers {
					n, how, err := p.one(tx, nos[i])
					if err != nil {
						return err
					}
					held[i] = how
					bytes.Add(int64(n))
				}
				return ctx.Err()
			})
		})
	}
	wg.Wait()
	return bytes.Load(), errors.Join(errs...)
}

// one reads a document and returns the bytes of its text and how it passes: in the form of the
// phrase that it matches least exactly. A document that is missing or damaged, or that the mapping
// rejects, does not pass.
func (p *phraseCheck) one(tx *store.Tx, no uint32) (bytes int, how keyword.Held, err error) {
	parts, ok, err := p.c.parts(tx, no)
	if err != nil || !ok {
		return 0, keyword.NotHeld, err
	}
	all := slices.Concat(p.with, p.without)
	found := make([]keyword.Held, len(all))
	for _, f := range texts(parts) {
		bytes += len(f.Text)
		asked := len(p.fields) == 0 || slices.Contains(p.fields, f.Name)
		if !asked && len(p.without) == 0 {
			continue
		}
		for i, held := range p.c.keyword.Holds(f.Text, parts.Starts[fieldName(f.Name)], all...) {
			if asked || i >= len(p.with) {
				found[i] = max(found[i], held)
			}
		}
		if len(p.without) == 0 && slices.Min(found) == keyword.Literal {
			break
		}
	}
	if slices.Contains(found[len(p.with):], keyword.Literal) {
		return bytes, keyword.NotHeld, nil
	}
	return bytes, slices.Min(append(found[:len(p.with):len(p.with)], keyword.Literal)), nil
}
