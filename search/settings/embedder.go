package settings

import (
	"cmp"
	"fmt"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/embedder"
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

// Embedder says where the vectors of a collection come from, if not from the server's model: from
// the documents, or from another server.
type Embedder = embedder.Config

// GivenVectors reports whether vectors come with the documents and the queries.
func (s Settings) GivenVectors() bool { return s.Embedder != nil && s.Embedder.Source == Given }

// RemoteEmbedder returns the server that encodes; nil: none.
func (s Settings) RemoteEmbedder() *Embedder {
	if s.GivenVectors() {
		return nil
	}
	return s.Embedder
}

// EfConstruction returns index.ef_construction or its default.
func (s Settings) EfConstruction() int {
	if n := s.Index.EfConstruction; n != 0 || !s.GivenVectors() {
		return cmp.Or(n, hnsw.DefaultEfConstruction)
	}
	return givenEfConstruction
}

// identity is what decides the vectors of an embedder; empty: the server's model does.
func identity(e *Embedder) string {
	if e == nil {
		return ""
	}
	return e.Identity()
}

// checkEmbedder names what is wrong with the embedder.
func (s Settings) checkEmbedder(wrong *fault.Fields) {
	e := s.Embedder
	if e == nil {
		return
	}
	if e.Dimension < 1 || e.Dimension > MaxDimension {
		wrong.Add("embedder.dimension", e.Dimension, fmt.Sprintf("1 to %d, the number of components of each vector", MaxDimension))
	}
	if e.Source != Given {
		for _, f := range e.Faults() {
			wrong.Add("embedder."+f.Field, f.Value, f.Allowed)
		}
		return
	}
	if *e != (Embedder{Source: Given, Dimension: e.Dimension}) {
		wrong.Add("embedder.source", Given, "alone with dimension: nobody is asked for vectors that are given")
	}
}
