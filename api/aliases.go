package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"searchd/search"
)

type aliasList struct {
	Aliases []search.Alias `json:"aliases"`
}

func (s *Server) listAliases(w http.ResponseWriter, r *http.Request) error {
	list, err := s.o.Engine.Aliases(r.Context())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(a search.Alias) bool { return callerOf(r.Context()).mayUse(a.Alias) != nil })
	return writeJSON(w, http.StatusOK, aliasList{list})
}

// aliasName reads the alias from the path.
func aliasName(r *http.Request) (string, error) {
	return pathName("alias", strings.TrimPrefix(r.URL.EscapedPath(), "/v1/aliases/"))
}

func (s *Server) alias(w http.ResponseWriter, r *http.Request) error {
	name, err := aliasName(r)
	if err != nil {
		return err
	}
	a, err := s.o.Engine.Alias(r.Context(), name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, a)
}

// putAlias makes the alias, or lets it lead to another collection.
func (s *Server) putAlias(w http.ResponseWriter, r *http.Request) error {
	name, err := aliasName(r)
	if err != nil {
		return err
	}
	a := search.Alias{Alias: name}
	if err := decodeBody(r, false, &a); err != nil {
		return err
	}
	if a.Alias != name {
		return &search.FieldError{Field: "alias", Value: a.Alias, Allowed: "the alias of the path, or none"}
	}
	if err := checkCollection("collection", a.Collection); err != nil {
		return err
	}
	if err := callerOf(r.Context()).mayUse(a.Collection); err != nil {
		return err
	}
	created, err := s.o.Engine.SetAlias(r.Context(), name, a.Collection)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		w.Header().Set("Location", "/v1/aliases/"+url.PathEscape(name))
	}
	return writeJSON(w, status, a)
}

func (s *Server) deleteAlias(w http.ResponseWriter, r *http.Request) error {
	name, err := aliasName(r)
	if err != nil {
		return err
	}
	if err := s.o.Engine.DeleteAlias(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
