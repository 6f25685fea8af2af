package api

import (
	"net/http"

	"example.com/searchd/search"
)

// postMap returns the map that a JSON body asks for; without a body, one with every default.
func (s *Server) postMap(_ http.ResponseWriter, r *http.Request) (any, error) {
	var o search.MapOptions
	if err := decodeBody(r, true, &o); err != nil {
		return nil, err
	}
	return s.o.Engine.Map(r.Context(), r.PathValue("collection"), o)
}

// getMap is postMap with the members of the body as parameters.
func (s *Server) getMap(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := queryParams(r)
	var o search.MapOptions
	o.Q, _ = p.text("q")
	o.Limit, _ = p.integer("limit")
	o.Components, _ = p.integer("components")
	if err := p.err(); err != nil {
		return nil, err
	}
	return s.o.Engine.Map(r.Context(), r.PathValue("collection"), o)
}
