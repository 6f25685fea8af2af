package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/search/mapping"
)

// choiceBytes of a document's passages that lie behind the first analysedBytes of their fields are
// analysed: long documents cost little.
const choiceBytes = 64 << 10

// chooser picks the passages that hits show. It serves one goroutine.
//
// A hybrid search has them in this order, best first; the score of the document is another matter,
// and is made without:
//  1. Those that hold more of the query's phrases; so in the other modes.
//  2. By alpha·likeness + (1-alpha)·words, alpha being .5 unless the query names one. The likeness
//     is the cosine between that of unrelated texts and 1, as in the score. The words are the share
//     of the query's terms that the passage holds, each term counting with its IDF, and one that
//     the document does not have with the mean of those that it has: a common word alone says
//     little of a passage.
//  3. By cosine.
//  4. As they stand in the text.
//
// A keyword search, and a hybrid one whose query was not encoded, then has them by how well they
// cover the query's terms, see [weight]. A semantic one then has the order of [bestPassages].
type chooser struct {
	*search
	marks   *marker // nil where nothing is to be marked
	words   *marker // nil where words do not choose: a semantic search without phrases
	phrases []phrase
}

func (s *search) chooser(ctx context.Context) (*chooser, error) {
	c := &chooser{search: s}
	var err error
	if c.marks, err = s.marker(ctx); err != nil {
		return nil, err
	}
	if c.phrases = s.phrases(); s.plan.Mode == Semantic && len(c.phrases) == 0 {
		return c, nil
	}
	if c.words = c.marks; c.words == nil {
		if c.words, err = s.newMarker(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// phrases returns the query's phrases, taken apart.
func (s *search) phrases() (out []phrase) {
	for _, text := range s.plan.text.Phrases {
		terms := slices.DeleteFunc(s.analysis.Occurrences(text, nil), func(t keyword.Token) bool { return t.Covered || t.Name || t.Common })
		if len(terms) > 0 {
			out = append(out, terms)
		}
	}
	return out
}

// choose returns the positions of the n best of a document's passages, best first.
func (c *chooser) choose(ctx context.Context, ref backend.Ref, parts mapping.Parts, texts []PassageHit, cosines []float64) ([]int, error) {
	n := c.plan.passages
	if c.words == nil || len(c.words.forms) == 0 || n == 0 || len(texts) < 2 {
		return bestPassages(texts, cosines, n), nil
	}
	if len(cosines) != len(texts) {
		return c.covering(ctx, c.words, c.phrases, ref, parts, texts, n)
	}
	terms, err := c.wordTerms(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(terms) == 0 {
		return bestPassages(texts, cosines, n), nil
	}
	rarity, all := rarities(terms), 0.0
	for _, idf := range rarity {
		all += idf
	}
	all *= max(1, float64(len(c.words.forms))/float64(len(rarity)))
	found, behind := c.words.foundIn(parts, texts)
	if len(behind) > 0 && c.words.missing(terms, parts) {
		c.words.order(behind, rarity, texts, cosines)
		c.words.read(behind, texts, found)
	}
	f, alpha := c.fuser(), 0.5
	switch {
	case c.plan.Mode == Semantic:
		alpha = 1
	case c.plan.Alpha != nil:
		alpha = *c.plan.Alpha
	}
	order, phrases, value := make([]int, len(texts)), make([]int, len(texts)), make([]float64, len(texts))
	for i, tokens := range found {
		order[i], phrases[i] = i, count(c.phrases, tokens)
		held, words := map[string]bool{}, 0.0
		for _, t := range tokens {
			if !held[t.Term] {
				held[t.Term] = true
				words += rarity[t.Term]
			}
		}
		value[i] = alpha*f.likeness(cosines[i]) + (1-alpha)*words/all
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(phrases[b], phrases[a]), cmp.Compare(value[b], value[a]), cmp.Compare(cosines[b], cosines[a]))
	})
	return order[:min(n, len(order))], nil
}

// covering returns the positions of the n passages that hold most phrases and cover the query's
// terms best, best first; equal ones in the order of the text. It looks into no more of a long
// document than [chooser.choose] does.
func (s *search) covering(ctx context.Context, m *marker, phrases []phrase, ref backend.Ref, parts mapping.Parts, texts []PassageHit, n int) ([]int, error) {
	found, behind := m.foundIn(parts, texts)
	if len(behind) > 0 {
		terms, err := s.wordTerms(ctx, ref)
		if err != nil {
			return nil, err
		}
		if m.missing(terms, parts) {
			m.order(behind, rarities(terms), texts, make([]float64, len(texts)))
			m.read(behind, texts, found)
		}
	}
	order, held, value := make([]int, len(texts)), make([]int, len(texts)), make([]float64, len(texts))
	for i, tokens := range found {
		order[i], held[i], value[i] = i, count(phrases, tokens), weight(tokens)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(held[b], held[a]), cmp.Compare(value[b], value[a])) })
	return order[:min(n, len(order))], nil
}

// wordTerms returns each term's share of a document's BM25. The first document of the page has
// those of the others looked up with its own.
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

