package api

import (
	"net/http"

	"searchd/search"
)

// postMap answers the map that a JSON body asks for; without a body, one with every default.
func (s *Server) postMap(w http.ResponseWriter, r *http.Request) error {
	var o search.MapOptions
	if err := decodeBody(r, true, &o); err != nil {
		return err
	}
	return s.drawMap(w, r, o)
}

// getMap answers the map that the parameters ask for, which have the names of the body's members.
func (s *Server) getMap(w http.ResponseWriter, r *http.Request) error {
	p := queryParams(r)
	var o search.MapOptions
	o.Q, _ = p.text("q")
	o.Limit, _ = p.integer("limit")
	o.Components, _ = p.integer("components")
	if err := p.err(); err != nil {
		return err
	}
	return s.drawMap(w, r, o)
}

func (s *Server) drawMap(w http.ResponseWriter, r *http.Request, o search.MapOptions) error {
	c, err := collectionName(r)
	if err != nil {
		return err
	}
	m, err := s.o.Engine.Map(r.Context(), c, o)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, m)
}
