package search

import (
	"example.com/searchd/models"
	"example.com/searchd/search/inference"
)

// What turns texts into vectors is in package inference.
type (
	Embedder         = inference.Embedder
	EmbedOptions     = inference.EmbedOptions
	Embeddings       = inference.Embeddings
	ModelInfo        = inference.ModelInfo
	Matcher          = inference.Matcher
	Reader           = inference.Reader
	Speller          = inference.Speller
	Reranker         = inference.Reranker
	RerankerInfo     = inference.RerankerInfo
	Ranking          = inference.Ranking
	SparseEncoder    = inference.SparseEncoder
	EncoderInfo      = inference.EncoderInfo
	EncoderStats     = inference.EncoderStats
	CacheStats       = inference.CacheStats
	Histogram        = inference.Histogram
	Token            = inference.Token
	Tokenization     = inference.Tokenization
	TokenVectors     = inference.TokenVectors
	Attention        = inference.Attention
	AttentionOptions = inference.AttentionOptions
	Contribution     = inference.Contribution
)

// Values of package inference.
const (
	PromptDefault      = inference.PromptDefault
	PromptNone         = inference.PromptNone
	MaxBatchTokens     = inference.MaxBatchTokens
	MaxTokenValues     = inference.MaxTokenValues
	MaxRequestTokens   = inference.MaxRequestTokens
	MaxAttentionTokens = inference.MaxAttentionTokens
	MaxMapTokens       = inference.MaxMapTokens
)

// ErrNoReranker says that the engine was opened without a re-ranker.
var ErrNoReranker = inference.ErrNoReranker

// NewReranker returns the Reranker that runs a cross-encoder with one label.
func NewReranker(c *models.Checkpoint) (Reranker, error) { return inference.NewReranker(c) }
