package highlight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
)

// choiceBytes of a document's passages that lie behind the first analysedBytes of their fields are
// analysed: long documents cost little.
const choiceBytes = 64 << 10

// Chooser picks the passages that hits show. It is not safe for concurrent use.
//
// Where the query was encoded, the order of the passages is, best first:
//  1. Those with more of the query's phrases.
//  2. By alpha·likeness + (1-alpha)·words. The likeness is how far the cosine lies between that of
//     unrelated texts and 1. The words are the share of the query's terms in the passage, each
//     counted with its IDF. Terms that the document lacks count with the mean IDF of the others, so
//     that a common word alone says little about a passage.
//  3. By cosine.
//  4. By position in the text.
//
// Without a vector they are in the order of phrases, then of how well they cover the terms, see
// [weight]; without words in the order of [Nearest].
type Chooser struct {
	Marker   *Marker // nil: words do not count
	Phrases  []Phrase
	Terms    func(ctx context.Context, ref backend.Ref) ([]backend.TermScore, error) // shares of a document's BM25
	Alpha    float64                                                                 // weight of the cosine
	Likeness func(cosine float64) float64
}

// Phrases returns the terms of phrases.
func Phrases(a Analyzer, texts []string) (out []Phrase) {
	for _, text := range texts {
		terms := slices.DeleteFunc(a.Occurrences(text, nil), func(t keyword.Token) bool { return t.Covered || t.Name || t.Common })
		if len(terms) > 0 {
			out = append(out, terms)
		}
	}
	return out
}

// Nearest returns the positions of the n passages with the largest cosines, best first; without
// cosines those of the first n.
func Nearest(passages []Passage, cosines []float64, n int) []int {
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	if len(cosines) == len(passages) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cosines[b], cosines[a]) })
	}
	return order[:min(n, len(order))]
}

// Choose returns the positions of the n best passages of a document, best first. It analyzes a
// bounded part of a long document. Without cosines the query was not encoded.
func (c *Chooser) Choose(ctx context.Context, ref backend.Ref, doc mapping.Parts, passages []Passage, cosines []float64, n int) ([]int, error) {
	if c.Marker == nil || len(c.Marker.forms) == 0 || n == 0 || len(passages) < 2 {
		return Nearest(passages, cosines, n), nil
	}
	encoded := len(cosines) == len(passages)
	if !encoded {
		cosines = nil
	}
	var terms []backend.TermScore
	var err error
	if encoded {
		if terms, err = c.Terms(ctx, ref); err != nil || len(terms) == 0 {
			return Nearest(passages, cosines, n), err
		}
	}
	found, behind := c.Marker.foundIn(doc, passages)
	if len(behind) > 0 {
		if terms, err = c.Terms(ctx, ref); err != nil {
			return nil, err
		}
		if c.Marker.missing(terms, doc) {
			c.Marker.order(behind, rarities(terms), passages, cosines)
			c.Marker.read(behind, passages, found)
		}
	}
	rarity, all := rarities(terms), 0.0
	for _, idf := range rarity {
		all += idf
	}
	all *= max(1, float64(len(c.Marker.forms))/float64(len(rarity)))
	order, phrases, value := make([]int, len(passages)), make([]int, len(passages)), make([]float64, len(passages))
	for i, tokens := range found {
		order[i], phrases[i] = i, count(c.Phrases, tokens)
		if lead := passages[i].Context.Lead(""); lead != "" {
			tokens = slices.Concat(tokens, c.Marker.found(lead))
		}
		if encoded {
			value[i] = c.Alpha*c.Likeness(cosines[i]) + (1-c.Alpha)*coverage(tokens, rarity)/all
		} else {
			value[i] = weight(tokens)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		by := cmp.Or(cmp.Compare(phrases[b], phrases[a]), cmp.Compare(value[b], value[a]))
		if by == 0 && encoded {
			by = cmp.Compare(cosines[b], cosines[a])
		}
		return by
	})
	return order[:min(n, len(order))], nil
}

// rarities returns the IDF of each term of the query.
func rarities(terms []backend.TermScore) map[string]float64 {
	rarity := make(map[string]float64, len(terms))
	for _, t := range terms {
		rarity[cmp.Or(t.For, t.Term)] = t.IDF
	}
	return rarity
}

// coverage returns the sum of the IDFs of the different terms of a passage.
func coverage(tokens []keyword.Token, rarity map[string]float64) (sum float64) {
	seen := map[string]bool{}
	for _, t := range tokens {
		if !seen[t.Term] {
			seen[t.Term] = true
			sum += rarity[t.Term]
		}
	}
	return sum
}

// read looks into passages, in their order, until choiceBytes have been analysed.
func (m *Marker) read(passages []int, texts []Passage, found [][]keyword.Token) {
	for read := 0; len(passages) > 0 && read < choiceBytes; passages = passages[1:] {
		text := texts[passages[0]].Text
		found[passages[0]] = m.found(text)
		read += len(text)
	}
}

// foundIn returns the query's terms in each passage, and the passages that lie behind the first
// analysedBytes of their fields and were not looked into.
func (m *Marker) foundIn(parts mapping.Parts, texts []Passage) (terms [][]keyword.Token, behind []int) {
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

// missing reports whether fields have terms of the query behind their first analysedBytes.
func (m *Marker) missing(terms []backend.TermScore, parts mapping.Parts) bool {
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
func (m *Marker) order(passages []int, rarity map[string]float64, texts []Passage, cosines []float64) {
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
		by := cmp.Compare(letters[b], letters[a])
		if by == 0 && len(cosines) > 0 {
			by = cmp.Compare(cosines[b], cosines[a])
		}
		return by
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

// Phrase is the terms of a phrase with their positions.
type Phrase []keyword.Token

// count returns how many of phrases are in tokens.
func count(phrases []Phrase, tokens []keyword.Token) int {
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
	Phrase
}

// occurrences returns one token for each place of tokens at which one of phrases is.
func occurrences(phrases []namedPhrase, tokens []keyword.Token) (out []keyword.Token) {
	at := placesOf(tokens)
	for _, p := range phrases {
		for _, t := range tokens {
			if start, end, ok := p.from(t, at); ok {
				out = append(out, keyword.Token{Term: p.name, Start: start, End: end, Position: t.Position})
			}
		}
	}
	return out
}

// in reports whether tokens have the phrase's terms at its distances.
func (p Phrase) in(tokens []keyword.Token) bool {
	at := placesOf(tokens)
	return slices.ContainsFunc(tokens, func(t keyword.Token) bool {
		_, _, ok := p.from(t, at)
		return ok
	})
}

// placed is a term at a position of a text.
type placed struct {
	term     string
	position int
}

func placesOf(tokens []keyword.Token) map[placed]keyword.Token {
	at := make(map[placed]keyword.Token, len(tokens))
	for _, t := range tokens {
		at[placed{t.Term, t.Position}] = t
	}
	return at
}

// from returns the bytes that the phrase takes where it begins with a token of a text. A term may
// take more positions there than in the phrase: iPhone two, iphone one.
func (p Phrase) from(first keyword.Token, at map[placed]keyword.Token) (start, end int, ok bool) {
	if first.Term != p[0].Term {
		return 0, 0, false
	}
	start, end = first.Start, first.End
	last := first
	for i, q := range p[1:] {
		next, ok := at[placed{q.Term, last.Next + q.Position - p[i].Next}]
		if !ok {
			return 0, 0, false
		}
		start, end, last = min(start, next.Start), max(end, next.End), next
	}
	return start, end, true
}
