package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.com/searchd/extract"
	"example.com/searchd/search"
	"example.com/searchd/search/given"
	"example.com/searchd/search/passage"
)

// maxItems bounds the documents and ids of one request. An import is unlimited.
const maxItems = 1000

// itemAnswer reports the result of one document.
type itemAnswer struct {
	Line     int            `json:"line,omitempty"` // from 1; of an import
	ID       string         `json:"id,omitempty"`
	Status   search.Status  `json:"status"`
	Revision uint64         `json:"revision,omitempty"`
	Passages int            `json:"passages,omitempty"`
	Error    *itemAnswerErr `json:"error,omitempty"`
	Warning  string         `json:"warning,omitempty"` // what of it is not searched or not likely to be meant, or of a file could not be read
	Stopped  bool           `json:"stopped,omitempty"` // this line answers no document but ends an import early

	LooksLike string `json:"looks_like,omitempty"` // on one line of an import: the language that its texts look like, where it is not the collection's
}

type itemAnswerErr struct {
	Code   string        `json:"code"`
	Detail string        `json:"detail"`
	Errors []problemItem `json:"errors,omitempty"`
}

func (s *Server) answerItem(line int, res search.ItemResult) itemAnswer {
	a := itemAnswer{Line: line, ID: res.ID, Status: res.Status, Revision: res.Revision, Passages: res.Passages, Warning: res.Warning}
	if res.Err != nil {
		a.Status = search.Failed
		a.Error = s.answerItemError(res.ID, res.Err)
	}
	return a
}

// answerWrite is answerItem for a document that was written.
func (s *Server) answerWrite(line int, doc search.Document, res search.ItemResult) itemAnswer {
	a := s.answerItem(line, res)
	if a.Error == nil {
		if a.Warning = joined(listWarning(doc), a.Warning); line == 0 {
			a.Warning = joined(extract.DateWarning(doc.Fields, nil), a.Warning)
		}
	}
	return a
}

func (s *Server) answerItemError(id string, err error) *itemAnswerErr {
	f := classify(err)
	if f.status >= 500 && f.retry == "" {
		s.log.Error("document failed", "id", id, "code", f.code, "error", err)
	}
	return &itemAnswerErr{Code: f.code, Detail: cmp.Or(f.detail(err), f.title), Errors: problemItems(err)}
}

// under prefixes the pointers of an error with that of its item in the request. nil stays nil.
func (e *itemAnswerErr) under(at string) *itemAnswerErr {
	if e != nil {
		for i := range e.Errors {
			e.Errors[i].Pointer = at + e.Errors[i].Pointer
		}
	}
	return e
}

type documentList struct {
	Documents []search.StoredDocument `json:"documents"`
	Next      string                  `json:"next,omitempty"` // the cursor of the next page; absent on the last
}

func (s *Server) listDocuments(_ http.ResponseWriter, r *http.Request) (any, error) {
	c := r.PathValue("collection")
	p := queryParams(r)
	cursor, _ := p.text("cursor")
	limit, given := p.integer("limit")
	if !given {
		limit = 100
	}
	vectors, _ := p.boolean("vectors")
	if err := p.err(); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxItems {
		return nil, &search.FieldError{Field: "limit", Value: limit, Allowed: fmt.Sprintf("1 to %d", maxItems)}
	}
	docs, next, err := s.o.Engine.Documents(r.Context(), c, cursor, limit)
	if err != nil {
		return nil, err
	}
	if docs == nil {
		docs = []search.StoredDocument{}
	}
	for i := range docs {
		if !vectors {
			docs[i].Vector, docs[i].Vectors = nil, nil
		}
	}
	return documentList{docs, next}, nil
}

type itemList struct {
	Results []itemAnswer `json:"results"` // in the order of the request
	Failed  int          `json:"failed"`
}

