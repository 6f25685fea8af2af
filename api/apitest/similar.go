package apitest

import (
	"context"
	"fmt"

	"searchd/index/filter"
	"searchd/search"
)

// SearchBatch implements api.Engine.
func (e *Engine) SearchBatch(ctx context.Context, name string, queries []search.Query) ([]search.BatchResult, error) {
	out := make([]search.BatchResult, len(queries))
	for i, q := range queries {
		out[i].Response, out[i].Err = e.Search(ctx, name, q)
	}
	return out, nil
}

// Similar implements api.Engine: documents are found by the text of the first that is given.
func (e *Engine) Similar(ctx context.Context, name string, q search.Similar) (*search.Response, error) {
	text := q.Text
	if text == "" {
		if len(q.IDs) == 0 {
			return nil, &search.FieldError{Field: "ids", Value: "none", Allowed: "ids or a text"}
		}
		d, err := e.Document(ctx, name, q.IDs[0])
		if err != nil {
			return nil, err
		}
		text = string(d.Fields)
	}
	return e.Search(ctx, name, search.Query{Q: text, Mode: search.Semantic, Limit: q.Limit, ReturnFields: q.ReturnFields})
}

// Explain implements api.Engine.
func (e *Engine) Explain(ctx context.Context, name, id string, q search.Query) (*search.Explanation, error) {
	if _, err := e.Document(ctx, name, id); err != nil {
		return nil, err
	}
	r, err := e.Search(ctx, name, q)
	if err != nil {
		return nil, err
	}
	for i, h := range r.Hits {
		if h.ID == id {
			return &search.Explanation{Rank: i + 1, Ranked: len(r.Hits), Total: r.Total, Hit: h, TookMS: r.TookMS, TimingsMS: r.TimingsMS}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", search.ErrDocumentNotFound, id)
}

// DeleteByFilter implements api.Engine: every filter passes all documents.
func (e *Engine) DeleteByFilter(ctx context.Context, name, text string, dryRun bool) (search.Deletion, error) {
	if _, err := filter.Parse(text); err != nil {
		return search.Deletion{}, &search.FieldError{Field: "filter", Value: text, Allowed: err.Error()}
	}
	docs, _, err := e.Documents(ctx, name, "", 1000)
	if err != nil || dryRun {
		return search.Deletion{Matched: len(docs), Complete: true}, err
	}
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	_, err = e.DeleteDocuments(ctx, name, ids)
	return search.Deletion{Matched: len(docs), Deleted: len(docs), Complete: true}, err
}
