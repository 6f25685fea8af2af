package keyword

import (
	"iter"
	"maps"
	"strings"

	"example.com/searchd/index/keyword/analysis"
)

// Token is a term of a text and the bytes [Start, End) of the text that it stands for. It takes the
// positions [Position, Next), which count the smallest words of the text. The tokens of a word can
// overlap: the word and its parts.
type Token struct {
	Term       string
	Start, End int
	Position   int
	Next       int
	Covered    bool // indexed, but not asked for by queries: a part of another token
	Name       bool // a name whose words are tokens too, such as os.path.join
	Common     bool // a stop word: asked for where a query has no other words
}

// Analysis analyses texts as the indexes of a language do. It is safe for concurrent use.
type Analysis struct{ analyzer *analysis.Analyzer }

// NewAnalysis returns the analysis of a language, one of [analysis.Languages]; "" is "en". It
// returns ErrOptions for any other.
func NewAnalysis(language string) (*Analysis, error) {
	o, err := Options{Language: language}.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := analysis.New(o.Language)
	if err != nil {
		return nil, err
	}
	return &Analysis{a}, nil
}

// Terms is a set of terms to look for in texts.
type Terms struct {
	all   map[string]bool
	among analysis.Terms
}

// NewTerms returns a set of terms.
func NewTerms(terms iter.Seq[string]) *Terms {
	t := &Terms{all: map[string]bool{}}
	for term := range terms {
		t.all[term] = true
	}
	t.among = analysis.NewTerms(maps.Keys(t.all))
	return t
}

// Occurrences returns the tokens of text in order: those whose terms are wanted, or all if it is
// nil.
func (a *Analysis) Occurrences(text string, wanted *Terms) (tokens []Token) {
	var among analysis.Terms
	if wanted != nil {
		among = wanted.among
	}
	for t := range a.analyzer.TokensAmong(text, among) {
		if term := strings.TrimPrefix(t.Term, analysis.StopPrefix); wanted == nil || wanted.all[term] {
			tokens = append(tokens, Token{
				Term: term, Start: t.Start, End: t.End, Position: t.Position, Next: t.Next,
				Covered: t.Kind == analysis.Single || t.Kind == analysis.Part, Name: t.Kind == analysis.Name, Common: t.Kind == analysis.Stop,
			})
		}
	}
	return tokens
}
