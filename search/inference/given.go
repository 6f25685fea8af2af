package inference

import (
	"context"
	"fmt"

	"example.com/searchd/models"
	"example.com/searchd/search/fault"
)

// givenName stands for a checkpoint's name and checksum where vectors come with the documents.
const givenName = "given"

// Limits of passages where vectors are given: nothing encodes them.
const (
	givenTokens        = 8192
	givenPassageTokens = 512
)

// GivenModel describes the vectors of a collection that come with its documents.
func GivenModel(dimension int) ModelInfo {
	return ModelInfo{Name: givenName, SHA256: givenName, Dimension: dimension, Pooling: "none", MaxTokens: givenTokens, PassageTokens: givenPassageTokens}
}

// Given reports whether the vectors come with the documents.
func (m ModelInfo) Given() bool { return m.SHA256 == givenName }

// given is the [Embedder] of collections whose vectors come with documents and queries: it encodes
// nothing.
type given struct{ dimension int }

// Embed implements [Embedder].
func (given) Embed(context.Context, []string, EmbedOptions) (*Embeddings, error) {
	return nil, fmt.Errorf("%w: the vectors of this collection are given, so texts cannot be encoded", fault.ErrUnsupported)
}

// CountTokens implements [Embedder]. It is an estimate: a token of English has four letters.
func (given) CountTokens(text string) int { return (len(text) + 3) / 4 }

// Model implements [Embedder].
func (g given) Model() ModelInfo { return GivenModel(g.dimension) }

// Calibration implements [Embedder].
func (given) Calibration() models.Calibration { return models.Calibration{} }

// Given reports whether queries have to bring their vectors.
func (e *Encoding) Given() bool { return e.Embedder.Model().Given() }

// Calibrated reports whether the cosine of unrelated texts is known. Else it is estimated for each
// query.
func (e *Encoding) Calibrated() bool { return !e.Given() && !isRemote(e.Embedder) }

// Remote is an [Embedder] that encodes on another machine: bulk work need not give way to searches.
type Remote interface{ Elsewhere() }

func isRemote(e Embedder) bool {
	_, ok := e.(Remote)
	return ok
}
