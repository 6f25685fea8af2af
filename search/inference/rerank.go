package inference

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search/fault"
)

// Reranker judges how well a text answers a query, reading both together. Implementations are safe
// for concurrent use.
type Reranker interface {
	Score(ctx context.Context, pairs [][2]string) (*encoder.Scores, error) // of query and text
	Relevance(logit float32) float64                                       // the logit as the checkpoint wants it shown, mostly in [0,1]
	Model() RerankerInfo
}

// RerankerInfo identifies a re-ranker's checkpoint.
type RerankerInfo struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"`
	MaxTokens int    `json:"max_tokens"` // of query and text together
	Sigmoid   bool   `json:"sigmoid"`    // whether relevance is the sigmoid of the logit, or the logit itself
}

// checkpointReranker is the Reranker over a cross-encoder.
type checkpointReranker struct{ *models.Checkpoint }

// NewReranker returns the Reranker that runs a cross-encoder with one label, or one that compares
// texts token by token with a checkpoint of late interaction.
func NewReranker(c *models.Checkpoint) (Reranker, error) {
	if n := c.Info().Labels; n != 1 && !c.Info().Late {
		return nil, fmt.Errorf("checkpoint %s: its classification head has %d labels, a re-ranker has 1", c.Name, n)
	}
	return checkpointReranker{c}, nil
}

func (r checkpointReranker) Relevance(logit float32) float64 {
	if !r.Info().Sigmoid || r.Info().Late {
		return float64(logit)
	}
	return 1 / (1 + math.Exp(-float64(logit)))
}

func (r checkpointReranker) Model() RerankerInfo {
	i := r.Info()
	return RerankerInfo{Name: r.Name, SHA256: hex.EncodeToString(i.SHA256[:]), MaxTokens: r.MaxSeqLength(), Sigmoid: i.Sigmoid && !i.Late}
}

// Ranking holds the scores of some texts for a query, in the order of the texts.
type Ranking struct {
	Logits    []float32
	Relevance []float64
	Truncated []bool // query and text were longer than the checkpoint takes
	Tokens    int
	Model     RerankerInfo

	Tokenization time.Duration // that query and texts took to become tokens
}

// ErrNoReranker says that the engine was opened without one.
var ErrNoReranker = fmt.Errorf("%w: the server has no re-ranker; start it with --reranker and a cross-encoder", fault.ErrUnsupported)

// rerankPart is how many pairs are scored together: enough to sort by length, few enough to end
// soon after the client has gone.
const rerankPart = 256

// CountTokens returns how many tokens a text has, special tokens not included.
func (r checkpointReranker) CountTokens(text string) int { return r.Tokenizer().Count(text) }

// Rerank scores texts for a query. It returns [ErrNoReranker] without a re-ranker, and a
// [FieldError] of the field inputs where the texts, each with the query, have more than
// [MaxRequestTokens] tokens.
func (s *Service) Rerank(ctx context.Context, query string, texts []string) (*Ranking, error) {
	if s.reranker == nil {
		return nil, ErrNoReranker
	}
	r := &Ranking{Model: s.reranker.Model()}
	count := s.embedder.CountTokens
	if own, ok := s.reranker.(interface{ CountTokens(text string) int }); ok {
		count = own.CountTokens
	}
	if err := checkRequest(ctx, texts, count(query)+1, r.Model.MaxTokens, count); err != nil {
		return nil, err
	}
	for from := 0; from < len(texts); from += rerankPart {
		texts := texts[from:min(from+rerankPart, len(texts))]
		pairs := make([][2]string, len(texts))
		for i, t := range texts {
			pairs[i] = [2]string{query, t}
		}
		part, err := s.Score(ctx, pairs)
		if err != nil {
			return nil, err
		}
		r.Logits, r.Truncated = append(r.Logits, part.Logits...), append(r.Truncated, part.Truncated...)
		r.Tokens += part.Tokens
		r.Tokenization += part.Tokenization
	}
	r.Relevance = make([]float64, len(r.Logits))
	for i, x := range r.Logits {
		r.Relevance[i] = s.reranker.Relevance(x)
	}
	return r, nil
}

// Score returns the scores of pairs, all of them numbers.
func (s *Service) Score(ctx context.Context, pairs [][2]string) (*encoder.Scores, error) {
	scores, err := s.reranker.Score(ctx, pairs)
	if err != nil {
		return nil, fmt.Errorf("re-ranking %d pairs: %w", len(pairs), err)
	}
	for i, x := range scores.Logits {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("re-ranking: the checkpoint gives pair %d the score %v", i, x)
		}
	}
	return scores, nil
}
