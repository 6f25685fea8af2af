package keyword

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
)

// commonWord is the type of stop words.
const commonWord = analysis.TokenType(66)

// commonWords is a token filter that marks stop words, see [Token], and passes the others to the
// filters behind it, which change terms and neither add nor remove any.
type commonWords struct {
	stop   *stop.StopTokensFilter
	accent foldAccents
	rest   []analysis.TokenFilter
}

// Filter implements analysis.TokenFilter.
func (c commonWords) Filter(input analysis.TokenStream) analysis.TokenStream {
	others := c.stop.Filter(append(analysis.TokenStream(nil), input...))
	output, next := input[:0], 0
	for _, t := range input {
		switch {
		case next < len(others) && others[next] == t:
			next++
		case t.Type == wholeName: // as I.T.
			continue
		default:
			t.Type = commonWord
			t.Term = append([]byte(commonMark), c.accent.fold(t.Term)...)
		}
		output = append(output, t)
	}
	for _, f := range c.rest {
		others = f.Filter(others)
	}
	return output
}

// stemmer is a token filter that keeps, behind the stem, the word that it was given where the two
// differ.
type stemmer struct{ filters []analysis.TokenFilter }

// wordMark is between a stem and its word.
const wordMark = 0

// Filter implements analysis.TokenFilter.
func (s stemmer) Filter(input analysis.TokenStream) analysis.TokenStream {
	words := make([]string, len(input))
	for i, t := range input {
		words[i] = string(t.Term)
	}
	for _, f := range s.filters {
		input = f.Filter(input)
	}
	for i, t := range input {
		if string(t.Term) != words[i] {
			t.Term = append(append(bytes.Clone(t.Term), wordMark), words[i]...)
		}
	}
	return input
}

// withCommon returns the filters of an analyzer with commonWords in the place of bleve's filter of
// stop words, and with stemmer around those that stem.
func withCommon(language string, filters []analysis.TokenFilter) (out []analysis.TokenFilter) {
	for i := 0; i < len(filters); i++ {
		n := i
		for n < len(filters) && isStemmer(filters[n]) {
			n++
		}
		if n > i {
			out = append(out, stemmer{filters[i:n]})
			i = n - 1
			continue
		}
		if s, ok := filters[i].(*stop.StopTokensFilter); ok {
			return append(out, commonWords{s, foldAccents{keptLetters[language]}, withCommon(language, filters[i+1:])})
		}
		out = append(out, filters[i])
	}
	return out
}

// isStemmer says whether a filter is one of bleve's that take the ends off words.
func isStemmer(f analysis.TokenFilter) bool {
	name := fmt.Sprintf("%T", f)
	return strings.Contains(name, "Stem") || strings.Contains(name, "Suffix")
}
