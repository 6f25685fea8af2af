package api

import (
	"fmt"
	"net/http"

	"example.com/searchd/search"
)

// kept returns what reads former versions of documents.
func (s *Server) kept() (*search.Versions, error) {
	if s.o.Versions == nil {
		return nil, fmt.Errorf("%w: this server keeps no versions of documents", search.ErrUnsupported)
	}
	return s.o.Versions, nil
}

// versions lists the versions of a document, or returns one.
func (s *Server) versions(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := queryParams(r)
	revision, given := p.integer("revision")
	if err := p.err(); err != nil {
		return nil, err
	}
	v, err := s.kept()
	if err != nil {
		return nil, err
	}
	c, id := r.PathValue("collection"), r.PathValue("id")
	switch {
	case !given:
		return v.List(r.Context(), c, id)
	case revision < 1:
		return nil, wrongRevision(revision)
	}
	return v.Get(r.Context(), c, id, uint64(revision))
}

func wrongRevision(n int) error {
	return &search.FieldError{Field: "revision", Value: n, Allowed: "1 or more, as in the list of versions"}
}

// restoreVersion writes a version again.
func (s *Server) restoreVersion(w http.ResponseWriter, r *http.Request) error {
	v, err := s.kept()
	if err != nil {
		return err
	}
	var b struct {
		Revision int `json:"revision"`
	}
	if err := decodeBody(r, false, &b); err != nil {
		return err
	}
	if b.Revision < 1 {
		return wrongRevision(b.Revision)
	}
	c, id := r.PathValue("collection"), r.PathValue("id")
	doc, err := v.Document(r.Context(), c, id, uint64(b.Revision))
	if err != nil {
		return err
	}
	return s.replaceDocument(w, r, c, doc)
}

// forgetVersions removes the versions of a document.
func (s *Server) forgetVersions(_ http.ResponseWriter, r *http.Request) error {
	v, err := s.kept()
	if err != nil {
		return err
	}
	return v.Forget(r.Context(), r.PathValue("collection"), r.PathValue("id"))
}
