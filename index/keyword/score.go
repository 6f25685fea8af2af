package keyword

import (
	"context"
	"slices"
	"strings"
)

// TermScore is what a term of the query adds to the score of a document by its occurrences in one
// field.
type TermScore struct {
	Term  string
	For   string // the words of the query that Term is a synonym of; "" where they are the same
	Field string
	TF    int     // occurrences in the field
	DF    int     // documents with the term in one of the fields searched
	IDF   float64 // of the term
	Score float64 // the term's score, shared out among fields by weighted occurrences
}

// Score returns the scores that Search would give documents nos, in their order. It is 0 for a
// document that has none of the terms, lacks one of them under And, or does not exist.
func (x *Index) Score(ctx context.Context, q Query, nos []uint32) (scores []float64, err error) {
	err = x.read(func(v *view) (err error) {
		scores, err = x.scores(ctx, v, q, nos)
		return err
	})
	return scores, err
}

// scoreChunk and scoreCounts bound the memory of scoring many documents: how many are scored
// together, and how many counts they have between them, 8 bytes each, one for each term of the
// query in a field.
const (
	scoreChunk  = 4096
	scoreCounts = 1 << 20
)

func (x *Index) scores(ctx context.Context, v *view, q Query, nos []uint32) ([]float64, error) {
	scores := make([]float64, len(nos))
	p, err := x.newPlan(ctx, v, q)
	if err != nil {
		return nil, err
	}
	return scores, p.each(ctx, nos, func(i int, d scored) { scores[i] = p.total(d) })
}

// Explain returns for each of nos the terms of q that the document has, field by field in the order
// of the query; none where there is no such document. The scores add up to the score of the
// document, whatever the operator.
func (x *Index) Explain(ctx context.Context, q Query, nos []uint32) (terms [][]TermScore, err error) {
	terms = make([][]TermScore, len(nos))
	err = x.read(func(v *view) error {
		p, err := x.newPlan(ctx, v, q)
		if err != nil {
			return err
		}
		return p.each(ctx, nos, func(i int, d scored) { terms[i] = p.explain(d) })
	})
	return terms, err
}

// scored is what a document is scored by.
type scored struct {
	lists []termPostings // of its segment
	tfs   []uint64       // by list: how often its term occurs in its field
	dl    float64        // weighted length
}

// each calls f with the place in nos of every document of nos that exists. scored is valid only
// during the call.
func (p *plan) each(ctx context.Context, nos []uint32, f func(i int, d scored)) error {
	if len(p.terms) == 0 {
		return nil
	}
	widest := 1
	for _, lists := range p.postings {
		widest = max(widest, len(lists))
	}
	chunk := max(1, min(scoreChunk, scoreCounts/widest))
	for from := 0; from < len(nos); from += chunk {
		if err := p.eachOf(ctx, nos[from:min(from+chunk, len(nos))], func(i int, d scored) { f(from+i, d) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) eachOf(ctx context.Context, nos []uint32, f func(i int, d scored)) error {
	type wanted struct {
		local uint32
		i     int
	}
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
		lists := p.postings[s]
		width := len(lists)
		tfs := make([]uint64, len(docs)*width)
		for j, l := range lists {
			it := l.list.Iterator(true, false, false, nil)
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
			f(want.i, scored{lists, tfs[d*width : (d+1)*width], p.lengths[s].at(want.local)})
		}
	}
	return nil
}

// total is the score of a document, added up as searchSegment does.
func (p *plan) total(d scored) float64 {
	sum, terms := 0.0, uint64(0)
	for first := 0; first < len(d.lists); {
		end, tf := p.weighted(d, first)
		if tf > 0 {
			sum += p.score(&p.terms[d.lists[first].term], tf, d.dl)
			terms |= 1 << d.lists[first].term
		}
		first = end
	}
	if p.operator == And && !p.need.met(terms) {
		return 0
	}
	return sum
}

// weighted is the term frequency over the fields of the term whose lists begin at first, and where
// they end.
func (p *plan) weighted(d scored, first int) (end int, tf float64) {
	for end = first; end < len(d.lists) && d.lists[end].term == d.lists[first].term; end++ {
		if n := d.tfs[end]; n > 0 {
			tf += p.fields[d.lists[end].field].Weight * float64(n)
		}
	}
	return end, tf
}

func (p *plan) explain(d scored) []TermScore {
	var out []TermScore
	for first := 0; first < len(d.lists); {
		end, tf := p.weighted(d, first)
		if tf > 0 {
			term := &p.terms[d.lists[first].term]
			score := p.score(term, tf, d.dl)
			for i := first; i < end; i++ {
				if n := d.tfs[i]; n > 0 {
					f := p.fields[d.lists[i].field]
					own, of := string(term.text), ""
					if term.synonym != nil {
						if alt := term.synonym.alternatives[d.lists[i].alternative].text; alt != own {
							own, of = alt, own
						}
					}
					out = append(out, TermScore{
						Term: strings.TrimPrefix(own, commonMark), For: of, Field: f.Name,
						TF: int(n), DF: int(term.df), IDF: term.idf,
						Score: score * f.Weight * float64(n) / tf,
					})
				}
			}
		}
		first = end
	}
	return out
}
