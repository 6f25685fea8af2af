package meilisearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"example.com/searchd/search"
)

// Index is an index as clients see it.
type Index struct {
	UID        string  `json:"uid"`
	CreatedAt  Time    `json:"createdAt"`
	UpdatedAt  Time    `json:"updatedAt"`
	PrimaryKey *string `json:"primaryKey"`
}

// Page is a page of a list.
type Page[T any] struct {
	Results []T `json:"results"`
	Offset  int `json:"offset"`
	Limit   int `json:"limit"`
	Total   int `json:"total"`
}

func (x *index) shown() Index {
	out := Index{UID: x.info.Name, CreatedAt: Time{x.info.Created}, UpdatedAt: Time{x.Updated}}
	if x.PrimaryKey != "" {
		out.PrimaryKey = &x.PrimaryKey
	}
	return out
}

// Index describes an index.
func (s *Server) Index(ctx context.Context, r Request) (any, error) {
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	return x.shown(), nil
}

// Indexes describes the named collections, a page of them.
func (s *Server) Indexes(ctx context.Context, q url.Values, infos []search.CollectionInfo) (any, error) {
	limit, err := number(q, "limit", 20, 1<<20)
	if err != nil {
		return nil, err
	}
	offset, err := number(q, "offset", 0, 1<<20)
	if err != nil {
		return nil, err
	}
	out := Page[Index]{Results: []Index{}, Offset: offset, Limit: limit, Total: len(infos)}
	from := min(offset, len(infos))
	for _, info := range infos[from:min(from+limit, len(infos))] {
		x, err := s.open(ctx, info.Name)
		if err != nil {
			x = &index{info: info} // damaged, or dropped meanwhile
		}
		out.Results = append(out.Results, x.shown())
	}
	return out, nil
}

// indexBody is the body of the requests that make and change an index.
type indexBody struct {
	UID        string  `json:"uid"`
	PrimaryKey *string `json:"primaryKey"`
}

// CreateIndex makes an index; name is the uid of the body.
func (s *Server) CreateIndex(ctx context.Context, r Request) (*Summary, error) {
	var b indexBody
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, bad("malformed_payload", "body: %s", err)
	}
	return s.run(ctx, "indexCreation", b.UID, func(details map[string]any) error {
		details["primaryKey"] = b.PrimaryKey
		if _, err := s.engine.CreateCollection(ctx, b.UID, search.Settings{}); err != nil {
			return err
		}
		return s.setPrimaryKey(ctx, b.UID, b.PrimaryKey)
	})
}

// IndexOf returns the name of the index that the body of CreateIndex is about.
func IndexOf(body []byte) (string, error) {
	var b indexBody
	if err := json.Unmarshal(body, &b); err != nil {
		return "", bad("malformed_payload", "body: %s", err)
	}
	if err := search.CheckCollectionName(b.UID); err != nil {
		return "", bad("invalid_index_uid", "%s", err)
	}
	return b.UID, nil
}

// UpdateIndex sets the primary key of an index without documents.
func (s *Server) UpdateIndex(ctx context.Context, r Request) (*Summary, error) {
	var b indexBody
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, bad("malformed_payload", "body: %s", err)
	}
	return s.run(ctx, "indexUpdate", r.Index, func(details map[string]any) error {
		details["primaryKey"] = b.PrimaryKey
		if b.UID != "" && b.UID != r.Index {
			return bad("bad_request", "uid: an index cannot be renamed; point an alias at it")
		}
		return s.setPrimaryKey(ctx, r.Index, b.PrimaryKey)
	})
}

// setPrimaryKey sets the primary key of an index without documents.
func (s *Server) setPrimaryKey(ctx context.Context, name string, key *string) error {
	return s.change(ctx, name, func(x *index) error {
		if key == nil || x.PrimaryKey == *key {
			return nil
		}
		if *key == "" {
			return bad("invalid_index_primary_key", "primaryKey: got an empty text, allowed: the name of an attribute")
		}
		if x.info.Documents > 0 && x.PrimaryKey != "" {
			return bad("index_primary_key_already_exists", "Index `%s` already has a primary key: `%s`.", name, x.PrimaryKey)
		}
		x.PrimaryKey = *key
		return nil
	})
}

// DeleteIndex drops an index.
func (s *Server) DeleteIndex(ctx context.Context, r Request) (*Summary, error) {
	return s.run(ctx, "indexDeletion", r.Index, func(details map[string]any) error {
		x, err := s.open(ctx, r.Index)
		if err != nil {
			return err
		}
		details["deletedDocuments"] = x.info.Documents
		if err := s.engine.DropCollection(ctx, r.Index); err != nil {
			return err
		}
		return s.vault.SetValues(ctx, map[string][]byte{vaultPrefix + x.info.Name: nil})
	})
}

// SwapIndexes is refused: aliases do it.
func (s *Server) SwapIndexes() error {
	return &Error{501, "not_implemented", "swap-indexes: not supported; search by an alias, and point it at another collection"}
}

// indexStats are the statistics of an index.
type indexStats struct {
	NumberOfDocuments         int            `json:"numberOfDocuments"`
	RawDocumentDBSize         int            `json:"rawDocumentDbSize"`
	AvgDocumentSize           int            `json:"avgDocumentSize"`
	NumberOfEmbeddings        int            `json:"numberOfEmbeddings"`
	NumberOfEmbeddedDocuments int            `json:"numberOfEmbeddedDocuments"`
	IsIndexing                bool           `json:"isIndexing"`
	FieldDistribution         map[string]int `json:"fieldDistribution"`
}

func statsOf(info search.CollectionInfo) indexStats {
	return indexStats{NumberOfDocuments: info.Documents, NumberOfEmbeddings: info.Passages, NumberOfEmbeddedDocuments: info.Documents, FieldDistribution: map[string]int{}}
}

// IndexStats returns the statistics of an index.
func (s *Server) IndexStats(ctx context.Context, r Request) (any, error) {
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	return statsOf(x.info), nil
}

// Stats returns the statistics of the named collections.
func (s *Server) Stats(infos []search.CollectionInfo) any {
	indexes, last := map[string]indexStats{}, time.Time{}
	for _, info := range infos {
		indexes[info.Name] = statsOf(info)
		if info.Created.After(last) {
			last = info.Created
		}
	}
	return map[string]any{"databaseSize": 0, "usedDatabaseSize": 0, "lastUpdate": Time{last}, "indexes": indexes}
}

// missing returns the error about a document that is not there.
func missing(id string) error {
	return &Error{404, "document_not_found", fmt.Sprintf("Document `%s` not found.", id)}
}
