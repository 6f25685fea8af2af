package keyword

import (
	"context"
	"slices"
)

// TermScore is what a term of the query adds to the score of a document by its occurrences in one field.
type TermScore struct {
	Term  string
	Field string
	TF    int     // occurrences in the field
	DF    int     // documents with the term in one of the fields searched
	IDF   float64 // of the term
	Score float64 // the term's score, shared out among fields by weighted occurrences
}

// Score returns the scores that Search would give documents nos, in their order. It is 0 for a document that
// has none of the terms, lacks one of them under And, or does not exist.
func (x *Index) Score(ctx context.Context, q Query, nos []uint32) (scores []float64, err error) {
	err = x.read(func(v *view) (err error) {
		scores, err = x.scores(ctx, v, q, nos)
		return err
	})
	return scores, err
}

// scoreChunk bounds the memory of scoring many documents: 8 bytes for each of them, term and field of the query.
const scoreChunk = 4096

func (x *Index) scores(ctx context.Context, v *view, q Query, nos []uint32) ([]float64, error) {
	scores := make([]float64, len(nos))
	p, err := x.newPlan(ctx, v, q)
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(nos); from += scoreChunk {
		part := scores[from:min(from+scoreChunk, len(nos))]
		err := p.each(ctx, nos[from:from+len(part)], func(i int, tfs []uint64, dl float64) { part[i] = p.total(tfs, dl) })
		if err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// Explain returns the terms of q that document no has, field by field in the order of the query. The scores
// add up to the score of the document, whatever the operator.
func (x *Index) Explain(ctx context.Context, q Query, no uint32) (terms []TermScore, err error) {
	err = x.read(func(v *view) error {
		p, err := x.newPlan(ctx, v, q)
		if err != nil {
			return err
		}
		return p.each(ctx, []uint32{no}, func(_ int, tfs []uint64, dl float64) {
			terms = p.explain(tfs, dl)
		})
	})
	return terms, err
}

// each calls f with every document of nos that exists, its place in nos, its term frequencies by term*len(fields) +
// field, and its length.
func (p *plan) each(ctx context.Context, nos []uint32, f func(i int, tfs []uint64, dl float64)) error {
	if len(p.terms) == 0 {
		return nil
	}
	type wanted struct {
		local uint32
		i     int
	}
	width := len(p.terms) * len(p.fields)
	for s, seg := range p.view.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		var docs []wanted
		for i, no := range nos {
			if local, ok := seg.local(no); ok {
				docs = append(docs, wanted{local, i})
			}
		}
		if len(docs) == 0 {
			continue
		}
		// Postings are read forwards.
		slices.SortStableFunc(docs, func(a, b wanted) int { return int(int64(a.local) - int64(b.local)) })
		tfs := make([]uint64, len(docs)*width)
		for j, pl := range p.postings[s] {
			if pl == nil {
				continue
			}
			it := pl.Iterator(true, false, false, nil)
			var doc, tf uint64
			found := false
			for d, want := range docs {
				if !found || doc < uint64(want.local) {
					posting, err := it.Advance(uint64(want.local))
					if err != nil {
						return err
					}
					if posting == nil {
						break
					}
					doc, tf, found = posting.Number(), posting.Frequency(), true
				}
				if doc == uint64(want.local) {
					tfs[d*width+j] = tf
				}
			}
		}
		for d, want := range docs {
			f(want.i, tfs[d*width:(d+1)*width], p.length(s, want.local))
		}
	}
	return nil
}

// total is the score of a document, added up as searchSegment does.
func (p *plan) total(tfs []uint64, dl float64) float64 {
	sum, matched := 0.0, 0
	for t := range p.terms {
		if tf := p.weighted(tfs, t); tf > 0 {
			sum += p.score(&p.terms[t], tf, dl)
			matched++
		}
	}
	if p.operator == And && matched < len(p.terms) {
		return 0
	}
	return sum
}

// weighted is the term frequency of term t over the fields.
func (p *plan) weighted(tfs []uint64, t int) float64 {
	tf, nf := 0.0, len(p.fields)
	for f, n := range tfs[t*nf : (t+1)*nf] {
		if n > 0 {
			tf += p.fields[f].Weight * float64(n)
		}
	}
	return tf
}

func (p *plan) explain(tfs []uint64, dl float64) []TermScore {
	var out []TermScore
	nf := len(p.fields)
	for t := range p.terms {
		tf := p.weighted(tfs, t)
		if tf == 0 {
			continue
		}
		term := &p.terms[t]
		score := p.score(term, tf, dl)
		for f, n := range tfs[t*nf : (t+1)*nf] {
			if n > 0 {
				out = append(out, TermScore{
					Term: string(term.text), Field: p.fields[f].Name,
					TF: int(n), DF: int(term.df), IDF: term.idf,
					Score: score * p.fields[f].Weight * float64(n) / tf,
				})
			}
		}
	}
	return out
}
