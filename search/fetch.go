package search

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/highlight"
	"example.com/searchd/search/mapping"
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
	show, err := s.shower(ctx)
	if err != nil {
		return err
	}
	s.terms = make(map[backend.Ref][]backend.TermScore, len(refs))
	page := s.page
	return backend.FetchPages(ctx, s.engine.backend, s.shown(refs), func(refs []backend.Ref, have backend.FetchResponse) error {
		distances := s.plan.distances(len(refs), have.Points)
		for i, d := range have.Documents {
			if d == nil || !s.maySee(d) {
				continue
			}
			if have.Terms != nil && have.Terms[i] != nil {
				s.terms[refs[i]] = have.Terms[i]
			}
			var cosines []float64
			if have.Cosines != nil {
				cosines = have.Cosines[i]
			}
			h, err := s.hit(ctx, page[i], d, cosines, show)
			if err != nil {
				return err
			}
			h.Distance = distances[i]
			s.hits = append(s.hits, h)
			if page[i].weak {
				s.weakHits++
			}
		}
		page = page[len(refs):]
		return nil
	})
}

// shown asks for what hits show: cosines where there is a vector, and the shares of terms where an
// explanation or the choice among passages takes them.
func (s *search) shown(refs []backend.Ref) backend.FetchRequest {
	r := backend.FetchRequest{Collection: s.collection, Refs: refs, Vector: s.vector}
	if s.plan.origin != nil {
		r.Points = []string{s.plan.origin.field}
	}
	switch {
	case s.plan.Explain && s.plan.Mode != Semantic:
		r.Words, r.Terms = &s.plan.words, backend.AllTerms
	case s.vector != nil && s.plan.passages > 0 && (s.plan.Mode == Hybrid || len(s.plan.text.Phrases) > 0):
		r.Words, r.Terms = &s.plan.words, backend.TermsOfSeveral
	}
	return r
}

