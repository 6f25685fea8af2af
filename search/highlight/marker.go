// Package highlight marks the words of a query in texts and chooses the passages that hits show.
package highlight

import (
	"cmp"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
	"example.com/searchd/search/querytext"
)

// Bounds of highlighting.
const (
	snippetBytes     = 240       // of one snippet, roughly
	snippetsPerField = 2         //
	analysedBytes    = 128 << 10 // of one field; what comes after is not searched for marks
)

// Analyzer splits texts into terms; [keyword.Analysis] is one.
type Analyzer interface {
	// Occurrences returns the tokens of a text whose terms are wanted; nil: all.
	Occurrences(text string, wanted *keyword.Terms) []keyword.Token
}

// Passage is a window [Start, End) of a field's text.
type Passage struct {
	Field      string
	Start, End int
	Text       string
	Title      string // of its document; empty for a passage of the title itself
	Context    passage.Context
}

// PassageOf returns a passage of a document with its text.
func PassageOf(doc mapping.Parts, p backend.Passage) Passage {
	return Passage{Field: p.Field, Start: p.Start, End: p.End, Text: p.In(doc)}
}

// PassagesOf returns the passages of a document with their contexts.
func PassagesOf(doc mapping.Parts, d *backend.Document) []Passage {
	out := make([]Passage, len(d.Passages))
	for i := 0; i < len(out); {
		first, field := i, d.Passages[i].Field
		var starts []int
		for ; i < len(out) && d.Passages[i].Field == field; i++ {
			out[i] = PassageOf(doc, d.Passages[i])
			starts = append(starts, out[i].Start)
		}
		f, _ := doc.Field(field)
		for k, c := range passage.Contexts(f.Text, d.Blocks[field], starts) {
			out[first+k].Title, out[first+k].Context = doc.TitleOver(field), c
		}
	}
	return out
}

// Marker finds the terms of a query, and their synonyms, in texts. It is not safe for concurrent
// use.
type Marker struct {
	analyze func(text string) []keyword.Token // terms and words of phrases only
	terms   map[string]string                 // to the term of the query that it counts for
	phrases []namedPhrase                     // synonyms of several words
	forms   map[string][]string               // spellings of each term of the query, in lower case
	common  bool                              // the query has stop words alone
	cached  map[string][]keyword.Token        // by text, of one document: a field is often one passage
}

// NewMarker returns the marker of a query's words and what they are expanded to.
func NewMarker(a Analyzer, words string, expansions []backend.Expansion) *Marker {
	tokens := a.Occurrences(words, nil)
	m := &Marker{terms: make(map[string]string, len(tokens)), forms: make(map[string][]string, len(tokens)), cached: map[string][]keyword.Token{}}
	left := expansions
	m.common = !slices.ContainsFunc(tokens, func(t keyword.Token) bool { return !t.Common })
	for _, t := range tokens {
		for len(left) > 0 && left[0].End <= t.Start {
			left = left[1:]
		}
		if t.Covered || t.Common && !m.common || len(left) > 0 && left[0].Start <= t.Start && t.End <= left[0].End {
			continue
		}
		m.terms[t.Term] = t.Term
		m.forms[t.Term] = []string{strings.ToLower(words[t.Start:t.End])}
	}
	m.expand(expansions)
	all := slices.Collect(maps.Keys(m.terms))
	for _, p := range m.phrases {
		for _, t := range p.Phrase {
			all = append(all, t.Term)
		}
	}
	wanted := keyword.NewTerms(slices.Values(all))
	m.analyze = func(text string) []keyword.Token { return a.Occurrences(text[:analysedEnd(text)], wanted) }
	return m
}

// expand adds synonyms.
func (m *Marker) expand(expansions []backend.Expansion) {
	for _, e := range expansions {
		for _, a := range e.Alternatives {
			if _, own := m.terms[a.Text]; own {
				continue
			}
			if m.forms[e.Name] = append(m.forms[e.Name], a.Text); len(a.Terms) > 1 {
				m.phrases = append(m.phrases, namedPhrase{e.Name, tokensOf(a.Terms)})
			} else {
				m.terms[a.Text] = e.Name
			}
		}
	}
}

// tokensOf returns the terms of an expansion as the analysis has them.
func tokensOf(terms []backend.Token) []keyword.Token {
	out := make([]keyword.Token, len(terms))
	for i, t := range terms {
		out[i] = keyword.Token(t)
	}
	return out
}

// analysedEnd is where the part of a text ends that is searched for marks.
func analysedEnd(text string) int { return passage.RuneEnd(text, min(len(text), analysedBytes)) }

// Next must be called before the texts of another document.
func (m *Marker) Next() { clear(m.cached) }

// found returns the tokens of text that are among the query's terms, in order; a synonym of several
// words is one token.
func (m *Marker) found(text string) []keyword.Token {
	out, ok := m.cached[text]
	if !ok && len(m.forms) > 0 {
		tokens := m.analyze(text)
		for _, t := range tokens {
			if name, ok := m.terms[t.Term]; ok && t.Common == m.common {
				t.Term = name
				out = append(out, t)
			}
		}
		if len(m.phrases) > 0 {
			out = append(out, occurrences(m.phrases, tokens)...)
			slices.SortStableFunc(out, func(a, b keyword.Token) int { return cmp.Compare(a.Start, b.Start) })
		}
		m.cached[text] = out
	}
	return out
}

