package client

import (
	"context"
	"fmt"
	"net/http"
)

// RerankOptions are options of Rerank. The zero value returns all texts with the checkpoint's
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
