package api

import (
	"net/http"
	"net/url"
	"slices"

	"example.com/searchd/search"
)

type aliasList struct {
	Aliases []search.Alias `json:"aliases"`
}

func (s *Server) listAliases(_ http.ResponseWriter, r *http.Request) (any, error) {
	list, err := s.o.Engine.Aliases(r.Context())
	list = slices.DeleteFunc(list, func(a search.Alias) bool { return callerOf(r.Context()).mayUse(a.Alias) != nil })
	return aliasList{list}, err
}

func (s *Server) alias(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.o.Engine.Alias(r.Context(), r.PathValue("alias"))
}

// putAlias creates the alias or moves it to another collection.
func (s *Server) putAlias(w http.ResponseWriter, r *http.Request) error {
	a := search.Alias{Alias: r.PathValue("alias")}
	if err := decodeBody(r, false, &a); err != nil {
		return err
	}
	if a.Alias != r.PathValue("alias") {
		return &search.FieldError{Field: "alias", Value: a.Alias, Allowed: "the alias of the path, or none"}
	}
	if err := checkCollection("collection", a.Collection); err != nil {
		return err
	}
	if err := callerOf(r.Context()).mayUse(a.Collection); err != nil {
		return err
	}
	created, err := s.o.Engine.SetAlias(r.Context(), a.Alias, a.Collection)
	if err != nil {
		return err
	}
	return writeCreated(w, created, "/v1/aliases/"+url.PathEscape(a.Alias), a)
}

func (s *Server) deleteAlias(_ http.ResponseWriter, r *http.Request) error {
	return s.o.Engine.DeleteAlias(r.Context(), r.PathValue("alias"))
}
