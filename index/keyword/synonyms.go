package keyword

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/searchd/index/keyword/analysis"
)

// Bounds on the synonyms of one query. Words beyond them are searched as they are.
const (
	maxAlternatives       = 64  // of the same words, by all rules; the first count
	maxQueryAlternatives  = 256 // of a query
	maxPhraseAlternatives = 16  // of these, phrases
)

// Synonyms are rules analysed for one language. They are safe for concurrent use.
//
//  1. Words of a query that match a rule, the most words where several match, are one term of the
//     query: its frequency in a document is the sum of those of its alternatives. It scores as if
//     texts and query had one word for all of them.
//  2. Alternatives of several words are phrases, also those that the query has itself.
//  3. Alternatives of several rules for the same words add up. They are not looked up in rules
//     again, so that rules cannot loop.
//  4. Words and phrases without terms are ignored.
type Synonyms struct {
	next  map[edge]int     // a trie of the words that rules match, from node 0
	rules map[int]*synonym // by the node of the last word
	terms map[string]bool  // in any rule's words
}

// edge leads from a node of the trie to the next.
type edge struct {
	node int
	word ruleWord
}

// ruleWord is a word that a rule matches.
type ruleWord struct {
	text   string
	offset int // position after that of the first word
}

// synonym is the meaning of certain words.
type synonym struct {
	name string // the words
	*meaning
	statistics string // its key in Statistics where that differs, as not all possible alternatives are found
}

// meaning is a set of alternatives, which synonyms share.
type meaning struct {
	key          string // identifies the alternatives; no term equals it unless it is the only one
	alternatives []alternative
}

// alternative is a term or a phrase that stands for words of a query.
type alternative struct {
	text   string // its terms
	phrase Phrase // of two terms and more
	part   string // of joined words: the word that the term stands for

	// Of a phrase that is a split word:
	without  string // the word; documents that have it do not count
	unlikely bool   // few of the documents with its terms have the phrase
	guessed  bool   // no document has the word
}

// NewSynonyms analyses rules, see [SynonymRule]. The language is one of [analysis.Languages]; "" is
// "en".
func NewSynonyms(language string, rules []string) (*Synonyms, error) {
	a, err := analysis.New(cmp.Or(language, "en"))
	if err != nil {
		return nil, err
	}
	s := &Synonyms{next: map[edge]int{}, rules: map[int]*synonym{}, terms: map[string]bool{}}
	known := map[string]*meaning{}
	for i, text := range rules {
		r, err := ParseSynonymRule(text)
		if err != nil {
			return nil, fmt.Errorf("%w: synonym rule %d is %.100q, allowed: %w", ErrOptions, i, text, err)
		}
		var to []alternative
		for _, t := range r.To {
			if alt, ok := newAlternative(a, t); ok {
				to = append(to, alt)
			}
		}
		if len(to) == 1 && len(r.From) > 1 && slices.Equal(r.From, r.To) {
			continue // all sides have the same terms
		}
		for _, f := range r.From {
			words, name := ruleWords(a, f)
			if len(words) == 0 || len(to) == 0 {
				continue
			}
			node := s.node(words)
			if s.rules[node] == nil {
				s.rules[node] = &synonym{name: name, meaning: &meaning{}}
			}
			s.rules[node].meaning = s.rules[node].with(to, known)
		}
	}
	return s, nil
}

// node returns the node of words, which it creates if there is none.
func (s *Synonyms) node(words []ruleWord) (node int) {
	for _, w := range words {
		s.terms[w.text] = true
		at, ok := s.next[edge{node, w}]
		if !ok {
			at = len(s.next) + 1
			s.next[edge{node, w}] = at
		}
		node = at
	}
	return node
}

// with returns a meaning with more alternatives, which is shared in known.
func (m *meaning) with(more []alternative, known map[string]*meaning) *meaning {
	all := slices.Clip(m.alternatives)
	for _, alt := range more {
		if len(all) < maxAlternatives && !slices.ContainsFunc(all, func(a alternative) bool { return a.text == alt.text }) {
			all = append(all, alt)
		}
	}
	texts := make([]string, len(all))
	for i, alt := range all {
		texts[i] = alt.text
	}
	slices.Sort(texts)
	key := strings.Join(texts, "\x00")
	if known[key] == nil {
		known[key] = &meaning{key, all}
	}
	return known[key]
}

// ruleWords returns the words of text, and a name that identifies them.
func ruleWords(a *analysis.Analyzer, text string) (words []ruleWord, name string) {
	tokens := a.WholeTokens(text, func(string) bool { return true })
	for _, t := range tokens {
		w := ruleWord{t.Term, t.Position - tokens[0].Position}
		words = append(words, w)
		if w.offset > 0 {
			name += strings.Repeat(" ", w.offset-words[len(words)-2].offset) // two where a word was dropped
		}
		name += w.text
	}
	return words, name
}