// postDocuments takes one document, like PUT, or an array of at most maxItems.
func (s *Server) postDocuments(w http.ResponseWriter, r *http.Request) error {
	c := r.PathValue("collection")
	data, err := bodyOf(r, false, "application/json")
	if err != nil {
		return s.toImport(c, err, strings.Contains(r.Header.Get("Content-Type"), "json"))
	}
	if err := checkText(data); err != nil {
		return err
	}
	if bytes.TrimSpace(data)[0] != '[' {
		doc, err := parseDocument(data)
		if err != nil {
			return s.toImport(c, err, isLines(data))
		}
		if doc.ID == "" && r.Header.Get("If-Match") != "" {
			return &requestError{kind: errMalformed, detail: "If-Match: given, allowed with a document that has an id"}
		}
		if doc.IfRevision, err = s.precondition(r, c, doc.ID); err != nil {
			return err
		}
		return s.writeDocument(w, r, c, doc)
	}
	if err := unconditional(r); err != nil {
		return err
	}
	list := itemList{Results: []itemAnswer{}}
	docs, at, err := s.parseArray(data, &list)
	if err != nil {
		return err
	}
	results, err := s.o.Engine.Ingest(r.Context(), c, docs)
	if err != nil {
		return err
	}
	for i, res := range results {
		a := s.answerWrite(0, docs[i], res)
		a.Error = a.Error.under(fmt.Sprintf("/%d", at[i]))
		list.Results[at[i]] = a
	}
	for _, a := range list.Results {
		if a.Error != nil {
			list.Failed++
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// toImport adds to the error of a body of NDJSON where such bodies go.
func (s *Server) toImport(collection string, err error, lines bool) error {
	if !lines {
		return err
	}
	return fmt.Errorf("%w; one document per line goes to POST /v1/collections/%s/documents/import as application/x-ndjson, an array of documents to this route", err, url.PathEscape(collection))
}

// isLines reports whether data is several JSON values, one per line.
func isLines(data []byte) bool {
	first, rest, found := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return found && json.Valid(first) && len(bytes.TrimSpace(rest)) > 0
}

// parseArray reads the documents of an array. A wrong one gets its error in list and is not in
// docs; at[i] is the index of docs[i] in the array.
func (s *Server) parseArray(data []byte, list *itemList) (docs []search.Document, at []int, err error) {
	items := newArrayItems(bytes.NewReader(data), s.o.MaxItem)
	for items.next() {
		if len(list.Results) == maxItems {
			return nil, nil, &requestError{kind: errTooLarge, detail: fmt.Sprintf("body: more than %d documents; import takes any number", maxItems)}
		}
		doc, err := items.document()
		if err != nil {
			wrong := s.answerItemError(doc.ID, err).under(fmt.Sprintf("/%d", len(list.Results)))
			list.Results = append(list.Results, itemAnswer{ID: doc.ID, Status: search.Failed, Error: wrong})
			continue
		}
		at = append(at, len(list.Results))
		list.Results = append(list.Results, itemAnswer{})
		docs = append(docs, doc)
	}
	return docs, at, items.err
}

// writeDocument ingests one document and sends its revision as ETag.
func (s *Server) writeDocument(w http.ResponseWriter, r *http.Request, collection string, doc search.Document) error {
	results, err := s.o.Engine.Ingest(r.Context(), collection, []search.Document{doc})
	if err != nil {
		return err
	}
	res := results[0]
	if res.Err != nil {
		return res.Err
	}
	w.Header().Set("ETag", etag(res.Revision))
	location := "/v1/collections/" + url.PathEscape(collection) + "/documents/" + url.PathEscape(res.ID)
	return writeCreated(w, res.Status == search.Created, location, s.answerWrite(0, doc, res))
}

func (s *Server) document(w http.ResponseWriter, r *http.Request) error {
	p := queryParams(r)
	vectors, _ := p.boolean("vectors")
	if err := p.err(); err != nil {
		return err
	}
	doc, err := s.o.Engine.Document(r.Context(), r.PathValue("collection"), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !vectors {
		doc.Vector, doc.Vectors = nil, nil
	}
	tag := etag(doc.Revision)
	w.Header().Set("ETag", tag)
	if matchesETag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeJSON(w, http.StatusOK, doc)
}

func (s *Server) putDocument(w http.ResponseWriter, r *http.Request) error {
	c, id := r.PathValue("collection"), r.PathValue("id")
	data, err := bodyOf(r, false, "application/json")
	if err != nil {
		return err
	}
	doc, err := parseFields(data, id)
	if err != nil {
		return err
	}
	return s.replaceDocument(w, r, c, doc)
}

// replaceDocument writes a document with the precondition of the request, while no other request
// puts or patches it.
func (s *Server) replaceDocument(w http.ResponseWriter, r *http.Request, c string, doc search.Document) (err error) {
	if doc.IfRevision, err = s.precondition(r, c, doc.ID); err != nil {
		return err
	}
	unlock, err := s.lockDocument(r.Context(), c, doc.ID)
	if err != nil {
		return err
	}
	defer unlock()
	return s.writeDocument(w, r, c, doc)
}

// lockDocument waits until no other request puts or patches a document.
func (s *Server) lockDocument(ctx context.Context, collection, id string) (unlock func(), err error) {
	lock := s.documents[crc32.ChecksumIEEE([]byte(collection+"\x00"+id))%uint32(len(s.documents))]
	return lock.leave, lock.enterEventually(ctx)
}

// patchDocument merges the body into the stored fields. Without a condition of the client's, the
// merge is repeated if another write, of an import for example, comes between reading and writing.
func (s *Server) patchDocument(w http.ResponseWriter, r *http.Request) error {
	c, id := r.PathValue("collection"), r.PathValue("id")
	patch, err := bodyOf(r, false, "application/json", "application/merge-patch+json")
	if err != nil {
		return err
	}
	change, err := parsePatch(patch, id)
	if err != nil {
		return err
	}
	want, err := s.precondition(r, c, id)
	if err != nil {
		return err
	}
	unlock, err := s.lockDocument(r.Context(), c, id)
	if err != nil {
		return err
	}
	defer unlock()
	const attempts = 64
	for try := 1; ; try++ {
		doc, err := s.o.Engine.Document(r.Context(), c, id)
		if err != nil {
			return err
		}
		merged, err := mergePatch(doc.Fields, change)
		if err != nil {
			return err
		}
		at := &doc.Revision
		if want != nil {
			at = want
		}
		err = s.writeDocument(w, r, c, search.Document{ID: id, Fields: merged, Blocks: keptBlocks(doc, merged), KeepVectors: keepsVectors(change), IfRevision: at})
		if want != nil || !errors.Is(err, search.ErrConflict) {
			return err
		}
		if try == attempts {
			return fmt.Errorf("%w: document %q changes too often to be patched, try again", errTooManyWrites, id)
		}
	}
}

// keepsVectors reports whether a patch leaves the given vectors of a document as they are, unless
// it has others. null removes them.
func keepsVectors(patch json.RawMessage) bool {
	_, m := given.Cut(patch)
	return string(m.Vector) != "null" && string(m.Vectors) != "null"
}

// keptBlocks returns the blocks of a stored document whose texts are the same in merged.
func keptBlocks(doc *search.StoredDocument, merged json.RawMessage) map[string][]passage.Block {
	var before, after map[string]any
	if len(doc.Blocks) == 0 || json.Unmarshal(doc.Fields, &before) != nil || json.Unmarshal(merged, &after) != nil {
		return nil
	}
	kept := map[string][]passage.Block{}
	for name, blocks := range doc.Blocks {
		text, ok := before[name].(string)
		if now, still := after[name].(string); ok && still && now == text {
			kept[name] = blocks
		}
	}
	return kept
}

func (s *Server) deleteDocument(_ http.ResponseWriter, r *http.Request) error {
	c, id := r.PathValue("collection"), r.PathValue("id")
	if r.Header.Get("If-None-Match") != "" {
		return &requestError{kind: errMalformed, detail: "If-None-Match: given, allowed with DELETE: If-Match alone"}
	}
	at, err := s.precondition(r, c, id)
	if err != nil {
		return err
	}
	res, err := s.o.Engine.DeleteDocument(r.Context(), c, id, at)
	if err != nil {
		return err
	}
	if at != nil && errors.Is(res.Err, search.ErrDocumentNotFound) {
		return fmt.Errorf("%w: If-Match is given, and document %q was deleted meanwhile", search.ErrConflict, id)
	}
	return res.Err
}

// deleteDocuments deletes the documents that the body lists, or those that its filter matches.
func (s *Server) deleteDocuments(_ http.ResponseWriter, r *http.Request) (any, error) {
	c := r.PathValue("collection")
	if err := unconditional(r); err != nil {
		return nil, err
	}
	var b struct {
		IDs    []string `json:"ids"`
		Filter *string  `json:"filter"`
		DryRun bool     `json:"dry_run"`
	}
	if err := decodeBody(r, false, &b); err != nil {
		return nil, err
	}
	switch {
	case b.Filter != nil && b.IDs != nil:
		return nil, &search.FieldError{Field: "filter", Value: *b.Filter, Allowed: "ids or a filter, not both"}
	case b.Filter != nil:
		d, err := s.o.Engine.DeleteByFilter(r.Context(), c, *b.Filter, b.DryRun)
		if err != nil {
			return nil, err
		}
		return d, nil
	case b.DryRun:
		return nil, &search.FieldError{Field: "dry_run", Value: true, Allowed: "only with a filter"}
	}
	if len(b.IDs) == 0 || len(b.IDs) > maxItems {
		return nil, &search.FieldError{Field: "ids", Value: len(b.IDs), Allowed: fmt.Sprintf("1 to %d ids, or a filter in their place", maxItems)}
	}
	for i, id := range b.IDs {
		if err := checkName(fmt.Sprintf("ids[%d]", i), id, 512); err != nil {
			return nil, err
		}
	}
	results, err := s.o.Engine.DeleteDocuments(r.Context(), c, b.IDs)
	if err != nil {
		return nil, err
	}
	list := itemList{Results: make([]itemAnswer, 0, len(results))}
	for _, res := range results {
		a := s.answerItem(0, res)
		if a.Error != nil {
			list.Failed++
		}
		list.Results = append(list.Results, a)
	}
	return list, nil
}

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// matchesETag reports whether a header of entity tags has tag, by weak comparison.
func matchesETag(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		t = strings.TrimSpace(t)
		if t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}

// unconditional refuses headers that name one revision where many documents are written.
func unconditional(r *http.Request) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if r.Header.Get(name) != "" {
			return &requestError{kind: errMalformed, detail: name + ": given, allowed with one document alone"}
		}
	}
	return nil
}

// precondition returns the revision that If-Match or If-None-Match of a write requires: nil for
// any, 0 for none.
func (s *Server) precondition(r *http.Request, collection, id string) (*uint64, error) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case match == "" && none == "":
		return nil, nil
	case match != "" && none != "":
		return nil, &requestError{kind: errMalformed, detail: "If-Match and If-None-Match: both given, allowed: one of them"}
	case none != "" && strings.TrimSpace(none) != "*":
		return nil, &requestError{kind: errMalformed, detail: fmt.Sprintf("If-None-Match: got %q, allowed with a write: *", short(none))}
	case none != "":
		return new(uint64), nil
	}
	doc, err := s.o.Engine.Document(r.Context(), collection, id)
	if errors.Is(err, search.ErrDocumentNotFound) {
		return nil, fmt.Errorf("%w: If-Match is given, and there is no document %q", search.ErrConflict, id)
	}
	if err != nil {
		return nil, err
	}
	for t := range strings.SplitSeq(match, ",") {
		if t = strings.TrimSpace(t); t == "*" || t == etag(doc.Revision) {
			return &doc.Revision, nil
		}
	}
	return nil, fmt.Errorf("%w: If-Match is %s, the document is at %s", search.ErrConflict, short(match), etag(doc.Revision))
}
