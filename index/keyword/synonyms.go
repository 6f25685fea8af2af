package keyword

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Bounds of the synonyms of one query. What goes beyond is searched for as it stands.
const (
	maxAlternatives = 64  // of the same words, by all rules; of more the first
	maxExpanded     = 256 // alternatives of a query
	maxTogether     = 16  // of them with several words
)

// Synonyms are rules analysed for one language. They are safe for concurrent use.
//
//  1. Words of a query that a rule has, the most where several rules fit, are one term of the
//     query: a document has it where it has one of the alternatives, as often as it has them all
//     together. So it is scored as though texts and query had one word for all of them.
//  2. Alternatives of several words are phrases, also those that the query has itself.
//  3. What rules say of the same words adds up. What a rule gives is not looked up again, so that
//     no rules go in circles.
//  4. Words and phrases of which the analysis leaves nothing are left out.
type Synonyms struct {
	next  map[read]int     // a tree of the words that rules read, from node 0
	read  map[int]*synonym // by the node of its last word
	terms map[string]bool  // that any rule reads
}

// read leads from a node to that of one more word.
type read struct {
	node int
	word ruleWord
}

// ruleWord is a word that a rule reads.
type ruleWord struct {
	text   string
	offset int // from the position of the first word
}

// synonym is what certain words are read as.
type synonym struct {
	name string // the words
	*meaning
	widest string // the key of what they may be read as, whatever documents have; empty: its own
}

// meaning is shared by the synonyms that have it.
type meaning struct {
	key          string // tells it from others, and from terms that it is not
	alternatives []alternative
}

// alternative is what stands for words of a query.
type alternative struct {
	text   string // its terms
	phrase Phrase // of two terms and more
	part   string // it is a term from breaks: the one of its parts that it stands for

	without string // it is a phrase from breaks: the word that it stands for; documents with the word do not count
	seldom  bool   // and few of the documents that have its terms will have it
	guessed bool   // and no document has the word
}

// NewSynonyms analyses rules, see [SynonymRule]. The language is one of [Languages]; "" is "en".
func NewSynonyms(language string, rules []string) (*Synonyms, error) {
	a, err := newAnalyzer(cmp.Or(language, "en"))
	if err != nil {
		return nil, err
	}
	s := &Synonyms{next: map[read]int{}, read: map[int]*synonym{}, terms: map[string]bool{}}
	known := map[string]*meaning{}
	for i, text := range rules {
		r, err := ParseSynonymRule(text)
		if err != nil {
			return nil, fmt.Errorf("%w: synonym rule %d is %.100q, allowed: %w", ErrOptions, i, text, err)
		}
		var to []alternative
		for _, t := range r.To {
			if alt, ok := a.alternative(t); ok {
				to = append(to, alt)
			}
		}
		if len(to) == 1 && len(r.From) > 1 && slices.Equal(r.From, r.To) {
			continue // it would be read as itself
		}
		for _, f := range r.From {
			words, name := a.words(f)
			if len(words) == 0 || len(to) == 0 {
				continue
			}
			node := s.node(words)
			if s.read[node] == nil {
				s.read[node] = &synonym{name: name, meaning: &meaning{}}
			}
			s.read[node].meaning = s.read[node].with(to, known)
		}
	}
	return s, nil
}

// node returns the node of words, which it makes where there is none.
func (s *Synonyms) node(words []ruleWord) (node int) {
	for _, w := range words {
		s.terms[w.text] = true
		at, ok := s.next[read{node, w}]
		if !ok {
			at = len(s.next) + 1
			s.next[read{node, w}] = at
		}
		node = at
	}
	return node
}

