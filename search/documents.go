package search

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/catalog"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/highlight"
)

// maxList is the most documents of one page of a listing.
const maxList = 1000

// Document returns a document with its passages. It returns [ErrDocumentNotFound] if there is none
// of this id.
func (e *Engine) Document(ctx context.Context, collection, id string) (*StoredDocument, error) {
	c, r, err := e.open(ctx, collection)
	if err != nil {
		return nil, err
	}
	if err := CheckID(id); err != nil {
		return nil, err
	}
	docs, err := e.backend.Lookup(ctx, backend.LookupRequest{Collection: c.Name, IDs: []string{id}, Vectors: r.Settings.GivenVectors()})
	if err != nil {
		return nil, err
	}
	if docs[0] == nil {
		return nil, fmt.Errorf("%w: %s in collection %s", ErrDocumentNotFound, id, collection)
	}
	return stored(docs[0], r)
}

// Documents lists documents in the order of their first arrival, at most limit of them, 1 to 1000,
// and fewer where they have about [backend.PageBytes]. cursor is empty at first and then what next
// was; next is empty at the end. A cursor goes on after the collection was re-embedded, as long as
// what it was is there, and is refused once the collection was made anew.
func (e *Engine) Documents(ctx context.Context, collection, cursor string, limit int) (docs []StoredDocument, next string, err error) {
	c, r, err := e.open(ctx, collection)
	if err != nil {
		return nil, "", err
	}
	if limit < 1 || limit > maxList {
		return nil, "", fault.Field("limit", limit, fmt.Sprintf("1 to %d", maxList))
	}
	from, rest, err := e.listFrom(ctx, c.Name, incarnation(c.Origin, r.Created), cursor)
	if err != nil {
		return nil, "", err
	}
	page, err := e.backend.List(ctx, backend.ListRequest{Collection: from, Cursor: rest, Limit: limit})
	if errors.Is(err, ErrInvalid) { // the rest of what it was asked is checked
		return nil, "", fault.Field("cursor", cursor, cursorAllowed)
	}
	if err != nil {
		return nil, "", err
	}
	next = listNext(incarnation(c.Origin, r.Created), from, page.Next)
	if r.Settings.GivenVectors() {
		if err := e.addVectors(ctx, from, page.Documents); err != nil {
			return nil, "", err
		}
	}
	docs = make([]StoredDocument, len(page.Documents))
	for i, d := range page.Documents {
		s, err := stored(d, r)
		if err != nil {
			return nil, "", err
		}
		docs[i] = *s
	}
	return docs, next, nil
}

// listNext returns the cursor that [Engine.listFrom] takes apart, empty at the end.
func listNext(incarnation, from, next string) string {
	if next == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d~%s", incarnation, catalog.GenerationOf(from), next)
}

const cursorAllowed = "the next of the previous page; start again without a cursor"

// listFrom takes a cursor apart, which is INCARNATION.GENERATION~REST. The incarnation must be that
// of the collection: what a listing of another one began with says nothing of this one, also where
// both have or had the same name. It returns the generation of the same name that the listing began
// with, as long as it is there, and the backend's part. A collection that was kept is stored under
// the name of another, whose generations are not its own.
func (e *Engine) listFrom(ctx context.Context, stored, incarnation, cursor string) (from, rest string, err error) {
	if cursor == "" {
		return stored, "", nil
	}
	of, place, _ := strings.Cut(cursor, ".")
	number, rest, _ := strings.Cut(place, "~")
	n, err := strconv.Atoi(number)
	if of != incarnation || rest == "" || err != nil || n < 1 || strconv.Itoa(n) != number {
		return "", "", fault.Field("cursor", cursor, cursorAllowed)
	}
	if n == catalog.GenerationOf(stored) {
		return stored, rest, nil
	}
	if name, visible := e.catalog.NameOf(stored); visible {
		began := catalog.Generation(name, n)
		if _, err := e.backend.Open(ctx, backend.OpenRequest{Collection: began}); err == nil {
			return began, rest, nil
		}
	}
	return "", "", fault.Field("cursor", cursor, "a cursor made after the collection was re-embedded; start again without one")
}

// DeleteDocuments deletes documents by id and answers each in order; one that is not there has the
// error [ErrDocumentNotFound]. An id that [CheckID] refuses is an error, and nothing is deleted.
// Any other error comes with the results of what was deleted before it.
func (e *Engine) DeleteDocuments(ctx context.Context, collection string, ids []string) ([]ItemResult, error) {
	c, r, release, err := e.openToWrite(ctx, collection)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, id := range ids {
		if err := CheckID(id); err != nil {
			return nil, err
		}
	}
	results := make([]ItemResult, 0, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), commitDocuments)
		writes := make([]backend.Write, n)
		for i, id := range ids[:n] {
			writes[i] = backend.Write{ID: id, Delete: true}
		}
		outcomes, err := e.backend.Apply(ctx, backend.ApplyRequest{Collection: c.Name, Writes: writes, Keep: r.keep()})
		if err != nil {
			return results, err
		}
		for i, o := range outcomes {
			results = append(results, itemResult(writes[i], o))
		}
		ids = ids[n:]
	}
	return results, nil
}

// DeleteDocument deletes one document. With ifRevision it does so only while the document has this
// revision; otherwise the result has the error [ErrConflict], or [ErrDocumentNotFound] where there
// is none.
func (e *Engine) DeleteDocument(ctx context.Context, collection, id string, ifRevision *uint64) (ItemResult, error) {
	c, r, release, err := e.openToWrite(ctx, collection)
	if err != nil {
		return ItemResult{}, err
	}
	defer release()
	if err := CheckID(id); err != nil {
		return ItemResult{}, err
	}
	w := backend.Write{ID: id, Delete: true, IfRevision: ifRevision}
	outcomes, err := e.backend.Apply(ctx, backend.ApplyRequest{Collection: c.Name, Writes: []backend.Write{w}, Keep: r.keep()})
	if err != nil {
		return ItemResult{}, err
	}
	return itemResult(w, outcomes[0]), nil
}

// stored returns a document with the texts of its passages.
func stored(d *backend.Document, r record) (*StoredDocument, error) {
	parts, err := r.Settings.Fields.SplitStored(d.Fields)
	if err != nil {
		return nil, fmt.Errorf("stored document %s: %w", d.ID, err)
	}
	s := &StoredDocument{ID: d.ID, Revision: d.Revision, Fields: d.Fields, Passages: make([]PassageHit, len(d.Passages)), Blocks: d.Blocks}
	for i, p := range highlight.PassagesOf(parts, d) {
		s.Passages[i] = passageHit(p)
	}
	return s, s.addVectors(d, parts, r)
}
