package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"example.com/searchd/search"
)

// DeleteDocument deletes a document.
func (s *Server) DeleteDocument(ctx context.Context, r Request, id string) (*Summary, error) {
	return s.deleteIDs(ctx, r, []string{id})
}

// DeleteBatch deletes the documents with the ids of a body.
func (s *Server) DeleteBatch(ctx context.Context, r Request) (*Summary, error) {
	var raw []any
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil {
		return nil, bad("malformed_payload", "body: %s", err)
	}
	ids := make([]string, len(raw))
	for i, id := range raw {
		ids[i] = fmt.Sprint(id)
	}
	return s.deleteIDs(ctx, r, ids)
}

func (s *Server) deleteIDs(ctx context.Context, r Request, ids []string) (*Summary, error) {
	return s.run(ctx, "documentDeletion", r.Index, func(details map[string]any) error {
		deleted := 0
		details["providedIds"], details["originalFilter"] = len(ids), nil
		for part := range slices.Chunk(ids, 1000) {
			results, err := s.engine.DeleteDocuments(ctx, r.Index, part)
			if err != nil {
				return err
			}
			for _, res := range results {
				if res.Err == nil {
					deleted++
				}
			}
		}
		details["deletedDocuments"] = deleted
		return nil
	})
}

// DeleteByFilter deletes the documents that a filter matches.
func (s *Server) DeleteByFilter(ctx context.Context, r Request) (*Summary, error) {
	var b struct {
		Filter json.RawMessage `json:"filter"`
	}
	if err := decode(r.Body, &b); err != nil {
		return nil, err
	}
	text, err := Filter(b.Filter)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, bad("missing_document_filter", "filter: missing")
	}
	return s.run(ctx, "documentDeletion", r.Index, func(details map[string]any) error {
		details["providedIds"], details["originalFilter"] = 0, string(b.Filter)
		return s.deleteAll(ctx, r.Index, details, func() (search.Deletion, error) { return s.engine.DeleteByFilter(ctx, r.Index, text, false) })
	})
}

// DeleteAll deletes all documents.
func (s *Server) DeleteAll(ctx context.Context, r Request) (*Summary, error) {
	return s.run(ctx, "documentDeletion", r.Index, func(details map[string]any) error {
		details["providedIds"], details["originalFilter"] = 0, nil
		return s.deleteAll(ctx, r.Index, details, func() (search.Deletion, error) {
			docs, _, err := s.engine.Documents(ctx, r.Index, "", 1000)
			if err != nil || len(docs) == 0 {
				return search.Deletion{Complete: true}, err
			}
			ids := make([]string, len(docs))
			for i, d := range docs {
				ids[i] = d.ID
			}
			_, err = s.engine.DeleteDocuments(ctx, r.Index, ids)
			return search.Deletion{Deleted: len(ids)}, err
		})
	})
}

// deleteAll calls f until it is complete.
func (s *Server) deleteAll(ctx context.Context, _ string, details map[string]any, f func() (search.Deletion, error)) error {
	deleted := 0
	for {
		d, err := f()
		deleted += d.Deleted
		details["deletedDocuments"] = deleted
		if err != nil || d.Complete {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
