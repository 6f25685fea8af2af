package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
	"example.com/searchd/internal/simd"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// Fetch returns what the request asks for of documents and passages.
func (b *Backend) Fetch(ctx context.Context, r backend.FetchRequest) (out backend.FetchResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	if r.Documents {
		if out.Documents, err = c.fetch(ctx, r.Refs); err != nil {
			return out, err
		}
		r.Refs = r.Refs[:len(out.Documents)]
	}
	if r.Vector != nil {
		if out.Cosines, err = c.cosinesOf(ctx, r.Vector, r.Refs); err != nil {
			return out, err
		}
	}
	if r.Words != nil {
		if err := c.scores(ctx, r, &out); err != nil {
			return out, err
		}
	}
	if r.First != "" || len(r.Numbers)+len(r.Points)+len(r.Passing) > 0 {
		if err := c.values(ctx, r, &out); err != nil {
			return out, err
		}
	}
	return out, c.passages(ctx, r, &out)
}

// fetch returns a page of documents, nil for a missing one and one with damaged fields.
func (c *collection) fetch(ctx context.Context, refs []backend.Ref) ([]*backend.Document, error) {
	return c.read(ctx, len(refs), func(tx *store.Tx, i int) (*backend.Document, error) {
		d, err := tx.DocumentByNo(refs[i].Number())
		if _, ok := c.noteDamage(tx, err); ok {
			err = store.ErrNotFound
		}
		return c.document(d), err
	})
}

// cosinesOf returns the cosines of q with every passage of each document; nil for a missing one.
func (c *collection) cosinesOf(ctx context.Context, q []float32, refs []backend.Ref) ([][]float64, error) {
	for again := 0; ; again++ {
		version := c.slots.version()
		out, whole, err := c.cosines(ctx, q, refs)
		if err != nil || whole || again == moveTries || c.slots.version() == version {
			return out, err
		}
	}
}

// cosines is one attempt of cosinesOf. whole is false if a vector was not found.
func (c *collection) cosines(ctx context.Context, q []float32, refs []backend.Ref) (out [][]float64, whole bool, err error) {
	var slots []uint32
	var document []int // by place in slots
	want := make([]int, len(refs))
	for i, ref := range refs {
		r := c.slots.slots(ref.Number())
		want[i] = int(r.n)
		for s := r.first; s < r.first+r.n; s++ {
			slots, document = append(slots, s), append(document, i)
		}
	}
	cosines, there := make([]float64, len(slots)), make([]bool, len(slots))
	err = c.vectors(ctx, slots, func(i int, v []float32) { cosines[i], there[i] = float64(simd.Dot(q, v)), true })
	if err != nil {
		return nil, false, err
	}
	out = make([][]float64, len(refs))
	for i, d := range document {
		if there[i] {
			out[d] = append(out[d], cosines[i])
		}
	}
	whole = true
	for i := range out {
		if len(out[i]) < want[i] {
			out[i], whole = nil, false
		}
	}
	return out, whole, ctx.Err()
}

// scores sets the BM25 of documents, and the shares of terms in it.
func (c *collection) scores(ctx context.Context, r backend.FetchRequest, out *backend.FetchResponse) (err error) {
	q := c.query(*r.Words)
	if r.Scores {
		if out.Scores, err = c.keyword.Score(ctx, q, numbers(r.Refs)); err != nil {
			return queryError(err)
		}
	}
	if r.Terms == backend.NoTerms {
		return nil
	}
	explained, places := make([]uint32, 0, len(r.Refs)), make([]int, 0, len(r.Refs))
	for i, ref := range r.Refs {
		if r.Documents && (out.Documents[i] == nil || r.Terms == backend.TermsOfSeveral && len(out.Documents[i].Passages) < 2) {
			continue
		}
		explained, places = append(explained, ref.Number()), append(places, i)
	}
	out.Terms = make([][]backend.TermScore, len(r.Refs))
	if len(explained) == 0 {
		return nil
	}
	terms, err := c.keyword.Explain(ctx, q, explained)
	if err != nil {
		return fmt.Errorf("explaining scores: %w", queryError(err))
	}
	for k, own := range terms {
		list := make([]backend.TermScore, len(own))
		for j, t := range own {
			list[j] = backend.TermScore(t)
			list[j].Field = fieldName(t.Field)
		}
		out.Terms[places[k]] = list
	}
	return nil
}

func numbers(refs []backend.Ref) []uint32 {
	nos := make([]uint32, len(refs))
	for i, ref := range refs {
		nos[i] = ref.Number()
	}
	return nos
}

