package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"example.com/searchd/index/filter"
	"example.com/searchd/search"
)

// postSearch runs the query in a JSON body.
func (s *Server) postSearch(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q search.Query
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	return s.search(r, q)
}

// getSearch runs the query in a query string. The parameters are named like the body's members.
func (s *Server) getSearch(_ http.ResponseWriter, r *http.Request) (any, error) {
	q, err := queryOf(queryParams(r))
	if err != nil {
		return nil, err
	}
	return s.search(r, q)
}

func queryOf(p *params) (search.Query, error) {
	var q search.Query
	q.Q, _ = p.text("q")
	mode, _ := p.text("mode")
	fusion, _ := p.text("fusion")
	syntax, _ := p.text("syntax")
	spelling, _ := p.text("spelling")
	q.Mode, q.Fusion, q.Syntax, q.Spelling = search.Mode(mode), search.Fusion(fusion), search.Syntax(syntax), search.Spelling(spelling)
	q.Unfinished, _ = p.boolean("unfinished")
	q.Filter, _ = p.text("filter")
	q.Operator, _ = p.text("operator")
	q.Fields = p.list("fields")
	for _, name := range p.list("facets") {
		q.Facets = append(q.Facets, search.Facet{Field: name})
	}
	if text, ok := p.text("sort"); ok {
		var err error
		q.Sort, err = search.ParseSortKeys(text)
		p.keep(err)
	}
	if text, ok := p.text("boosts"); ok {
		p.keep(readBoosts(text, &q))
	}
	if alpha, ok := p.number("alpha"); ok {
		q.Alpha = &alpha
	}
	q.MinSimilarity, _ = p.number("min_similarity")
	cutoff, _ := p.text("cutoff")
	q.Cutoff = search.Cutoff(cutoff)
	q.LessRelevant, _ = p.integer("less_relevant")
	q.Group, _ = p.text("group")
	q.Diversity, _ = p.number("diversity")
	if limit, ok := p.integer("limit"); ok {
		q.Limit = &limit
	}
	q.Offset, _ = p.integer("offset")
	q.Page, _ = p.integer("page")
	if passages, ok := p.integer("passages"); ok {
		q.Passages = &passages
	}
	q.ReturnFields = p.names("return_fields")
	q.OmitFields = p.names("omit_fields")
	q.Window, _ = p.integer("window")
	if highlight, ok := p.boolean("highlight"); ok {
		q.Highlight = &highlight
	}
	q.Sentences, _ = p.boolean("sentences")
	q.Explain, _ = p.boolean("explain")
	if rules, ok := p.boolean("rules"); ok {
		q.Rules = &rules
	}
	if log, ok := p.boolean("analytics"); ok {
		q.Analytics = &log
	}
	q.AllowPartial, _ = p.boolean("allow_partial")
	q.Rerank, _ = p.boolean("rerank")
	q.RerankWindow, _ = p.integer("rerank_window")
	return q, p.err()
}

// readBoosts reads boosts, which are JSON in a query string too.
func readBoosts(text string, q *search.Query) error {
	if !json.Valid([]byte(text)) {
		return &search.FieldError{Field: "boosts", Value: text, Allowed: `an array of objects in JSON, as in a body: [{"field": "stars", "scale": 100, "weight": 0.2}]`}
	}
	var b struct {
		Boosts []search.Boost `json:"boosts"`
	}
	err := decodeStrict([]byte(`{"boosts":`+text+`}`), &b)
	q.Boosts = b.Boosts
	return err
}

// batchItem is the answer to one query of a batch.
type batchItem struct {
	*search.Response
	Error *itemAnswerErr `json:"error,omitempty"` // then there is nothing else
}

func searchAt(i int) string { return fmt.Sprintf("/searches/%d", i) }

// batchSearch runs several queries. Each has its own answer or error.
func (s *Server) batchSearch(_ http.ResponseWriter, r *http.Request) (any, error) {
	c := r.PathValue("collection")
	var b struct {
		Searches []json.RawMessage `json:"searches"`
	}
	if err := decodeBody(r, false, &b); err != nil {
		return nil, err
	}
	if n := len(b.Searches); n == 0 || n > search.MaxBatch {
		return nil, &search.FieldError{Field: "searches", Value: n, Allowed: fmt.Sprintf("1 to %d queries", search.MaxBatch)}
	}
	visible, err := within(r)
	if err != nil {
		return nil, err
	}
	items := make([]batchItem, len(b.Searches))
	var queries []search.Query
	var at []int // by query: its place among the items
	for i, raw := range b.Searches {
		var q search.Query
		if raw[0] != '{' {
			items[i].Error = s.answerItemError("", &search.FieldError{Field: fmt.Sprintf("searches[%d]", i), Value: literal(raw), Allowed: "an object"})
			continue
		}
		if err := decodeStrict(raw, &q); err != nil {
			items[i].Error = s.answerItemError("", err).under(searchAt(i))
			continue
		}
		q.Within = visible
		queries, at = append(queries, q), append(at, i)
	}
	if len(queries) > 0 {
		if _, err := s.o.Engine.Collection(r.Context(), c); err != nil {
			return nil, err // of all of them
		}
		results, err := s.o.Engine.SearchBatch(r.Context(), c, queries)
		if err != nil {
			return nil, err
		}
		for i, res := range results {
			if res.Err != nil {
				items[at[i]].Error = s.answerItemError("", res.Err).under(searchAt(at[i]))
				continue
			}
			s.metrics.observeSearch(res.Response)
			items[at[i]].Response = res.Response
		}
	}
	return struct {
		Results   []batchItem `json:"results"`
		RequestID string      `json:"request_id"`
	}{items, requestID(r.Context())}, nil
}

// similar finds documents that are similar to others.
func (s *Server) similar(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q search.Similar
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	var err error
	if q.Within, err = within(r); err != nil {
		return nil, err
	}
	res, err := s.o.Engine.Similar(r.Context(), r.PathValue("collection"), q)
	return s.searched(r, res, err)
}

// postExplain explains the rank of a document for the query in a JSON body.
func (s *Server) postExplain(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q search.Query
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	return s.explain(r, q)
}

// getExplain explains the rank of a document for the query in a query string.
func (s *Server) getExplain(_ http.ResponseWriter, r *http.Request) (any, error) {
	q, err := queryOf(queryParams(r))
	if err != nil {
		return nil, err
	}
	return s.explain(r, q)
}

// within returns the documents that the sender of a request may see in the collection of its path.
func within(r *http.Request) (filter.Expr, error) {
	return callerOf(r.Context()).within(r.PathValue("collection"))
}

func (s *Server) explain(r *http.Request, q search.Query) (any, error) {
	var err error
	if q.Within, err = within(r); err != nil {
		return nil, err
	}
	x, err := s.o.Engine.Explain(r.Context(), r.PathValue("collection"), r.PathValue("id"), q)
	if err != nil {
		return nil, err
	}
	answer := *x
	answer.RequestID = requestID(r.Context())
	return answer, nil
}

func (s *Server) search(r *http.Request, q search.Query) (any, error) {
	var err error
	if q.Within, err = within(r); err != nil {
		return nil, err
	}
	res, err := s.o.Engine.Search(r.Context(), r.PathValue("collection"), q)
	return s.searched(r, s.logged(r.Context(), r.PathValue("collection"), &q, res), err)
}

// searched counts a search and adds the request id to its answer.
func (s *Server) searched(r *http.Request, res *search.Response, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	s.metrics.observeSearch(res)
	answer := *res // the engine's may be shared with other requests
	answer.RequestID = requestID(r.Context())
	return answer, nil
}