// rarities returns the IDF of each term of the query.
func rarities(terms []backend.TermScore) map[string]float64 {
	rarity := make(map[string]float64, len(terms))
	for _, t := range terms {
		rarity[cmp.Or(t.For, t.Term)] = t.IDF
	}
	return rarity
}

// read looks into passages, in their order, until choiceBytes have been analysed.
func (m *marker) read(passages []int, texts []PassageHit, found [][]keyword.Token) {
	for read := 0; len(passages) > 0 && read < choiceBytes; passages = passages[1:] {
		text := texts[passages[0]].Text
		found[passages[0]] = m.found(text)
		read += len(text)
	}
}

// foundIn returns the query's terms in each passage, and the passages that lie behind the first
// analysedBytes of their fields and were not looked into.
func (m *marker) foundIn(parts mapping.Parts, texts []PassageHit) (terms [][]keyword.Token, behind []int) {
	terms = make([][]keyword.Token, len(texts))
	for _, f := range parts.Text {
		tokens, end := m.found(f.Text), analysedEnd(f.Text)
		for i, p := range texts {
			switch {
			case p.Field != f.Name:
			case p.End > end:
				behind = append(behind, i)
			default:
				terms[i] = within(tokens, p.Start, p.End)
			}
		}
	}
	return terms, behind
}

// missing says whether long fields have more of the query's terms than their first analysedBytes.
func (m *marker) missing(terms []backend.TermScore, parts mapping.Parts) bool {
	type place struct{ term, field string }
	left := map[place]int{} // a term and its synonyms together
	for _, t := range terms {
		left[place{cmp.Or(t.For, t.Term), t.Field}] += t.TF
	}
	for p, n := range left {
		f, _ := parts.Field(p.field)
		if analysedEnd(f.Text) == len(f.Text) {
			continue
		}
		for _, token := range m.found(f.Text) {
			if token.Term == p.term {
				n--
			}
		}
		if n > 0 {
			return true
		}
	}
	return false
}

// order sorts passages by what is worth reading first: those that hold the letters of the rarest
// terms, then the nearest.
func (m *marker) order(passages []int, rarity map[string]float64, texts []PassageHit, cosines []float64) {
	letters := make(map[int]float64, len(passages))
	for _, i := range passages {
		text := strings.ToLower(texts[i].Text)
		for term, idf := range rarity {
			if strings.Contains(text, term) || slices.ContainsFunc(m.forms[term], func(form string) bool { return strings.Contains(text, form) }) {
				letters[i] += idf
			}
		}
	}
	slices.SortStableFunc(passages, func(a, b int) int {
		return cmp.Or(cmp.Compare(letters[b], letters[a]), cmp.Compare(cosines[b], cosines[a]))
	})
}

// within returns the tokens in [start, end); they are in the order of the text.
func within(tokens []keyword.Token, start, end int) []keyword.Token {
	from, _ := slices.BinarySearchFunc(tokens, start, func(t keyword.Token, at int) int { return cmp.Compare(t.Start, at) })
	to := from
	for to < len(tokens) && tokens[to].End <= end {
		to++
	}
	return tokens[from:to]
}

// phrase is the terms of a phrase with their places.
type phrase []keyword.Token

// count returns how many of phrases are in tokens.
func count(phrases []phrase, tokens []keyword.Token) int {
	n := 0
	for _, p := range phrases {
		if p.in(tokens) {
			n++
		}
	}
	return n
}

// namedPhrase is a phrase that stands for a term of the query.
type namedPhrase struct {
	name string
	phrase
}

// occurrences returns one token for each place of tokens at which one of phrases is.
func occurrences(phrases []namedPhrase, tokens []keyword.Token) (out []keyword.Token) {
	type placed struct {
		term     string
		position int
	}
	at := make(map[placed]keyword.Token, len(tokens))
	for _, t := range tokens {
		at[placed{t.Term, t.Position}] = t
	}
	for _, p := range phrases {
		for _, t := range tokens {
			if t.Term != p.phrase[0].Term {
				continue
			}
			whole, all := keyword.Token{Term: p.name, Start: t.Start, End: t.End, Position: t.Position}, true
			for _, q := range p.phrase[1:] {
				next, ok := at[placed{q.Term, t.Position + q.Position - p.phrase[0].Position}]
				if all = all && ok; !all {
					break
				}
				whole.Start, whole.End = min(whole.Start, next.Start), max(whole.End, next.End)
			}
			if all {
				out = append(out, whole)
			}
		}
	}
	return out
}

// in says whether tokens, of which only the query's terms need be there, have the phrase's terms at
// its distances.
func (p phrase) in(tokens []keyword.Token) bool {
	type placed struct {
		term     string
		position int
	}
	at := make(map[placed]bool, len(tokens))
	for _, t := range tokens {
		at[placed{t.Term, t.Position}] = true
	}
	for _, t := range tokens {
		if t.Term != p[0].Term {
			continue
		}
		if !slices.ContainsFunc(p, func(q keyword.Token) bool { return !at[placed{q.Term, t.Position + q.Position - p[0].Position}] }) {
			return true
		}
	}
	return false
}
