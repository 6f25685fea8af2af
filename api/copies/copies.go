// Package copies has the routes that copy a collection from one server to another, with passages
// and vectors as they are stored.
package copies

import (
	"fmt"
	"net/http"
	"strconv"

	"example.com/searchd/search"
)

// Handlers answer the routes.
type Handlers struct {
	Copies *search.Copies // nil: copies are not supported

	// Decode decodes a JSON body strictly.
	Decode func(r *http.Request, optional bool, v any) error
	// Body returns a body of one of the media types.
	Body func(r *http.Request, optional bool, types ...string) ([]byte, error)
}

// Count is the header of an answer of [Handlers.Read] with the number of ids that it is about.
const Count = "Documents-Count"

// copies returns what makes copies.
func (h Handlers) copies() (*search.Copies, error) {
	if h.Copies == nil {
		return nil, fmt.Errorf("%w: this server makes no copies of collections", search.ErrUnsupported)
	}
	return h.Copies, nil
}

// Original describes a collection for Begin.
func (h Handlers) Original(_ http.ResponseWriter, r *http.Request) (any, error) {
	c, err := h.copies()
	if err != nil {
		return nil, err
	}
	return c.Original(r.Context(), r.PathValue("collection"))
}

// Begin begins or goes on with a copy.
func (h Handlers) Begin(_ http.ResponseWriter, r *http.Request) error {
	c, err := h.copies()
	if err != nil {
		return err
	}
	o := search.Original{Of: r.PathValue("of")}
	if err := h.Decode(r, false, &o); err != nil {
		return err
	}
	if o.Of != r.PathValue("of") {
		return &search.FieldError{Field: "of", Value: o.Of, Allowed: "that of the path, or none"}
	}
	return c.Begin(r.Context(), r.PathValue("collection"), o)
}

// End ends a copy.
func (h Handlers) End(_ http.ResponseWriter, r *http.Request) error {
	c, err := h.copies()
	if err != nil {
		return err
	}
	return c.End(r.Context(), r.PathValue("collection"), r.PathValue("of"))
}

// Write puts documents into a copy.
func (h Handlers) Write(_ http.ResponseWriter, r *http.Request) error {
	c, err := h.copies()
	if err != nil {
		return err
	}
	b, err := h.Body(r, true, "application/octet-stream")
	if err != nil {
		return err
	}
	return c.Write(r.Context(), r.PathValue("collection"), r.PathValue("of"), b)
}

type digestRequest struct {
	IDs    []string `json:"ids"`
	Cursor string   `json:"cursor"`
	Limit  *int     `json:"limit"`
}

type digestList struct {
	Documents []search.CopyDigest `json:"documents"`
	Next      string              `json:"next,omitempty"`
}

// Digests answers with the digests of documents, or of a page of all.
func (h Handlers) Digests(_ http.ResponseWriter, r *http.Request) (any, error) {
	c, err := h.copies()
	if err != nil {
		return nil, err
	}
	var q digestRequest
	if err := h.Decode(r, false, &q); err != nil {
		return nil, err
	}
	var out digestList
	if q.IDs != nil {
		if q.Cursor != "" || q.Limit != nil {
			return nil, &search.FieldError{Field: "ids", Value: len(q.IDs), Allowed: "none beside cursor and limit"}
		}
		out.Documents, err = c.Digests(r.Context(), r.PathValue("collection"), q.IDs)
		return out, err
	}
	limit := search.MaxCopied / 2
	if q.Limit != nil {
		limit = *q.Limit
	}
	out.Documents, out.Next, err = c.List(r.Context(), r.PathValue("collection"), q.Cursor, limit)
	return out, err
}

// Read answers with documents as they are stored.
func (h Handlers) Read(w http.ResponseWriter, r *http.Request) error {
	c, err := h.copies()
	if err != nil {
		return err
	}
	var q struct {
		IDs []string `json:"ids"`
	}
	if err := h.Decode(r, false, &q); err != nil {
		return err
	}
	if len(q.IDs) == 0 {
		return &search.FieldError{Field: "ids", Value: 0, Allowed: fmt.Sprintf("1 to %d", search.MaxCopied)}
	}
	b, n, err := c.Read(r.Context(), r.PathValue("collection"), q.IDs)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(Count, strconv.Itoa(n))
	_, err = w.Write(b)
	return err
}