// newAlternative analyses an alternative. ok is false if it has no terms.
func newAlternative(a *analysis.Analyzer, text string) (alt alternative, ok bool) {
	words, name := ruleWords(a, text)
	switch len(words) {
	case 0:
		return alternative{}, false
	case 1:
		return alternative{text: words[0].text}, true
	}
	p := newPhrase(a, text)
	if p.Len() == 1 {
		return alternative{text: p.steps[0].term}, true
	}
	return alternative{text: name, phrase: p}, p.Len() > 1
}

// Reads reports whether a rule matches words that include word.
func (x *Index) Reads(s *Synonyms, word string) bool {
	if s == nil {
		return false
	}
	words, _ := ruleWords(x.analyzer, word)
	return slices.ContainsFunc(words, func(w ruleWord) bool { return s.terms[w.text] })
}

// expansion is a part of the text of a query for which alternatives are searched.
type expansion struct {
	start, end int  // bytes of the text
	parts      bool // the query also asks for parts of the word
	*synonym
}

// expansions returns the expansions of q by rules and compounds, from left to right, without
// overlap.
func (x *Index) expansions(ctx context.Context, l lexicon, q Query) ([]expansion, error) {
	out := x.ruleExpansions(q)
	more, err := x.compounds(ctx, l, q, out)
	if len(more) > 0 {
		out = append(out, more...)
		slices.SortFunc(out, func(a, b expansion) int { return cmp.Compare(a.start, b.start) })
	}
	return out, err
}

// ruleExpansions returns the expansions of q by its Synonyms.
func (x *Index) ruleExpansions(q Query) (out []expansion) {
	if q.Synonyms == nil || len(q.Synonyms.rules) == 0 {
		return nil
	}
	tokens := x.analyzer.WholeTokens(cutQuery(q.Text), func(term string) bool { return q.Synonyms.terms[term] })
	exact := x.exact(q)
	alternatives, phrases := 0, 0
	counted := map[string]bool{} // by key: a term of the query counts once
	for i := 0; i < len(tokens); {
		syn, n := q.Synonyms.match(tokens[i:], exact)
		if syn == nil {
			i++
			continue
		}
		own := 0
		for _, alt := range syn.alternatives {
			if alt.phrase.Len() > 0 {
				own++
			}
		}
		if !counted[syn.key] && alternatives+len(syn.alternatives) <= maxQueryAlternatives && phrases+own <= maxPhraseAlternatives {
			alternatives, phrases = alternatives+len(syn.alternatives), phrases+own
			counted[syn.key] = true
		}
		if counted[syn.key] {
			out = append(out, expansion{tokens[i].Start, tokens[i+n-1].End, false, syn})
		}
		i += n
	}
	return out
}

// exact returns the terms of q.Exact.
func (x *Index) exact(q Query) map[string]bool {
	exact := map[string]bool{}
	for _, text := range q.Exact {
		words, _ := ruleWords(x.analyzer, text)
		for _, w := range words {
			exact[w.text] = true
		}
	}
	return exact
}

// match returns the synonym for the most words that tokens begin with, and their number; nil if
// there is none. Words in exact do not match.
func (s *Synonyms) match(tokens []analysis.Token, exact map[string]bool) (best *synonym, words int) {
	node, ok := 0, true
	for i, t := range tokens {
		if node, ok = s.next[edge{node, ruleWord{t.Term, t.Position - tokens[0].Position}}]; !ok || exact[t.Term] {
			break
		}
		if syn := s.rules[node]; syn != nil {
			best, words = syn, i+1
		}
	}
	return best, words
}

// Expansion is a part [Start, End) of the text of a query for which several terms and phrases are
// searched.
type Expansion struct {
	Start, End   int
	Name         string        // used by [TermScore]
	Alternatives []Alternative // none if an earlier expansion has the same name
}

// Alternative is what an [Expansion] stands for: a term, or several at the distances that their
// positions have.
type Alternative struct {
	Text  string // used by [TermScore]
	Terms []Token
}

// Expand returns the parts of the text of q for which alternatives are searched, in order:
// synonyms, and words that documents write together or in parts.
func (x *Index) Expand(ctx context.Context, q Query) (out []Expansion, err error) {
	err = x.read(func(v *view) error {
		l, err := x.lexicon(v, q)
		if err != nil {
			return err
		}
		expansions, err := x.expansions(ctx, l, q)
		names := map[string]string{} // by key: equal meanings are one term of the query
		for _, e := range expansions {
			if name, seen := names[e.key]; seen {
				out = append(out, Expansion{Start: e.start, End: e.end, Name: name})
				continue
			}
			names[e.key] = e.name
			one := Expansion{Start: e.start, End: e.end, Name: e.name}
			for _, alt := range e.alternatives {
				terms := []Token{{Term: alt.text}}
				if alt.phrase.Len() > 0 {
					terms = alt.phrase.smallest()
				}
				one.Alternatives = append(one.Alternatives, Alternative{alt.text, terms})
			}
			out = append(out, one)
		}
		return err
	})
	return out, err
}
