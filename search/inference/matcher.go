package inference

import (
	"searchd/index/lsi"
	"searchd/index/maxsim"
)

// Matcher is an [Embedder] whose checkpoint can compare texts token by token, too.
type Matcher interface {
	// TokenTable returns the vectors of single tokens; nil where the checkpoint has none.
	TokenTable() *maxsim.Table
	// Tokens returns the ids of a text, special tokens not included.
	Tokens(text string) []int32
	// Terms returns which tokens are the same term in a language; nil where that is not known.
	Terms(language string) *lsi.Terms
}

// Speller is an [Embedder] that knows which words are spelled right.
type Speller interface {
	Knows(word string) bool
}

// Terms returns which tokens are the same term in a language; nil where that is not known.
func (e *Encoding) Terms(language string) *lsi.Terms {
	if t, ok := e.vocabulary.Load(language); ok {
		return t.(*lsi.Terms)
	}
	t := e.Matcher().Terms(language)
	e.vocabulary.Store(language, t)
	return t
}
