package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"searchd/search/backend"
	"searchd/search/mapping"
)

// fetch turns the page's candidates into hits. A document that was deleted since it was found is
// left out.
func (s *search) fetch(ctx context.Context) error {
	s.hits = make([]Hit, 0, len(s.page))
	refs := make([]backend.Ref, len(s.page))
	for i, c := range s.page {
		refs[i] = c.ref
	}
	if len(refs) == 0 {
		return nil
	}
	ch, err := s.chooser(ctx)
	if err != nil {
		return err
	}
	s.terms = make(map[backend.Ref][]backend.TermScore, len(refs))
	page := s.page
	return backend.FetchPages(ctx, s.engine.backend, s.shown(refs), func(refs []backend.Ref, have backend.FetchResponse) error {
		for i, d := range have.Documents {
			if d == nil {
				continue
			}
			if have.Terms != nil && have.Terms[i] != nil {
				s.terms[refs[i]] = have.Terms[i]
			}
			var cosines []float64
			if have.Cosines != nil {
				cosines = have.Cosines[i]
			}
			h, err := s.hit(ctx, page[i], d, cosines, ch)
			if err != nil {
				return err
			}
			s.hits = append(s.hits, h)
		}
		page = page[len(refs):]
		return nil
	})
}

// shown asks for what hits show: cosines where there is a vector, and the shares of terms where an
// explanation or the choice among passages takes them.
func (s *search) shown(refs []backend.Ref) backend.FetchRequest {
	r := backend.FetchRequest{Collection: s.collection, Refs: refs, Vector: s.vector}
	switch {
	case s.plan.Explain && s.plan.Mode != Semantic:
		r.Words, r.Terms = &s.plan.words, backend.AllTerms
	case s.vector != nil && s.plan.passages > 0 && (s.plan.Mode == Hybrid || len(s.plan.text.Phrases) > 0):
		r.Words, r.Terms = &s.plan.words, backend.TermsOfSeveral
	}
	return r
}

// hit makes one hit.
func (s *search) hit(ctx context.Context, c candidate, d *backend.Document, cosines []float64, ch *chooser) (Hit, error) {
	h := Hit{ID: d.ID, Score: c.score, Passages: []PassageHit{}, Group: c.group}
	parts, err := s.record.Settings.Fields.SplitStored(d.Fields)
	if err != nil {
		return h, err
	}
	if h.Document, err = returned(d.Fields, s.plan.ReturnFields, s.plan.OmitFields); err != nil {
		return h, err
	}
	var texts []PassageHit
	for _, p := range d.Passages {
		texts = append(texts, passageHit(parts, p))
	}
	m := ch.marks
	ch.words.next()
	m.next()
	best, err := ch.choose(ctx, c.ref, parts, texts, cosines)
	if err != nil {
		return h, err
	}
	for _, i := range best {
		p := texts[i]
		if len(cosines) == len(texts) {
			p.Score = &cosines[i]
		}
		if m != nil {
			p.Marked = m.mark(parts, p)
		}
		if s.plan.Sentences {
			p.column = column(parts, p)
		}
		h.Passages = append(h.Passages, p)
	}
	if m != nil {
		for _, f := range slices.Concat(parts.Text, parts.Words) {
			if snippets := m.snippets(f.Text); len(snippets) > 0 {
				if h.Highlights == nil {
					h.Highlights = map[string][]string{}
				}
				h.Highlights[f.Name] = snippets
			}
		}
	}
	if s.plan.Explain {
		if h.Explain, err = s.explain(ctx, c); err != nil {
			return h, err
		}
	}
	return h, nil
}

// passageHit returns a passage with its text.
func passageHit(parts mapping.Parts, p backend.Passage) PassageHit {
	return PassageHit{Field: p.Field, Start: p.Start, End: p.End, Text: p.In(parts)}
}

// column returns how many runes of its line stand before a passage.
func column(parts mapping.Parts, p PassageHit) int {
	f, ok := parts.Field(p.Field)
	if !ok || p.Start > len(f.Text) {
		return 0
	}
	before := f.Text[:p.Start]
	return utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// bestPassages returns the positions of the n best passages, best first: by cosine where there are
// cosines; equal ones in the order of the text.
func bestPassages(texts []PassageHit, cosines []float64, n int) []int {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	if len(cosines) == len(texts) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cosines[b], cosines[a]) })
	}
	return order[:min(n, len(order))]
}

// explain says how a candidate's score came about.
func (s *search) explain(ctx context.Context, c candidate) (*Explain, error) {
	e := &Explain{Loose: s.selection.IsLoose(c.ref)}
	if s.plan.Mode != Semantic {
		terms, err := s.wordTerms(ctx, c.ref)
		if err != nil {
			return nil, err
		}
		e.Keyword = &KeywordExplain{Rank: c.words.rank, Score: c.words.score, Ceiling: s.wordCeiling, Norm: c.words.norm, Terms: make([]TermExplain, len(terms))}
		for i, t := range terms {
			e.Keyword.Terms[i] = TermExplain(t)
		}
	}
	if s.plan.Mode != Keyword && c.vector.known {
		e.Vector = &VectorExplain{Rank: c.vector.rank, Cosine: c.vector.score, Mean: s.spread.Mean, Deviation: s.spread.Deviation, Match: c.vector.match, Norm: c.vector.norm}
		if s.matched != nil {
			similarity := s.fuser().similarity(c.vector)
			e.Vector.Similarity = &similarity
		}
	}
	if s.plan.Mode == Hybrid {
		e.Fusion = &FusionExplain{Method: s.plan.Fusion, Alpha: s.alpha, Window: s.plan.Window}
	}
	e.Rerank, e.Boost, e.Diversity = c.rerank, s.plan.explainBoosts(c), c.diversity
	return e, nil
}
