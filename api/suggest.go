package api

import (
	"cmp"
	"net/http"

	"example.com/searchd/search"
)

// defaultSuggestions is how many completions a query gets.
const defaultSuggestions = 8

// suggest completes the query that somebody is typing.
func (s *Server) suggest(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := queryParams(r)
	q := search.Suggest{Limit: defaultSuggestions}
	q.Q, _ = p.text("q")
	if n, ok := p.integer("limit"); ok {
		q.Limit = n
	}
	var err error
	q.Within, err = within(r)
	if err = cmp.Or(p.err(), err); err != nil {
		return nil, err
	}
	out, err := s.o.Engine.Suggest(r.Context(), r.PathValue("collection"), q)
	return s.withPast(r.Context(), r.PathValue("collection"), q, out, err)
}
