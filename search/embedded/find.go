package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/search/mapping"
	"searchd/store"
)

// documentsOf returns the documents of a selection; nil for none.
func documentsOf(s backend.Selection) *roaring.Bitmap {
	if s == nil {
		return nil
	}
	return s.(*selection).documents
}

// slotsOf returns the slots of a selection as they are now; nil for none.
func (c *collection) slotsOf(s backend.Selection) *roaring.Bitmap {
	if s == nil {
		return nil
	}
	own := s.(*selection)
	if own.slots == nil || own.table == &c.slots && own.version == c.slots.version() {
		return own.slots
	}
	slots, _ := c.slots.of(own.documents)
	return slots
}

// query is a keyword query as the index takes it.
func (c *collection) query(q backend.Words) keyword.Query {
	weight := c.weights()
	k := keyword.Query{Text: q.Text, Weight: weight, Synonyms: c.synonyms.Load(), Exact: q.Exact, Texts: c.texts, Global: q.Global}
	if q.And {
		k.Operator = keyword.And
	}
	for _, f := range q.Fields { // on top of the mapping's weight
		for _, name := range indexed([]string{f.Name}) {
			k.Fields = append(k.Fields, keyword.FieldWeight{Name: name, Weight: f.Weight * weight(name)})
		}
	}
	return k
}

// Words returns the k documents with the largest BM25.
func (b *Backend) Words(ctx context.Context, name string, q backend.Words, k int, sel backend.Selection) (backend.WordMatches, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return backend.WordMatches{}, err
	}
	defer release()
	allow := documentsOf(sel)
	out := backend.WordMatches{Partial: c.lacking()} // before the search: it may end meanwhile
	if allow, err = c.known(ctx, allow); err != nil {
		return backend.WordMatches{}, err
	}
	found, err := c.words.Find(ctx, c.query(q), k, allow, q.All)
	if err != nil {
		return backend.WordMatches{}, err
	}
	if out.Total, out.Ceiling = found.Total, found.Ceiling; q.All {
		out.All = &selection{documents: found.All}
	}
	out.Matches = make([]backend.Match, len(found.Hits))
	for i, h := range found.Hits {
		out.Matches[i] = backend.Match{Ref: refOf(h.No), Score: h.Score}
	}
	return out, nil
}

// WordScores returns the BM25 of given documents.
func (b *Backend) WordScores(ctx context.Context, name string, q backend.Words, refs []backend.Ref) ([]float64, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.words.Score(ctx, c.query(q), numbers(refs))
}

func numbers(refs []backend.Ref) []uint32 {
	nos := make([]uint32, len(refs))
	for i, ref := range refs {
		nos[i] = uint32(ref)
	}
	return nos
}

// WordTerms returns each term's share of the BM25 of given documents.
func (b *Backend) WordTerms(ctx context.Context, name string, q backend.Words, refs []backend.Ref) ([][]backend.TermScore, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	terms, err := c.words.Explain(ctx, c.query(q), numbers(refs))
	if err != nil {
		return nil, fmt.Errorf("explaining scores: %w", err)
	}
	for _, own := range terms {
		for i, t := range own {
			own[i].Field = named(t.Field)
		}
	}
	return terms, nil
}

// Analyze returns the terms of a text as the keyword index sees them, those that wanted accepts (nil: all).
func (b *Backend) Analyze(ctx context.Context, name, text string, wanted func(term string) bool) ([]backend.Token, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.words.Occurrences(text, wanted), nil
}

// Expand returns the parts of a query that are read as their synonyms.
func (b *Backend) Expand(ctx context.Context, name string, q backend.Words) ([]backend.Expansion, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.words.Expand(ctx, c.query(q))
}

// texts calls f with the texts of documents, and where their strings begin. Those that are gone or damaged, or that the mapping refuses, are passed over.
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
				f(no, t, parts.Starts[named(t.Name)])
			}
		}
		return nil
	})
}

// parts returns what a document is taken apart into; false where it is gone or damaged, or the mapping refuses it.
func (c *collection) parts(tx *store.Tx, no uint32) (parts mapping.Parts, ok bool, err error) {
	d, err := tx.DocumentByNo(no)
	if _, damaged := c.leaveOut(tx, err); damaged || errors.Is(err, store.ErrNotFound) {
		return parts, false, nil
	}
	if err != nil {
		return parts, false, err
	}
	parts, err = c.config.Load().Mapping.SplitStored(d.Fields)
	return parts, err == nil, nil
}

// Near returns the terms that are spelled much like a word that no document has.
func (b *Backend) Near(ctx context.Context, name, word string, edits int, sel backend.Selection) (backend.NearTerms, error) {
	return b.terms(ctx, name, word, func(x *keyword.Index) ([]keyword.NearTerm, bool, error) {
		return x.Near(ctx, word, edits, documentsOf(sel))
	})
}

// Beginning returns the terms that begin with an unfinished word that no document has.
func (b *Backend) Beginning(ctx context.Context, name, word string, sel backend.Selection) (backend.NearTerms, error) {
	return b.terms(ctx, name, word, func(x *keyword.Index) ([]keyword.NearTerm, bool, error) {
		return x.Beginning(ctx, word, documentsOf(sel))
	})
}

// terms returns what find says of the keyword index; the word stands where that lacks documents, or where the word has synonyms.
func (b *Backend) terms(
	ctx context.Context, name, word string, find func(x *keyword.Index) (near []keyword.NearTerm, stands bool, err error),
) (near backend.NearTerms, err error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return near, err
	}
	defer release()
	if c.lacking() || c.words.Seq() < c.seq.Load() || c.words.Reads(c.synonyms.Load(), word) {
		return backend.NearTerms{Stands: true}, nil
	}
	terms, stands, err := find(c.words)
	if err != nil {
		return near, err
	}
	near.Stands = stands
	near.Terms = make([]backend.NearTerm, len(terms))
	for i, t := range terms {
		near.Terms[i] = backend.NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled, Documents: t.DF}
		for _, no := range t.First {
			near.Terms[i].Refs = append(near.Terms[i].Refs, refOf(no))
		}
	}
	return near, nil
}

// Lacking returns the names that no document has a value of, or a word.
func (b *Backend) Lacking(ctx context.Context, name string, f backend.FieldNames) (backend.FieldNames, bool, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return backend.FieldNames{}, false, err
	}
	defer release()
	partial := c.lacking() || c.words.Seq() < c.seq.Load() // before the look: it may end meanwhile
	lacking, err := c.words.Lacking(ctx, keyword.Fields{Values: f.Values, Texts: indexed(f.Texts)})
	return backend.FieldNames{Values: lacking.Values, Texts: unnamed(f.Texts, lacking.Texts)}, partial, err
}

// Statistics returns what the collection knows of the words of q.
func (b *Backend) Statistics(ctx context.Context, name string, q backend.Words) (backend.Statistics, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return backend.Statistics{}, err
	}
	defer release()
	return c.words.Statistics(ctx, c.query(q))
}
