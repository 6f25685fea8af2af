package analysis

import (
	"bytes"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
)

// markStops is a token filter that turns stop words into terms of their own kind and passes the
// other words to rest, filters that neither add nor remove tokens.
type markStops struct {
	stop    *stop.StopTokensFilter
	accents foldAccents
	rest    []analysis.TokenFilter
}

// Filter implements analysis.TokenFilter.
func (m markStops) Filter(input analysis.TokenStream) analysis.TokenStream {
	others := m.stop.Filter(append(analysis.TokenStream(nil), input...))
	output, next := input[:0], 0
	for _, t := range input {
		switch {
		case next < len(others) && others[next] == t:
			next++
		case t.Type == nameType: // such as I.T.
			continue
		default:
			t.Type = stopType
			t.Term = append([]byte(StopPrefix), m.accents.fold(t.Term)...)
		}
		output = append(output, t)
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
