package client

import (
	"context"
	"fmt"
	"net/http"
)

// RerankOptions say what Rerank answers. The zero value answers all texts with the checkpoint's
// relevance.
type RerankOptions struct {
	TopN int  // only the best; 0: all
	Raw  bool // the cross-encoder's raw output instead of the relevance
}

// Ranked is one text of a ranking.
type Ranked struct {
	Index int     `json:"index"` // into the texts
	Score float64 `json:"relevance_score"`
}

// Rerank ranks at most 10000 texts by how well they answer a query, best first. Without a re-ranker
// the server answers an [*Error] with the code not_supported.
func (c *Client) Rerank(ctx context.Context, query string, texts []string, o RerankOptions) ([]Ranked, error) {
	body := map[string]any{"query": query, "documents": texts}
	if o.TopN > 0 {
		body["top_n"] = o.TopN
	}
	if o.Raw {
		body["raw_scores"] = true
	}
	var out struct {
		Results []Ranked `json:"results"`
	}
	q, want := call{method: http.MethodPost, path: "/v1/rerank", effect: reads}, len(texts)
	if o.TopN > 0 {
		want = min(want, o.TopN)
	}
	if err := c.send(ctx, q, body, &out); err != nil {
		return nil, err
	}
	for _, r := range out.Results {
		if r.Index < 0 || r.Index >= len(texts) {
			return nil, fmt.Errorf("client: %s %s: answer: text %d of %d", q.method, q.path, r.Index, len(texts))
		}
	}
	return out.Results, q.counted(len(out.Results), want)
}

// Token is a token of a text; Start and Stop count characters and are absent where the checkpoint's
// template put the token there.
type Token struct {
	ID      int32  `json:"id"`
	Text    string `json:"text"`
	Special bool   `json:"special"`
	Start   *int   `json:"start"`
	Stop    *int   `json:"stop"`
}

// Tokenize cuts texts into the tokens of the server's checkpoint, special tokens included.
func (c *Client) Tokenize(ctx context.Context, texts []string) ([][]Token, error) {
	var out [][]Token
	q := call{method: http.MethodPost, path: "/tokenize", effect: reads}
	err := c.send(ctx, q, map[string]any{"inputs": texts}, &out)
	if err == nil {
		err = q.counted(len(out), len(texts))
	}
	return out, err
}

// Decode turns lists of token ids back into texts, without special tokens.
func (c *Client) Decode(ctx context.Context, ids [][]int32) ([]string, error) {
	var out []string
	q := call{method: http.MethodPost, path: "/decode", effect: reads}
	err := c.send(ctx, q, map[string]any{"ids": ids}, &out)
	if err == nil {
		err = q.counted(len(out), len(ids))
	}
	return out, err
}

// SparseValue is an entry of a sparse vector.
type SparseValue struct {
	Index int32   `json:"index"` // token id
	Value float32 `json:"value"`
}

// EmbedSparse turns texts into sparse vectors. Without a SPLADE checkpoint the server answers an
// [*Error] with the code not_supported.
func (c *Client) EmbedSparse(ctx context.Context, texts []string) ([][]SparseValue, error) {
	var out [][]SparseValue
	q := call{method: http.MethodPost, path: "/embed_sparse", effect: reads}
	err := c.send(ctx, q, map[string]any{"inputs": texts}, &out)
	if err == nil {
		err = q.counted(len(out), len(texts))
	}
	return out, err
}

// Similarity returns the cosine of a text with each of others.
func (c *Client) Similarity(ctx context.Context, text string, others []string) ([]float32, error) {
	var out []float32
	body := map[string]any{"inputs": map[string]any{"source_sentence": text, "sentences": others}}
	q := call{method: http.MethodPost, path: "/similarity", effect: reads}
	err := c.send(ctx, q, body, &out)
	if err == nil {
		err = q.counted(len(out), len(others))
	}
	return out, err
}