// hit makes one hit.
func (s *search) hit(ctx context.Context, c candidate, d *backend.Document, cosines []float64, show shower) (Hit, error) {
	h := Hit{ID: d.ID, Score: c.score, Passages: []PassageHit{}, Group: c.group, Pinned: c.pinned, Loose: s.selection.IsLoose(c.ref)}
	parts, err := s.record.Settings.Fields.SplitStored(d.Fields)
	if err != nil {
		return h, err
	}
	if h.Document, err = mapping.Project(d.Fields, s.plan.ReturnFields, s.plan.OmitFields); err != nil {
		return h, err
	}
	texts := highlight.PassagesOf(parts, d)
	if show.marker != nil {
		show.marker.Next()
	}
	best, err := show.chooser.Choose(ctx, c.ref, parts, texts, cosines, s.plan.passages)
	if err != nil {
		return h, err
	}
	for _, i := range best {
		p := passageHit(texts[i])
		if len(cosines) == len(texts) {
			p.Score = &cosines[i]
		}
		if s.plan.highlight {
			p.Marked = show.marker.Mark(parts, texts[i])
		}
		h.Passages = append(h.Passages, p)
	}
	if s.plan.Sentences {
		at := 0
		if len(h.Passages) > 0 {
			at = column(parts, h.Passages[0])
		}
		s.columns = append(s.columns, at)
	}
	if s.plan.highlight {
		for _, f := range slices.Concat(parts.Text, parts.Words) {
			if snippets := show.marker.Snippets(f.Text); len(snippets) > 0 {
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

// shower chooses and marks the passages of hits.
type shower struct {
	chooser highlight.Chooser
	marker  *highlight.Marker // nil where it is not needed
}

// shower returns what shows the passages of hits. Words take part in the choice unless the search
// is semantic and has no phrases.
func (s *search) shower(ctx context.Context) (out shower, err error) {
	alpha := 0.5
	switch {
	case s.plan.Mode == Semantic:
		alpha = 1
	case s.plan.Alpha != nil:
		alpha = *s.plan.Alpha
	}
	out.chooser = highlight.Chooser{Phrases: highlight.Phrases(s.analysis, s.plan.text.Phrases), Terms: s.wordTerms, Alpha: alpha, Likeness: s.scorer().Likeness}
	byWords := s.plan.Mode != Semantic || len(out.chooser.Phrases) > 0
	if !byWords && !s.plan.highlight {
		return out, nil
	}
	expansions, err := s.expansions(ctx)
	if err != nil {
		return out, err
	}
	out.marker = highlight.NewMarker(s.analysis, s.plan.words.Text, expansions)
	if byWords {
		out.chooser.Marker = out.marker
	}
	return out, nil
}

// expanded is what the words of a text are expanded to.
type expanded struct {
	text string
	as   []backend.Expansion
}

// expansions returns what the query's words, as corrected so far, are expanded to.
func (s *search) expansions(ctx context.Context) ([]backend.Expansion, error) {
	if e := s.expanded; e != nil && e.text == s.plan.words.Text {
		return e.as, nil
	}
	if s.plan.words.Text == "" {
		return nil, nil
	}
	have, err := s.engine.backend.Suggest(ctx, backend.SuggestRequest{Collection: s.collection, Expand: &s.plan.words})
	if err == nil {
		s.expanded = &expanded{s.plan.words.Text, have.Expansions}
	}
	return have.Expansions, err
}

// wordTerms returns each term's share of a document's BM25. The first call also looks up those of
// the other documents of the page.
func (s *search) wordTerms(ctx context.Context, ref backend.Ref) ([]backend.TermScore, error) {
	if terms, ok := s.terms[ref]; ok {
		return terms, nil
	}
	refs := []backend.Ref{ref}
	for _, c := range s.page {
		if c.ref != ref {
			refs = append(refs, c.ref)
		}
	}
	have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: refs, Words: &s.plan.words, Terms: backend.AllTerms})
	if err != nil {
		return nil, err
	}
	s.terms = make(map[backend.Ref][]backend.TermScore, len(refs))
	for i, ref := range refs {
		s.terms[ref] = have.Terms[i]
	}
	return have.Terms[0], nil
}

func passageHit(p highlight.Passage) PassageHit {
	return PassageHit{Field: p.Field, Start: p.Start, End: p.End, Text: p.Text, Trail: p.Context.Breadcrumb(p.Title), Header: p.Context.Header, Page: p.Context.Page}
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

// explain says how a candidate's score came about.
func (s *search) explain(ctx context.Context, c candidate) (*Explain, error) {
	e := &Explain{}
	if s.plan.Mode != Semantic {
		terms, err := s.wordTerms(ctx, c.ref)
		if err != nil {
			return nil, err
		}
		e.Keyword = &KeywordExplain{Rank: c.words.Rank, Score: c.words.Score, Ceiling: s.wordCeiling, Norm: c.words.Norm, Terms: make([]TermExplain, len(terms))}
		for i, t := range terms {
			if s.plan.Within != nil {
				t.DF, t.IDF = 0, 0 // they count documents of others
			}
			e.Keyword.Terms[i] = TermExplain(t)
		}
	}
	if s.plan.Mode != Keyword && c.vector.Known {
		e.Vector = &VectorExplain{Rank: c.vector.Rank, Cosine: c.vector.Score, Mean: s.spread.Mean, Deviation: s.spread.Deviation, Match: c.vector.Match, Norm: c.vector.Norm}
		if s.matchShare > 0 {
			similarity := s.scorer().Similarity(c.vector)
			e.Vector.Similarity = &similarity
		}
	}
	if s.plan.Mode == Hybrid {
		f := s.scorer()
		e.Fusion = &FusionExplain{Method: s.plan.Fusion, Alpha: s.alpha, Window: s.plan.Window, Scale: f.Scale(), Prior: f.Prior()}
	}
	e.Rerank, e.Boost, e.Diversity = c.rerank, s.plan.explainBoosts(c), c.diversity
	return e, nil
}
