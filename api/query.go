package api

import (
	"net/http"

	"searchd/search"
)

// postSearch answers the query of a JSON body.
func (s *Server) postSearch(w http.ResponseWriter, r *http.Request) error {
	c, err := collectionName(r)
	if err != nil {
		return err
	}
	var q search.Query
	if err := decodeBody(r, false, &q); err != nil {
		return err
	}
	return s.search(w, r, c, q)
}

// getSearch answers the query of a query string, whose parameters have the names of the body's members.
func (s *Server) getSearch(w http.ResponseWriter, r *http.Request) error {
	c, err := collectionName(r)
	if err != nil {
		return err
	}
	q, err := queryOf(queryParams(r))
	if err != nil {
		return err
	}
	return s.search(w, r, c, q)
}

func queryOf(p *params) (search.Query, error) {
	var q search.Query
	q.Q, _ = p.text("q")
	mode, _ := p.text("mode")
	fusion, _ := p.text("fusion")
	syntax, _ := p.text("syntax")
	q.Mode, q.Fusion, q.Syntax = search.Mode(mode), search.Fusion(fusion), search.Syntax(syntax)
	q.Filter, _ = p.text("filter")
	q.Operator, _ = p.text("operator")
	q.Fields = p.list("fields")
	for _, name := range p.list("facets") {
		q.Facets = append(q.Facets, search.Facet{Field: name})
	}
	for _, key := range p.list("sort") {
		q.Sort = append(q.Sort, search.ParseSortKey(key))
	}
	if alpha, ok := p.number("alpha"); ok {
		q.Alpha = &alpha
	}
	q.MinSimilarity, _ = p.number("min_similarity")
	q.Diversity, _ = p.number("diversity")
	if limit, ok := p.integer("limit"); ok {
		q.Limit = &limit
	}
	q.Offset, _ = p.integer("offset")
	q.Passages, _ = p.integer("passages")
	q.Window, _ = p.integer("window")
	if highlight, ok := p.boolean("highlight"); ok {
		q.Highlight = &highlight
	}
	q.Sentences, _ = p.boolean("sentences")
	q.Explain, _ = p.boolean("explain")
	q.Rerank, _ = p.boolean("rerank")
	q.RerankWindow, _ = p.integer("rerank_window")
	return q, p.err()
}

func (s *Server) search(w http.ResponseWriter, r *http.Request, collection string, q search.Query) error {
	res, err := s.o.Engine.Search(r.Context(), collection, q)
	if err != nil {
		return err
	}
	s.metrics.observeSearch(res)
	answer := *res // the engine's may be shared with other requests
	answer.RequestID = requestID(r.Context())
	return writeJSON(w, http.StatusOK, answer)
}
