package settings

import (
	"cmp"
	"fmt"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/fault"
)

// MaxDimension bounds the components of given vectors.
const MaxDimension = 8192

// givenEfConstruction is the default of index.ef_construction where vectors are given: the graph is
// most of their import, and is built twice as fast as with the usual one. Searches look a little
// further for the same recall.
const givenEfConstruction = 64

// Sources of vectors.
const (
	Given = "given" // they come with the documents and the queries
)

// Embedder says where the vectors of a collection come from, if not from the server's model.
type Embedder struct {
	Source    string `json:"source"`              // given
	Dimension int    `json:"dimension,omitempty"` // components of each vector
}

// GivenVectors reports whether vectors come with the documents and the queries.
func (s Settings) GivenVectors() bool { return s.Embedder != nil && s.Embedder.Source == Given }

// EfConstruction returns index.ef_construction or its default.
func (s Settings) EfConstruction() int {
	if n := s.Index.EfConstruction; n != 0 || !s.GivenVectors() {
		return cmp.Or(n, hnsw.DefaultEfConstruction)
	}
	return givenEfConstruction
}

// name is the embedder in a message.
func (e *Embedder) name() string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%s, %d", e.Source, e.Dimension)
}

// checkEmbedder names what is wrong with the embedder.
func (s Settings) checkEmbedder(wrong *fault.Fields) {
	e := s.Embedder
	if e == nil {
		return
	}
	if e.Source != Given {
		wrong.Add("embedder.source", e.Source, Given)
	}
	if e.Dimension < 1 || e.Dimension > MaxDimension {
		wrong.Add("embedder.dimension", e.Dimension, fmt.Sprintf("1 to %d, the number of components of each vector", MaxDimension))
	}
}