// passage returns what found returns of text[start:end], out of what it returns of text where white
// space sets the passage apart.
func (m *Marker) passage(text string, start, end int) []keyword.Token {
	apart := (start == 0 || isGap(text[start-1])) && (end == len(text) || isGap(text[end]))
	if !apart || end > analysedEnd(text) || len(m.phrases) > 0 { // a phrase can reach beyond the passage
		return m.found(text[start:end])
	}
	tokens := slices.Clone(within(m.found(text), start, end))
	for i := range tokens {
		tokens[i].Start, tokens[i].End = tokens[i].Start-start, tokens[i].End-start
	}
	return tokens
}

// isGap reports whether c is between terms in every language.
func isGap(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// joined returns tokens that lie before limit, in order and without overlap: one that reaches
// beyond the one before, as pairs of characters do, makes it longer, or is cut where that would be
// longer than a snippet.
func joined(tokens []keyword.Token, limit int) []keyword.Token {
	var out []keyword.Token
	end := 0
	for _, t := range tokens {
		if t.End <= end || t.End > limit {
			continue
		}
		if t.Start < end && t.End-out[len(out)-1].Start <= snippetBytes {
			out[len(out)-1].End = t.End
		} else {
			t.Start = max(t.Start, end)
			out = append(out, t)
		}
		end = t.End
	}
	return out
}

// counted returns names, and the other tokens without overlap, in the order of the text: a name
// counts beside its words.
func counted(tokens []keyword.Token) []keyword.Token {
	var names, words []keyword.Token
	for _, t := range tokens {
		if t.Name {
			names = append(names, t)
		} else {
			words = append(words, t)
		}
	}
	all := append(names, joined(words, math.MaxInt)...)
	slices.SortStableFunc(all, func(a, b keyword.Token) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// weight is how well the text of tokens covers the query's terms: different terms count, repeats a
// little.
func weight(tokens []keyword.Token) float64 {
	seen := map[string]bool{}
	matches := counted(tokens)
	for _, t := range matches {
		seen[t.Term] = true
	}
	return float64(len(seen)) + float64(len(matches))/1e4
}

// Mark returns the text of a passage HTML-escaped with the query's words in <mark>…</mark>.
func (m *Marker) Mark(doc mapping.Parts, p Passage) string {
	var tokens []keyword.Token
	if f, ok := doc.Field(p.Field); ok && p.Text != "" {
		tokens = m.passage(f.Text, p.Start, p.End)
	}
	return markup(p.Text, passage.Span{Start: 0, End: len(p.Text)}, joined(tokens, len(p.Text)))
}

// Snippets returns the parts of text with the most terms of the query, marked, in the order of the
// text.
func (m *Marker) Snippets(text string) []string {
	found := m.found(text)
	marks, matches := joined(found, len(text)), counted(found)
	var out []string
	for len(matches) > 0 && len(out) < snippetsPerField {
		window, n := densest(matches)
		s := widen(text, window)
		out = append(out, markup(text, s, marks))
		rest := matches[n:]
		for len(rest) > 0 && rest[0].Start < s.End {
			rest = rest[1:]
		}
		matches = rest
	}
	return out
}

// densest returns the window of at most snippetBytes with most different terms, the first of
// equals, and the index of its first match.
func densest(matches []keyword.Token) (passage.Span, int) {
	best, bestTerms, at := passage.Span{}, 0, 0
	for i := range matches {
		terms := map[string]bool{}
		w := passage.Span{Start: matches[i].Start, End: matches[i].End}
		for _, t := range matches[i:min(len(matches), i+64)] {
			if t.End-w.Start > snippetBytes {
				break
			}
			terms[t.Term] = true
			w.End = max(w.End, t.End)
		}
		if len(terms) > bestTerms {
			best, bestTerms, at = w, len(terms), i
		}
	}
	return best, at
}

// cutsBefore reports whether a snippet can begin or end before r: white space, or a character of
// unspaced.
func cutsBefore(r rune) bool {
	return unicode.IsSpace(r) || r > unicode.MaxLatin1 && unicode.In(r, querytext.Unspaced...) && !unicode.IsMark(r)
}

// widen grows a window to about snippetBytes, to the ends of words.
func widen(text string, w passage.Span) passage.Span {
	room := max(snippetBytes-(w.End-w.Start), 0)
	start, end := max(0, w.Start-room/3), min(len(text), w.End+room-room/3)
	if start > 0 {
		if i := strings.IndexFunc(text[start:w.Start], cutsBefore); i >= 0 {
			start += i
		} else {
			start = w.Start
		}
	}
	if end < len(text) {
		if i := strings.LastIndexFunc(text[w.End:end], cutsBefore); i >= 0 {
			end = w.End + i
		} else {
			end = w.End
		}
	}
	return passage.Trim(text, passage.Span{Start: start, End: end})
}

// markup returns text[s.Start:s.End] HTML-escaped with the matches inside it marked, and an
// ellipsis where it was cut.
func markup(text string, s passage.Span, matches []keyword.Token) string {
	var b strings.Builder
	if s.Start > 0 {
		b.WriteString("… ")
	}
	at := s.Start
	for _, t := range matches {
		if t.Start < at || t.End > s.End {
			continue
		}
		b.WriteString(html.EscapeString(text[at:t.Start]))
		b.WriteString("<mark>")
		b.WriteString(html.EscapeString(text[t.Start:t.End]))
		b.WriteString("</mark>")
		at = t.End
	}
	b.WriteString(html.EscapeString(text[at:s.End]))
	if s.End < len(text) {
		b.WriteString(" …")
	}
	return b.String()
}
