package meilisearch

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// object is a document of a request.
type object = map[string]json.RawMessage

// readObjects reads the documents of a body: a JSON array or object, NDJSON or CSV.
func readObjects(r Request) (docs []object, err error) {
	media, params, err := mime.ParseMediaType(r.Type)
	if err != nil {
		media = r.Type
	}
	malformed := func(err error) error { return bad("malformed_payload", "document %d: %s", len(docs), err) }
	switch media {
	case "text/csv":
		return readCSV(r, params)
	case "application/json", "application/x-ndjson":
	default:
		return nil, &Error{415, "invalid_content_type", fmt.Sprintf("Content-Type: got %.80q, allowed: application/json, application/x-ndjson, text/csv", r.Type)}
	}
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	if media == "application/json" && bytes.HasPrefix(bytes.TrimLeft(r.Body, " \t\r\n"), []byte{'['}) {
		if err := json.Unmarshal(r.Body, &docs); err != nil {
			return nil, malformed(err)
		}
		return docs, nil
	}
	for {
		var doc object
		if err := dec.Decode(&doc); err == io.EOF {
			break
		} else if err != nil {
			return nil, malformed(err)
		}
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		return nil, &Error{400, "missing_payload", "A payload is missing."}
	}
	return docs, nil
}

// readCSV reads CSV with a header whose names may end in :number, :boolean or :string.
func readCSV(r Request, _ map[string]string) (docs []object, err error) {
	c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(r.Body, []byte("\xef\xbb\xbf"))))
	if d := r.Query.Get("csvDelimiter"); d != "" {
		if len(d) != 1 || strings.ContainsAny(d, "\r\n\"") {
			return nil, bad("invalid_document_csv_delimiter", "csvDelimiter: got %.10q, allowed: one ASCII character", d)
		}
		c.Comma = rune(d[0])
	}
	header, err := c.Read()
	if err != nil {
		return nil, bad("malformed_payload", "header: %s", err)
	}
	for {
		row, err := c.Read()
		if err == io.EOF {
			return docs, nil
		}
		if err != nil {
			return nil, bad("malformed_payload", "%s", err)
		}
		doc := object{}
		for i, cell := range row {
			name, kind, typed := header[i], "", false
			if j := strings.LastIndexByte(name, ':'); j > 0 && slices.Contains([]string{"number", "boolean", "string"}, name[j+1:]) {
				name, kind, typed = name[:j], name[j+1:], true
			}
			value, _ := json.Marshal(cell)
			if typed && kind != "string" {
				if value = json.RawMessage(strings.TrimSpace(cell)); len(value) == 0 {
					value = json.RawMessage("null")
				}
				var x any
				if err := json.Unmarshal(value, &x); err != nil {
					return nil, bad("malformed_payload", "document %d: %.40q is no %s", len(docs), cell, kind)
				}
			}
			doc[name] = value
		}
		docs = append(docs, doc)
	}
}

// AddDocuments writes the documents of a body, which replace those with their ids, or with update
// change the members that they have. The index is made if there is none.
func (s *Server) AddDocuments(ctx context.Context, r Request, update bool) (*Summary, error) {
	docs, err := readObjects(r)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, "documentAdditionOrUpdate", r.Index, func(details map[string]any) error {
		details["receivedDocuments"], details["indexedDocuments"] = len(docs), 0
		if err := s.ensure(ctx, r.Index, search.Settings{}); err != nil {
			return err
		}
		key, err := s.primaryKey(ctx, r.Index, r.Query.Get("primaryKey"), docs)
		if err != nil || len(docs) == 0 {
			return err
		}
		indexed, err := s.ingest(ctx, r.Index, key, docs, update)
		details["indexedDocuments"] = indexed
		return err
	})
}

