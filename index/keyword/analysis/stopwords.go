package analysis

import (
	"bytes"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	"github.com/blevesearch/bleve/v2/registry"
)

// markStops is a token filter that turns stop words into terms of their own kind and passes the
// other words to rest, filters that neither add nor remove tokens.
//
// A contraction among the stop words also gets the term of its letters, and these letters get the
// term of the contraction: don't and dont find each other.
type markStops struct {
	stop         *stop.StopTokensFilter
	contractions map[string]string // see contractionsOf
	accents      foldAccents
	rest         []analysis.TokenFilter
}

// contractionsOf returns the stop words with an apostrophe of a language by their letters: don't by
// dont, that's by thats. Those with d and ll after it are left out, because their letters often are
// another word: id, shell. The value is the term of the stop word, without a possessive s.
func contractionsOf(cache *registry.Cache, language string) map[string]string {
	words, err := cache.TokenMapNamed("stop_" + language)
	if err != nil { // the language has no stop words
		return nil
	}
	out := map[string]string{}
	for w := range words {
		before, after, ok := strings.Cut(w, "'")
		if !ok || before == "" || after == "" || after == "d" || after == "ll" || words[before+after] {
			continue
		}
		out[before+after] = before + after
		if after == "s" && words[before] {
			out[before+after] = before
		}
	}
	return out
}

// Filter implements analysis.TokenFilter.
func (m markStops) Filter(input analysis.TokenStream) analysis.TokenStream {
	others := m.stop.Filter(append(analysis.TokenStream(nil), input...))
	output, next := make(analysis.TokenStream, 0, len(input)), 0
	part := func(t *analysis.Token, term string) *analysis.Token {
		p := &analysis.Token{Term: []byte(term), Start: t.Start, End: t.End, Position: t.Position, Type: partType}
		output = append(output, p)
		return p
	}
	for _, t := range input {
		switch {
		case next < len(others) && others[next] == t:
			next++
			output = append(output, t)
			if stop, ok := m.contractions[string(t.Term)]; ok && t.Type != nameType {
				part(t, StopPrefix+stop)
			}
		case t.Type == nameType: // such as I.T.
		default:
			term := string(m.accents.fold(t.Term))
			letters := term
			if t.End-t.Start > len(t.Term)+1 && bytes.IndexByte(t.Term, '\'') < 0 { // without its possessive s
				letters += "s"
			}
			t.Type, t.Term = stopType, []byte(StopPrefix+term)
			output = append(output, t)
			if m.contractions[letters] == term {
				others = append(others, part(t, letters))
			}
		}
	}
	for _, f := range m.rest {
		others = f.Filter(others)
	}
	return output
}

// keepWord is a token filter that runs stemmers and appends the word to the stem if they differ.
type keepWord struct{ stemmers []analysis.TokenFilter }

// wordSeparator is between a stem and its word.
const wordSeparator = 0

// Filter implements analysis.TokenFilter.
func (k keepWord) Filter(input analysis.TokenStream) analysis.TokenStream {
	words := make([]string, len(input))
	for i, t := range input {
		words[i] = string(t.Term)
	}
	for _, f := range k.stemmers {
		input = f.Filter(input)
	}
	for i, t := range input {
		if string(t.Term) != words[i] {
			t.Term = append(append(bytes.Clone(t.Term), wordSeparator), words[i]...)
		}
	}
	return input
}
