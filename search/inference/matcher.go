package inference

import "example.com/searchd/index/maxsim"

// Matcher is an [Embedder] whose checkpoint can compare texts token by token, too.
type Matcher interface {
	// TokenTable returns the vectors of single tokens; nil where the checkpoint has none.
	TokenTable() *maxsim.Table
	// Tokens returns the ids of a text, special tokens not included.
	Tokens(text string) []int32
}

// Speller is an [Embedder] that knows which words are spelled right.
type Speller interface {
	Knows(word string) bool
}
