package keyword

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/searchd/index/keyword/analysis"
)

// TermScore is the contribution of a term in one field to the score of a document.
type TermScore struct {
	Term  string
	For   string // the words of the query that Term is an alternative for; "" where they are the same
	Field string
	TF    int     // occurrences in the field
	DF    int     // documents with the term in one of the fields searched
	IDF   float64 // of the term
	Score float64 // the term's score, divided among fields by weighted occurrences
}

// Score returns the scores that Search would give documents nos, in their order: 0 for a document
// that has none of the terms, lacks one of them under And, or does not exist.
func (x *Index) Score(ctx context.Context, q Query, nos []uint32) (scores []float64, err error) {
	err = x.read(func(v *view) (err error) {
		scores, err = x.scores(ctx, v, q, nos)
		return err
	})
	return scores, err
}

func (x *Index) scores(ctx context.Context, v *view, q Query, nos []uint32) ([]float64, error) {
	scores := make([]float64, len(nos))
	p, err := x.newPlan(ctx, v, q)
	if err != nil {
		return nil, err
	}
	return scores, p.each(ctx, nos, func(i int, d scored) { scores[i] = p.total(d) })
}

// Explain returns for each of nos the terms of q that the document has, in the order of the query,
// then field by field; none if it does not exist. Their scores add up to that of the document,
// whatever the operator.
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
	freqs []uint32       // by list
	dl    float64        // weighted length
}

// chunkDocs and chunkFreqs bound the memory of scoring many documents: the number of documents that
// are scored together, and of their frequencies.
const (
	chunkDocs  = 4096
	chunkFreqs = 1 << 20
)

// each calls f with the index in nos of every document that exists. scored is valid until f
// returns.
func (p *plan) each(ctx context.Context, nos []uint32, f func(i int, d scored)) error {
	if len(p.terms) == 0 {
		return nil
	}
	widest := 1
	for _, lists := range p.postings {
		widest = max(widest, len(lists))
	}
	first := 0
	for chunk := range slices.Chunk(nos, max(1, min(chunkDocs, chunkFreqs/widest))) {
		for s := range p.view.segments {
			if err := ctx.Err(); err != nil {
				return err
			}
			p.eachInSegment(s, chunk, func(i int, d scored) { f(first+i, d) })
		}
		first += len(chunk)
	}
	return nil
}

func (p *plan) eachInSegment(s int, nos []uint32, f func(i int, d scored)) {
	type wanted struct {
		local uint32
		i     int
	}
	var docs []wanted
	for i, no := range nos {
		if local, ok := p.view.segments[s].local(no); ok {
			docs = append(docs, wanted{local, i})
		}
	}
	slices.SortStableFunc(docs, func(a, b wanted) int { return cmp.Compare(a.local, b.local) })
	lists := p.postings[s]
	width := len(lists)
	freqs := make([]uint32, len(docs)*width)
	for j, l := range lists {
		at := 0
		for d, want := range docs {
			if at = l.seek(at, want.local); at == len(l.docs) {
				break
			}
			if l.docs[at] == want.local {
				freqs[d*width+j] = l.freq(at)
			}
		}
	}
	for d, want := range docs {
		f(want.i, scored{lists, freqs[d*width : (d+1)*width], p.lengths[s].at(want.local)})
	}
}

// total returns the score of a document, added up in the same order as in searchSegment.
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
	if p.operator == And && !p.all.met(terms) {
		return 0
	}
	return sum
}

// weighted returns the term frequency over the fields of the term whose lists begin at first, and
// where they end.
func (p *plan) weighted(d scored, first int) (end int, tf float64) {
	for end = first; end < len(d.lists) && d.lists[end].term == d.lists[first].term; end++ {
		if n := d.freqs[end]; n > 0 {
			tf += p.fields[d.lists[end].field].Weight * float64(n)
		}
	}
	return end, tf
}

func (p *plan) explain(d scored) (out []TermScore) {
	for first := 0; first < len(d.lists); {
		end, tf := p.weighted(d, first)
		for i := first; i < end; i++ {
			n := d.freqs[i]
			if n == 0 {
				continue
			}
			term, f := &p.terms[d.lists[i].term], p.fields[d.lists[i].field]
			own, of := term.text, ""
			if term.synonym != nil {
				if alt := term.synonym.alternatives[d.lists[i].alternative].text; alt != own {
					own, of = alt, own
				}
			}
			out = append(out, TermScore{
				Term: strings.TrimPrefix(own, analysis.StopPrefix), For: of, Field: f.Name,
				TF: int(n), DF: int(term.df), IDF: term.idf,
				Score: p.score(term, tf, d.dl) * f.Weight * float64(n) / tf,
			})
		}
		first = end
	}
	return out
}
