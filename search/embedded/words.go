package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
	"example.com/searchd/store"
)

// documentsOf returns the documents of a selection, which the caller must not change; nil for all.
func documentsOf(s *backend.Selection) *roaring.Bitmap {
	switch {
	case s == nil:
		return nil
	case len(s.Numbers) == 0:
		return roaring.New()
	}
	return s.Numbers[0]
}

// selection returns a set of documents.
func selection(docs *roaring.Bitmap) *backend.Selection {
	return &backend.Selection{Numbers: []*roaring.Bitmap{docs}}
}

// slotSet is the slots of a selection, which Select prepares for RetrieveVectors.
type slotSet struct {
	slots   *roaring.Bitmap
	table   *slotTable
	version uint64
}

// slotsOf returns the slots of a selection as they are now; nil for all.
func (c *collection) slotsOf(s *backend.Selection) *roaring.Bitmap {
	if s == nil {
		return nil
	}
	if own, ok := s.Local().(*slotSet); ok && own.table == &c.slots && own.version == c.slots.version() {
		return own.slots
	}
	slots, _ := c.slots.of(documentsOf(s))
	return slots
}

// query converts a query for the keyword index.
func (c *collection) query(q backend.Words) keyword.Query {
	weight := c.weights()
	k := keyword.Query{Text: q.Text, Weight: weight, Synonyms: c.synonyms.Load(), Exact: q.Exact, Texts: c.texts}
	if q.Statistics != nil {
		k.Global = (*keyword.Statistics)(q.Statistics)
	}
	if q.And {
		k.Operator = keyword.And
	}
	for _, f := range q.Fields { // on top of the mapping's weight
		for _, name := range indexNames([]string{f.Name}) {
			k.Fields = append(k.Fields, keyword.FieldWeight{Name: name, Weight: f.Weight * weight(name)})
		}
	}
	return k
}

// RetrieveWords returns the documents with the largest BM25.
func (b *Backend) RetrieveWords(ctx context.Context, r backend.WordsRequest) (backend.WordsResponse, error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return backend.WordsResponse{}, err
	}
	defer release()
	out := backend.WordsResponse{Partial: c.partial()} // before the search, during which a rebuild may end
	allow, err := c.withoutStale(ctx, documentsOf(r.Selection))
	if err != nil {
		return backend.WordsResponse{}, err
	}
	found, err := c.keyword.Find(ctx, c.query(r.Words), r.Limit, allow, r.All)
	if err != nil {
		return backend.WordsResponse{}, queryError(err)
	}
	if out.Total, out.Ceiling = found.Total, found.Ceiling; r.All {
		out.All = selection(found.All)
	}
	out.Matches = make([]backend.Match, len(found.Hits))
	for i, h := range found.Hits {
		out.Matches[i] = backend.Match{Ref: refOf(h.No), Score: h.Score}
	}
	return out, nil
}

// queryError translates what the keyword index refuses.
func queryError(err error) error {
	switch {
	case errors.Is(err, keyword.ErrStatistics):
		return fmt.Errorf("%w: %w", backend.ErrStatistics, err)
	case errors.Is(err, keyword.ErrQuery):
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return err
}

// texts calls f with the texts of documents and the starts of their strings. It skips documents
// that are missing or damaged, or that the mapping rejects.
func (c *collection) texts(ctx context.Context, nos []uint32, f func(no uint32, text keyword.Field, starts []int)) error {
	return c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for _, no := range nos {
			if err := ctx.Err(); err != nil {
				return err
			}
			parts, ok, err := c.parts(tx, no)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			for _, t := range texts(parts) {
				f(no, t, parts.Starts[fieldName(t.Name)])
			}
		}
		return nil
	})
}

// parts returns the parts of a document by the mapping; false where it is missing or damaged, or
// the mapping rejects it.
func (c *collection) parts(tx *store.Tx, no uint32) (parts mapping.Parts, ok bool, err error) {
	d, err := tx.DocumentByNo(no)
	if _, damaged := c.noteDamage(tx, err); damaged || errors.Is(err, store.ErrNotFound) {
		return parts, false, nil
	}
	if err != nil {
		return parts, false, err
	}
	parts, err = c.config.Load().Mapping.SplitStored(d.Fields)
	return parts, err == nil, nil
}

// Suggest returns similar spellings of a word, and the expansions of a query.
func (b *Backend) Suggest(ctx context.Context, r backend.SuggestRequest) (out backend.SuggestResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	if r.Word != "" {
		if err := c.near(ctx, r, &out); err != nil {
			return out, err
		}
	}
	if r.Expand != nil {
		expansions, err := c.keyword.Expand(ctx, c.query(*r.Expand))
		if err != nil {
			return out, queryError(err)
		}
		for _, e := range expansions {
			out.Expansions = append(out.Expansions, expansion(e))
		}
	}
	return out, nil
}

// near sets the terms with a spelling similar to the word of r. It takes the word for correct if
// the keyword index lacks documents, or if the word has synonyms.
func (c *collection) near(ctx context.Context, r backend.SuggestRequest, out *backend.SuggestResponse) (err error) {
	if c.partial() || c.keyword.Seq() < c.seq.Load() || c.keyword.Reads(c.synonyms.Load(), r.Word) {
		out.Correct = true
		return nil
	}
	var terms []keyword.NearTerm
	if r.Beginning {
		terms, out.Correct, err = c.keyword.Beginning(ctx, r.Word, documentsOf(r.Selection), r.Alone)
	} else {
		terms, out.Correct, err = c.keyword.Near(ctx, r.Word, r.Edits, documentsOf(r.Selection), r.Alone)
	}
	if err != nil {
		return err
	}
	out.Terms = make([]backend.NearTerm, len(terms))
	for i, t := range terms {
		out.Terms[i] = backend.NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled, Documents: t.DF, Refs: refsOf(t.First)}
	}
	return nil
}

// The keyword index stays within the bounds of the interface.
const (
	_ = uint(backend.MaxNear - keyword.MaxNear)
	_ = uint(backend.MaxNearRefs - keyword.MaxNearRefs)
)

func expansion(e keyword.Expansion) backend.Expansion {
	out := backend.Expansion{Start: e.Start, End: e.End, Name: e.Name}
	for _, a := range e.Alternatives {
		terms := make([]backend.Token, len(a.Terms))
		for i, t := range a.Terms {
			terms[i] = backend.Token(t)
		}
		out.Alternatives = append(out.Alternatives, backend.Alternative{Text: a.Text, Terms: terms})
	}
	return out
}

func refsOf(nos []uint32) []backend.Ref {
	refs := make([]backend.Ref, len(nos))
	for i, no := range nos {
		refs[i] = refOf(no)
	}
	return refs
}