// with returns a meaning with more alternatives, one of known where that has these.
func (m *meaning) with(more []alternative, known map[string]*meaning) *meaning {
	all := slices.Clip(m.alternatives)
	for _, alt := range more {
		if len(all) < maxAlternatives && !slices.ContainsFunc(all, func(has alternative) bool { return has.text == alt.text }) {
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

// words returns the terms of text that are no part of another one with their distances, and a name
// that tells them from others.
func (a analyzer) words(text string) (words []ruleWord, name string) {
	tokens := a.outer(text, func(string) bool { return true })
	for _, t := range tokens {
		w := ruleWord{t.term, t.position - tokens[0].position}
		words = append(words, w)
		if w.offset > 0 {
			name += strings.Repeat(" ", w.offset-words[len(words)-2].offset) // where a word was dropped there are two
		}
		name += w.text
	}
	return words, name
}

// outer returns the terms of text that are no part of another one: os.path.join without its words,
// where asName wants it so, GitHub without Git and Hub.
func (a analyzer) outer(text string, asName func(term string) bool) (out []token) {
	a.each(text, func(t token) bool {
		if n := len(out); (t.kind == plainTerm || t.kind == nameTerm && asName(t.term)) && (n == 0 || t.start < out[n-1].start || t.end > out[n-1].end) {
			out = append(out, t)
		}
		return true
	})
	return out
}

// alternative analyses what stands for words; false where nothing of it is left.
func (a analyzer) alternative(text string) (alternative, bool) {
	words, name := a.words(text)
	switch len(words) {
	case 0:
		return alternative{}, false
	case 1:
		return alternative{text: words[0].text}, true
	}
	p := a.phrase(text)
	if p.Len() == 1 {
		return alternative{text: p.steps[0].term}, true
	}
	return alternative{text: name, phrase: p}, p.Len() > 1
}

// Reads says whether a rule has the word among those that it reads.
func (x *Index) Reads(s *Synonyms, word string) bool {
	if s == nil {
		return false
	}
	words, _ := x.analyzer.words(word)
	return slices.ContainsFunc(words, func(w ruleWord) bool { return s.terms[w.text] })
}

// expansion is a part of a query that a synonym stands for, or what documents write in its place.
type expansion struct {
	start, end int  // bytes of the text
	parts      bool // of a word that has parts, which are asked for beside it
	*synonym
}

// expansions returns the parts of the text of q that are read as others, from the left, without
// overlap.
func (x *Index) expansions(ctx context.Context, l lexicon, q Query) ([]expansion, error) {
	out := x.ruled(q)
	more, err := x.breaks(ctx, l, q, out)
	if len(more) > 0 {
		out = append(out, more...)
		slices.SortFunc(out, func(a, b expansion) int { return cmp.Compare(a.start, b.start) })
	}
	return out, err
}

// ruled returns the parts of the text of q for which there are synonyms, from the left, without
// overlap.
func (x *Index) ruled(q Query) (out []expansion) {
	if q.Synonyms == nil || len(q.Synonyms.read) == 0 {
		return nil
	}
	tokens := x.analyzer.outer(cutQuery(q.Text), func(term string) bool { return q.Synonyms.terms[term] })
	exact := x.exact(q)
	expanded, together := 0, 0
	counted := map[string]bool{} // by key: a term of the query counts once
	for i := 0; i < len(tokens); {
		syn, n := q.Synonyms.at(tokens[i:], exact)
		if syn == nil {
			i++
			continue
		}
		phrases := 0
		for _, alt := range syn.alternatives {
			if alt.phrase.Len() > 0 {
				phrases++
			}
		}
		if !counted[syn.key] && expanded+len(syn.alternatives) <= maxExpanded && together+phrases <= maxTogether {
			expanded, together = expanded+len(syn.alternatives), together+phrases
			counted[syn.key] = true
		}
		if counted[syn.key] {
			out = append(out, expansion{tokens[i].start, tokens[i+n-1].end, false, syn})
		}
		i += n
	}
	return out
}

// exact returns the terms of the words of q that are read as no others.
func (x *Index) exact(q Query) map[string]bool {
	exact := map[string]bool{}
	for _, text := range q.Exact {
		words, _ := x.analyzer.words(text)
		for _, w := range words {
			exact[w.text] = true
		}
	}
	return exact
}

// at returns the synonym of the most words that tokens begin with, and how many these are; nil for
// none. Words of exact have none.
func (s *Synonyms) at(tokens []token, exact map[string]bool) (best *synonym, words int) {
	node, ok := 0, true
	for i, t := range tokens {
		if node, ok = s.next[read{node, ruleWord{t.term, t.position - tokens[0].position}}]; !ok || exact[t.term] {
			break
		}
		if syn := s.read[node]; syn != nil {
			best, words = syn, i+1
		}
	}
	return best, words
}

// Expansion is a part [Start, End) of the text of a query that is read as any of several terms and
// phrases.
type Expansion struct {
	Start, End   int
	Name         string        // by which [TermScore] calls it
	Alternatives []Alternative // none where an earlier one has the name: they are the same
}

// Alternative is what an [Expansion] is read as: a term, or several at the distances that their
// positions have.
type Alternative struct {
	Text  string // by which [TermScore] calls it
	Terms []Token
}

// Expand returns the parts of the text of q that are read as others, in order: for their synonyms,
// or as documents write them.
func (x *Index) Expand(ctx context.Context, q Query) (out []Expansion, err error) {
	err = x.read(func(v *view) error {
		l, err := x.lexicon(v, q)
		if err == nil {
			out, err = x.expand(ctx, l, q)
		}
		return err
	})
	return out, err
}

// expand is Expand with a lexicon.
func (x *Index) expand(ctx context.Context, l lexicon, q Query) (out []Expansion, err error) {
	expansions, err := x.expansions(ctx, l, q)
	first := map[string]string{} // name by key: equal ones are one term of the query
	for _, e := range expansions {
		if name, seen := first[e.key]; seen {
			out = append(out, Expansion{Start: e.start, End: e.end, Name: name})
			continue
		}
		first[e.key] = e.name
		one := Expansion{Start: e.start, End: e.end, Name: e.name}
		for _, alt := range e.alternatives {
			terms := []Token{{Term: alt.text}}
			if alt.phrase.Len() > 0 {
				terms = alt.phrase.path()
			}
			one.Alternatives = append(one.Alternatives, Alternative{alt.text, terms})
		}
		out = append(out, one)
	}
	return out, err
}
