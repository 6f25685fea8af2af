package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Similar asks for documents that are like others. IDs, Text or both are needed; the zero value of
// each other field means the server's default.
type Similar struct {
	IDs           []string  `json:"ids,omitempty"`          // documents that hits are like
	NegativeIDs   []string  `json:"negative_ids,omitempty"` // and unlike
	Text          string    `json:"text,omitempty"`         // a text that hits are like
	Filter        string    `json:"filter,omitempty"`
	Window        int       `json:"window,omitempty"`
	Limit         int       `json:"limit,omitempty"` // negative: 0
	Offset        int       `json:"offset,omitempty"`
	Page          int       `json:"page,omitempty"`
	Passages      int       `json:"passages,omitempty"`     // negative: 0
	ReturnFields  []string  `json:"return_fields,omitzero"` // nil: all, empty: none
	OmitFields    []string  `json:"omit_fields,omitempty"`
	MinSimilarity float64   `json:"min_similarity,omitempty"`
	Diversity     float64   `json:"diversity,omitempty"`
	Facets        []Facet   `json:"facets,omitempty"`
	Sort          []SortKey `json:"sort,omitempty"`
	Boosts        []Boost   `json:"boosts,omitempty"`
	Group         string    `json:"group,omitempty"`
	Sentences     bool      `json:"sentences,omitempty"`
	Explain       bool      `json:"explain,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (q Similar) MarshalJSON() ([]byte, error) {
	type plain Similar // without this method
	return json.Marshal(struct {
		plain
		Limit    *int `json:"limit,omitempty"`
		Passages *int `json:"passages,omitempty"`
	}{plain(q), optional(q.Limit), optional(q.Passages)})
}

// Similar finds documents that are like others; ErrNotFound, ErrInvalid.
func (c *Client) Similar(ctx context.Context, collection string, q Similar) (*Response, error) {
	out := &Response{}
	return out, c.send(ctx, call{method: http.MethodPost, path: collectionPath(collection) + "/similar", effect: reads}, q, out)
}

// Suggestion is a text that a query may become.
type Suggestion struct {
	Text string `json:"text"`
	Kind string `json:"kind"` // title, phrase
}

// Suggestions are texts that a query may become, best first.
type Suggestions struct {
	Suggestions []Suggestion `json:"suggestions"`
	Building    bool         `json:"building"` // they are being made for the first time; ask again
}

// Suggest completes a query as far as it is typed, with at most limit texts, 0: the server's
// default; ErrNotFound, ErrInvalid.
func (c *Client) Suggest(ctx context.Context, collection, typed string, limit int) (*Suggestions, error) {
	p := url.Values{"q": {typed}}
	if limit > 0 {
		p.Set("limit", strconv.Itoa(limit))
	}
	out := &Suggestions{}
	return out, c.send(ctx, call{method: http.MethodGet, path: collectionPath(collection) + "/suggest", query: p}, nil, out)
}

// BatchResult is the answer to one query of a batch, or its error.
type BatchResult struct {
	Response
	Error *ResultError `json:"error"`
}

// SearchBatch answers at most 100 queries with one request, in their order; ErrNotFound, ErrInvalid
// of the whole.
func (c *Client) SearchBatch(ctx context.Context, collection string, queries []Query) ([]BatchResult, error) {
	var out struct {
		Results []BatchResult `json:"results"`
	}
	body := map[string]any{"searches": queries}
	q := call{method: http.MethodPost, path: collectionPath(collection) + "/search/batch", effect: reads}
	err := c.send(ctx, q, body, &out)
	if err == nil {
		err = q.counted(len(out.Results), len(queries))
	}
	return out.Results, err
}

// Explanation is why a document ranks where it does: Rank from 1, or 0 with a Reason (filter,
// phrase, no_words, no_passages, min_similarity, window, group, rerank_window). Hit is as a search
// would show it.
type Explanation struct {
	Rank     int        `json:"rank"`
	Reason   string     `json:"reason"`
	Ranked   int        `json:"ranked"`
	Total    Total      `json:"total"`
	Hit      Hit        `json:"hit"`
	Query    *QueryText `json:"query,omitempty"` // as of a [Response]
	Warnings []string   `json:"warnings,omitempty"`
}

// Explain says why a document ranks where it does for a query, of which Limit, Offset and Facets
// are ignored; ErrNotFound, ErrInvalid.
func (c *Client) Explain(ctx context.Context, collection, id string, q Query) (*Explanation, error) {
	out := &Explanation{}
	path := collectionPath(collection) + "/explain/" + url.PathEscape(id)
	return out, c.send(ctx, call{method: http.MethodPost, path: path, effect: reads}, q, out)
}
