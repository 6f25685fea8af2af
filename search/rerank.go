package search

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"searchd/encoder"
	"searchd/models"
	"searchd/search/backend"
	"searchd/search/mapping"
)

// Reranker judges how well a text answers a query, reading both together. Implementations are safe for concurrent use.
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

// NewReranker returns the Reranker that runs a cross-encoder with one label.
func NewReranker(c *models.Checkpoint) (Reranker, error) {
	if n := c.Info().Labels; n != 1 {
		return nil, fmt.Errorf("checkpoint %s: its classification head has %d labels, a re-ranker has 1", c.Name, n)
	}
	return checkpointReranker{c}, nil
}

func (r checkpointReranker) Relevance(logit float32) float64 {
	if !r.Info().Sigmoid {
		return float64(logit)
	}
	return 1 / (1 + math.Exp(-float64(logit)))
}

func (r checkpointReranker) Model() RerankerInfo {
	i := r.Info()
	return RerankerInfo{Name: r.Name, SHA256: hex.EncodeToString(i.SHA256[:]), MaxTokens: r.MaxSeqLength(), Sigmoid: i.Sigmoid}
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
var ErrNoReranker = fmt.Errorf("%w: the server has no re-ranker; start it with --reranker and a cross-encoder", ErrUnsupported)

// rerankPart is how many pairs are scored together: enough to sort by length, few enough to end soon after the client has gone.
const rerankPart = 256

// Rerank scores any number of texts for a query. It returns [ErrNoReranker] without a re-ranker.
func (e *Engine) Rerank(ctx context.Context, query string, texts []string) (*Ranking, error) {
	if e.reranker == nil {
		return nil, ErrNoReranker
	}
	r := &Ranking{Model: e.reranker.Model()}
	for from := 0; from < len(texts); from += rerankPart {
		part := texts[from:min(from+rerankPart, len(texts))]
		pairs := make([][2]string, len(part))
		for i, t := range part {
			pairs[i] = [2]string{query, t}
		}
		s, err := e.score(ctx, pairs)
		if err != nil {
			return nil, err
		}
		r.Logits, r.Truncated = append(r.Logits, s.Logits...), append(r.Truncated, s.Truncated...)
		r.Tokens += s.Tokens
		r.Tokenization += s.Tokenization
	}
	r.Relevance = make([]float64, len(r.Logits))
	for i, x := range r.Logits {
		r.Relevance[i] = e.reranker.Relevance(x)
	}
	return r, nil
}

// score returns the scores of pairs, all of them numbers.
func (e *Engine) score(ctx context.Context, pairs [][2]string) (*encoder.Scores, error) {
	s, err := e.reranker.Score(ctx, pairs)
	if err != nil {
		return nil, fmt.Errorf("re-ranking %d pairs: %w", len(pairs), err)
	}
	for i, x := range s.Logits {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("re-ranking: the checkpoint gives pair %d the score %v", i, x)
		}
	}
	return s, nil
}

// rerankShare is the part of the time that is left which re-ranking may take; the rest is for fetching and encoding the answer.
const rerankShare = 0.8

// rerank puts the first candidates into the order of the cross-encoder, which reads the query with the best passage of each, or with the
// strings of a document that has none. Only these can be on a page. Where it fails or takes too long the fused order stays, and the answer
// says so.
func (s *search) rerank(ctx context.Context) error {
	limited, cancel := share(ctx, rerankShare)
	defer cancel()
	if n := s.plan.RerankWindow; n < len(s.candidates) {
		s.candidates = s.candidates[:n]
	}
	pairs, at, err := s.pairs(ctx)
	if err != nil || len(pairs) == 0 {
		return err
	}
	scores, err := s.engine.score(limited, pairs)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		s.degrade("re-ranking took too long: the order is that before it")
		return nil
	default:
		s.degrade("re-ranking failed: the order is that before it")
		return nil
	}
	for i, x := range scores.Logits {
		c := &s.candidates[at[i]]
		c.rerank = &RerankExplain{Logit: float64(x), Relevance: s.engine.reranker.Relevance(x), RankBefore: at[i] + 1, ScoreBefore: c.score, Window: s.plan.RerankWindow}
		c.score = c.rerank.Relevance
	}
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return c.rerank == nil }) // deleted since they were found
	slices.SortStableFunc(s.candidates, func(a, b candidate) int { return cmp.Compare(b.rerank.Logit, a.rerank.Logit) })
	if len(s.plan.boosts) > 0 {
		s.raise()
	}
	return nil
}

// pairs returns the query with what stands for each candidate that is still there; pairs[i] belongs to s.candidates[at[i]].
func (s *search) pairs(ctx context.Context) (pairs [][2]string, at []int, err error) {
	refs := make([]backend.Ref, len(s.candidates))
	for i, c := range s.candidates {
		refs[i] = c.ref
	}
	var docs []*backend.Document
	cosines := make([][]float64, 0, len(refs))
	err = backend.FetchPages(ctx, s.engine.backend, backend.FetchRequest{Collection: s.collection, Refs: refs, Vector: s.vector}, func(_ []backend.Ref, page backend.FetchResponse) error {
		docs, cosines = append(docs, page.Documents...), append(cosines, page.Cosines...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var m *marker
	var phrases []phrase
	if s.vector == nil {
		cosines = make([][]float64, len(refs))
		if m, err = s.newMarker(ctx); err != nil {
			return nil, nil, err
		}
		phrases = s.phrases()
	}
	for i, d := range docs {
		if d == nil {
			continue
		}
		parts, err := s.record.Settings.Fields.SplitStored(d.Fields)
		if err != nil {
			return nil, nil, err
		}
		var texts []PassageHit
		for _, p := range d.Passages {
			texts = append(texts, passageHit(parts, p))
		}
		m.next()
		best := bestPassages(texts, cosines[i], 1)
		if m != nil && len(texts) > 1 {
			if best, err = s.covering(ctx, m, phrases, refs[i], parts, texts, 1); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case len(best) > 0:
			pairs, at = append(pairs, [2]string{s.plan.text.Text, s.titled(parts, texts[best[0]])}), append(at, i)
		case len(parts.Words) > 0:
			pairs, at = append(pairs, [2]string{s.plan.text.Text, aside(parts)}), append(at, i)
		}
	}
	return pairs, at, nil
}

// asideBytes is how much a cross-encoder is given of the strings of a document without passages.
const asideBytes = 4 << 10

// aside returns the strings by which a document without passages is found, one per line.
func aside(parts mapping.Parts) string {
	var b strings.Builder
	for _, f := range parts.Words {
		if b.Len() > asideBytes {
			break
		}
		b.WriteString(f.Text[:runeEnd(f.Text, min(len(f.Text), asideBytes))])
		b.WriteByte('\n')
	}
	return b.String()
}

// titled returns a passage behind its document's title, as ingest encodes it: a long title is cut, so that it does not push the passage out of what the
// cross-encoder takes. Tokens are counted by the checkpoint of the search, which in keyword mode may be another than the collection's.
func (s *search) titled(parts mapping.Parts, p PassageHit) string {
	return behindTitle(s.record.encodedTitle(parts.TitleOver(p.Field), s.encoding.embedder.CountTokens), p.Text)
}