// values sets the values of documents. A stale document counts as one without values.
func (c *collection) values(ctx context.Context, r backend.FetchRequest, out *backend.FetchResponse) error {
	docs := roaring.New()
	docs.AddMany(numbers(r.Refs))
	docs, err := c.withoutStale(ctx, docs)
	if err != nil {
		return err
	}
	if r.First != "" {
		values, err := c.keyword.Firsts(ctx, r.First, docs)
		if err != nil {
			return queryError(err)
		}
		out.Firsts = make([]*filter.Value, len(r.Refs))
		for i, ref := range r.Refs {
			if v, ok := values[ref.Number()]; ok {
				out.Firsts[i] = &v
			}
		}
	}
	if len(r.Numbers)+len(r.Points) > 0 {
		at := make(map[uint32]int, len(r.Refs))
		for i, ref := range r.Refs {
			at[ref.Number()] = i
		}
		for _, f := range r.Numbers {
			list := make([]backend.Number, 0, len(r.Refs))
			err := c.keyword.Numbers(ctx, f.Field, f.Dates, docs, func(no uint32, value float64) {
				list = append(list, backend.Number{Index: at[no], Value: value})
			})
			if err != nil {
				return err
			}
			out.Numbers = append(out.Numbers, list)
		}
		for _, field := range r.Points {
			list := make([]backend.Point, 0, len(r.Refs))
			err := c.keyword.Points(ctx, field, docs, func(no uint32, p geo.Code) {
				list = append(list, backend.Point{Index: at[no], At: p})
			})
			if err != nil {
				return err
			}
			out.Points = append(out.Points, list)
		}
	}
	for _, e := range r.Passing {
		wanted, err := c.numbered(ctx, e)
		if err != nil {
			return c.translate(err)
		}
		passing, err := c.keyword.Passing(ctx, wanted, docs)
		if err != nil {
			return err
		}
		list := make([]bool, len(r.Refs))
		for i, ref := range r.Refs {
			list[i] = passing.Contains(ref.Number())
		}
		out.Passing = append(out.Passing, list)
	}
	return nil
}

// passages sets what the request asks for of passages.
func (c *collection) passages(ctx context.Context, r backend.FetchRequest, out *backend.FetchResponse) (err error) {
	if r.Names {
		out.Names = c.names(r.Passages)
	}
	if r.Vectors {
		if out.Vectors, err = c.passageVectors(ctx, r.Passages); err != nil {
			return err
		}
	}
	if r.Texts {
		out.Texts, err = c.passageTexts(ctx, r.Passages)
	}
	return err
}

// slotOf returns the slot of a passage; false for a missing one.
func (c *collection) slotOf(p backend.PassageRef) (uint32, bool) {
	r := c.slots.slots(p.Ref.Number())
	return r.first + uint32(p.Ordinal), p.Ordinal >= 0 && p.Ordinal < int(r.n)
}

// names returns a name for the content of each passage. Neither slots nor collection numbers are
// reused.
func (c *collection) names(passages []backend.PassageRef) []uint64 {
	out := make([]uint64, len(passages))
	for i, p := range passages {
		if slot, ok := c.slotOf(p); ok {
			out[i] = uint64(c.id)<<32 | uint64(slot)
		}
	}
	return out
}

// passageVectors returns the vector of each passage; nil for a missing one.
func (c *collection) passageVectors(ctx context.Context, passages []backend.PassageRef) ([][]float32, error) {
	var slots []uint32
	var at []int // by place in slots
	for i, p := range passages {
		if slot, ok := c.slotOf(p); ok {
			slots, at = append(slots, slot), append(at, i)
		}
	}
	out := make([][]float32, len(passages))
	err := c.vectors(ctx, slots, func(i int, v []float32) { out[at[i]] = slices.Clone(v) })
	return out, err
}

// passageTexts returns the text of each passage, none if its document was written meanwhile.
func (c *collection) passageTexts(ctx context.Context, passages []backend.PassageRef) ([]backend.PassageText, error) {
	out := make([]backend.PassageText, len(passages))
	before := c.names(passages)
	err := c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for i, p := range passages {
			if err := ctx.Err(); err != nil {
				return err
			}
			d, err := tx.DocumentByNo(p.Ref.Number())
			if _, damaged := c.noteDamage(tx, err); damaged || errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if p.Ordinal < 0 || p.Ordinal >= len(d.Passages) {
				continue
			}
			parts, err := c.config.Load().Mapping.SplitStored(d.Fields)
			if err != nil {
				return err
			}
			of := d.Passages[p.Ordinal]
			text := backend.Passage{Field: of.Field, Start: of.Start, End: of.End}.In(parts)
			out[i] = backend.PassageText{Name: before[i], Title: strings.Clone(parts.Title), Text: strings.Clone(text)} // without keeping the whole document in memory
		}
		return nil
	})
	if err != nil {
		return nil, c.translate(err)
	}
	for i, now := range c.names(passages) { // a document that was written meanwhile has other names
		if before[i] != now {
			out[i] = backend.PassageText{}
		}
	}
	return out, nil
}