// ingest writes documents and returns how many are stored. A document that cannot be stored does
// not keep the others from it; the first such error is returned.
func (s *Server) ingest(ctx context.Context, name, key string, docs []object, update bool) (stored int, err error) {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	x, err := s.open(ctx, name)
	if err != nil {
		return 0, err
	}
	const batch = 1000
	for part := range slices.Chunk(docs, batch) {
		var list []search.Document
		merged := map[string]object{} // by id, as of an earlier document of the part
		for _, doc := range part {
			id, err := idOf(doc, key)
			if err != nil {
				keep(err)
				continue
			}
			if update {
				if doc, err = s.merged(ctx, name, id, doc, merged); err != nil {
					keep(err)
					continue
				}
			}
			vectors, err := x.takeVectors(id, doc)
			if err != nil {
				keep(err)
				continue
			}
			fields, err := json.Marshal(doc)
			if err != nil {
				return stored, err
			}
			if fields, err = vectors.Into(fields); err != nil {
				keep(bad("vector_embedding_error", "document %q: %s", id, err))
				continue
			}
			if len(fields) > s.max {
				keep(&Error{413, "payload_too_large", fmt.Sprintf("document %q: %d bytes, allowed: %d", id, len(fields), s.max)})
				continue
			}
			list = append(list, search.Document{ID: id, Fields: fields, KeepVectors: update})
		}
		if len(list) == 0 {
			continue
		}
		results, err := s.engine.Ingest(ctx, name, list)
		if err != nil {
			return stored, err
		}
		for _, res := range results {
			if res.Err != nil {
				keep(fmt.Errorf("document %q: %w", res.ID, res.Err))
				continue
			}
			stored++
		}
	}
	return stored, first
}

// merged returns the stored document with the members of doc. Those of a part are merged with one
// another, since none of them is stored yet.
func (s *Server) merged(ctx context.Context, name, id string, doc object, before map[string]object) (object, error) {
	old := before[id]
	if old == nil {
		stored, err := s.engine.Document(ctx, name, id)
		switch {
		case errors.Is(err, search.ErrDocumentNotFound):
		case err != nil:
			return nil, err
		default:
			if err := json.Unmarshal(stored.Fields, &old); err != nil {
				return nil, err
			}
		}
	}
	out := object{}
	for n, v := range old {
		out[n] = v
	}
	for n, v := range doc {
		out[n] = v
	}
	before[id] = out
	return out, nil
}

// idOf returns the id of a document: its primary key, a string or an integer.
func idOf(doc object, key string) (string, error) {
	raw, ok := doc[key]
	if !ok {
		return "", bad("missing_document_id", "Document doesn't have a `%s` attribute.", key)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return text, nil
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	return "", bad("invalid_document_id", "Document identifier %.80q is invalid: a string that is not empty, or an integer.", string(raw))
}

// primaryKey returns the primary key of an index, and sets it where it has none: asked, or the one
// attribute of the first document whose name ends in id; "id" before others.
func (s *Server) primaryKey(ctx context.Context, name, asked string, docs []object) (string, error) {
	x, err := s.open(ctx, name)
	if err != nil {
		return "", err
	}
	if x.PrimaryKey != "" {
		if asked != "" && asked != x.PrimaryKey && x.info.Documents > 0 {
			return "", bad("index_primary_key_already_exists", "Index `%s` already has a primary key: `%s`.", name, x.PrimaryKey)
		}
		if asked == "" || asked == x.PrimaryKey {
			return x.PrimaryKey, nil
		}
	}
	key := asked
	if key == "" && len(docs) > 0 {
		var found []string
		for n := range docs[0] {
			if strings.HasSuffix(strings.ToLower(n), "id") {
				found = append(found, n)
			}
		}
		switch {
		case slices.Contains(found, "id"):
			key = "id"
		case len(found) == 0:
			return "", bad("index_primary_key_no_candidate_found", "The primary key inference failed as the engine did not find any field ending with `id` in its name. Please specify the primary key manually using the `primaryKey` query parameter.")
		case len(found) > 1:
			slices.Sort(found)
			return "", bad("index_primary_key_multiple_candidates_found", "The primary key inference failed as the engine found %d fields ending with `id` in their names: '%s' and '%s'. Please specify the primary key manually using the `primaryKey` query parameter.", len(found), found[0], found[1])
		default:
			key = found[0]
		}
	}
	if key == "" {
		return "", nil
	}
	return key, s.setPrimaryKey(ctx, name, &key)
}

// fieldsOf returns a list of names that is comma-separated or a JSON array; nil for all.
func fieldsOf(text string, list []string) []string {
	if text != "" {
		list = strings.Split(text, ",")
	}
	if slices.Contains(list, "*") {
		return nil
	}
	return list
}

// shownDocument returns the fields of a document as clients expect them, with its primary key.
func (x *index) shownDocument(id string, fields json.RawMessage, names []string) (json.RawMessage, error) {
	key := x.PrimaryKey
	if key == "" {
		key = "id"
	}
	var have object
	if err := json.Unmarshal(fields, &have); err != nil {
		return nil, err
	}
	if _, ok := have[key]; !ok { // written by another route
		have[key], _ = json.Marshal(id)
		var err error
		if fields, err = json.Marshal(have); err != nil {
			return nil, err
		}
	}
	return mapping.Project(fields, names, nil)
}

// Document returns a document.
func (s *Server) Document(ctx context.Context, r Request, id string) (any, error) {
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	doc, err := s.engine.Document(ctx, r.Index, id)
	if errors.Is(err, search.ErrDocumentNotFound) {
		return nil, missing(id)
	}
	if err != nil {
		return nil, err
	}
	shown, err := x.shownDocument(doc.ID, doc.Fields, fieldsOf(r.Query.Get("fields"), nil))
	if err == nil && r.Query.Get("retrieveVectors") == "true" {
		if err = x.checkRetrieval("invalid_document_retrieve_vectors", true); err == nil {
			shown, err = s.setVectors(ctx, x, doc.ID, shown)
		}
	}
	return shown, err
}

// documentsQuery asks for a page of documents.
type documentsQuery struct {
	Offset          int             `json:"offset"`
	Limit           *int            `json:"limit"`
	Fields          []string        `json:"fields"`
	Filter          json.RawMessage `json:"filter"`
	IDs             []any           `json:"ids"`
	Sort            []string        `json:"sort"`
	RetrieveVectors bool            `json:"retrieveVectors"`
}

// ListDocuments lists documents by the parameters of the query string.
func (s *Server) ListDocuments(ctx context.Context, r Request) (any, error) {
	var q documentsQuery
	var err error
	if q.Offset, err = number(r.Query, "offset", 0, search.MaxOffset); err != nil {
		return nil, err
	}
	limit, err := number(r.Query, "limit", 20, 1<<30)
	if err != nil {
		return nil, err
	}
	q.Limit, q.Fields = &limit, fieldsOf(r.Query.Get("fields"), nil)
	q.Filter, q.RetrieveVectors = filterParam(r.Query), r.Query.Get("retrieveVectors") == "true"
	return s.documents(ctx, r, q)
}

// FetchDocuments lists documents by a body.
func (s *Server) FetchDocuments(ctx context.Context, r Request) (any, error) {
	var q documentsQuery
	if err := decode(r.Body, &q); err != nil {
		return nil, err
	}
	q.Fields = fieldsOf("", q.Fields)
	return s.documents(ctx, r, q)
}

// filterParam returns the filter of a query string, which is a text or an array in JSON.
func filterParam(q url.Values) json.RawMessage {
	text := q.Get("filter")
	if text == "" {
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text)
	return b
}

// decode decodes a body strictly.
func decode(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil && err != io.EOF {
		return bad("bad_request", "body: %s", err)
	}
	return nil
}

// documents lists documents: a search without words, whose pages are cut in pieces.
func (s *Server) documents(ctx context.Context, r Request, q documentsQuery) (any, error) {
	limit := 20
	if q.Limit != nil {
		limit = *q.Limit
	}
	if q.Offset < 0 || limit < 0 {
		return nil, bad("invalid_document_limit", "offset and limit: got %d and %d, allowed: 0 or more", q.Offset, limit)
	}
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	if err := x.checkRetrieval("invalid_document_retrieve_vectors", q.RetrieveVectors); err != nil {
		return nil, err
	}
	text, err := Filter(q.Filter)
	if err != nil {
		return nil, err
	}
	if len(q.IDs) > 0 {
		ids := make([]string, len(q.IDs))
		for i, id := range q.IDs {
			ids[i] = quote(fmt.Sprint(id))
		}
		text = strings.TrimPrefix(text+" AND ", " AND ") + "_id IN [" + strings.Join(ids, ", ") + "]"
	}
	sort, err := sortKeys(q.Sort)
	if err != nil {
		return nil, err
	}
	out := Page[json.RawMessage]{Results: []json.RawMessage{}, Offset: q.Offset, Limit: limit}
	zero := 0
	for {
		n := min(limit-len(out.Results), search.MaxLimit)
		res, err := s.engine.Search(ctx, r.Index, search.Query{Filter: text, Within: r.Within, Sort: sort, Offset: min(q.Offset+len(out.Results), search.MaxOffset), Limit: &n, Passages: &zero})
		if err != nil {
			return nil, err
		}
		out.Total = res.Total.Value
		for _, h := range res.Hits {
			doc, err := x.shownDocument(h.ID, h.Document, q.Fields)
			if err == nil && q.RetrieveVectors {
				doc, err = s.setVectors(ctx, x, h.ID, doc)
			}
			if err != nil {
				return nil, err
			}
			out.Results = append(out.Results, doc)
		}
		if len(res.Hits) < n || len(out.Results) >= limit || q.Offset+len(out.Results) > search.MaxOffset {
			return out, nil
		}
	}
}
