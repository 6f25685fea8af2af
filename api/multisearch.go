package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"example.com/searchd/search"
)

// maxMultiSearch bounds the searches that are merged.
const maxMultiSearch = 32

// maxMultiWeight is the largest weight of a search.
const maxMultiWeight = 100

// collectionQuery is one of the searches that are merged: a query of a collection.
type collectionQuery struct {
	Collection string       `json:"collection"`
	Weight     *float64     `json:"weight,omitempty"` // of its scores; default 1
	Query      search.Query `json:"query"`
}

// multiQuery asks several collections.
type multiQuery struct {
	Q        string            `json:"q"` // of the searches that have none of their own
	Searches []json.RawMessage `json:"searches"`
	Limit    *int              `json:"limit,omitempty"`
	Offset   int               `json:"offset,omitempty"`
}

// multiHit is a hit with the search that found it.
type multiHit struct {
	Collection string `json:"collection"`
	Search     int    `json:"search"` // its place in the request
	search.Hit
}

// multiPart is the answer to one search.
type multiPart struct {
	Collection string          `json:"collection"`
	Response   search.Response `json:"response"` // without hits once they are merged
}

// multiAnswer has the merged hits.
type multiAnswer struct {
	Hits      []multiHit   `json:"hits"`
	Total     search.Total `json:"total"`
	Searches  []multiPart  `json:"searches"`
	TookMS    float64      `json:"took_ms"`
	RequestID string       `json:"request_id,omitempty"`
}

// multiSearch asks several collections and merges what they find.
func (s *Server) multiSearch(_ http.ResponseWriter, r *http.Request) (any, error) {
	start := time.Now()
	var b multiQuery
	if err := decodeBody(r, false, &b); err != nil {
		return nil, err
	}
	queries, err := b.queries()
	if err != nil {
		return nil, err
	}
	limit := search.DefaultLimit
	if b.Limit != nil {
		limit = *b.Limit
	}
	for i := range queries {
		if b.Offset > 0 { // the first page is in the log
			queries[i].Query.Analytics = new(false)
		}
	}
	parts, err := s.askAll(r.Context(), queries, b.Offset+limit)
	if err != nil {
		return nil, err
	}
	a := multiAnswer{RequestID: requestID(r.Context())}
	a.Hits, a.Total = merge(parts, queries, b.Offset, limit)
	for _, p := range parts {
		p.Response.Hits = []search.Hit{}
		a.Searches = append(a.Searches, p)
	}
	a.TookMS = float64(time.Since(start).Microseconds()) / 1e3
	return a, nil
}

// queries reads the searches and checks what the merge needs of them.
func (b *multiQuery) queries() ([]collectionQuery, error) {
	if n := len(b.Searches); n == 0 || n > maxMultiSearch {
		return nil, &search.FieldError{Field: "searches", Value: n, Allowed: fmt.Sprintf("1 to %d searches", maxMultiSearch)}
	}
	if b.Limit != nil && (*b.Limit < 0 || *b.Limit > search.MaxLimit) {
		return nil, &search.FieldError{Field: "limit", Value: *b.Limit, Allowed: fmt.Sprintf("0 to %d", search.MaxLimit)}
	}
	if b.Offset < 0 || b.Offset > search.MaxWindow-search.MaxLimit {
		return nil, &search.FieldError{Field: "offset", Value: b.Offset, Allowed: fmt.Sprintf("0 to %d", search.MaxWindow-search.MaxLimit)}
	}
	queries := make([]collectionQuery, len(b.Searches))
	for i, raw := range b.Searches {
		if raw[0] != '{' {
			return nil, &search.FieldError{Field: fmt.Sprintf("searches[%d]", i), Value: literal(raw), Allowed: "an object"}
		}
		q := &queries[i]
		if err := decodeStrict(raw, q); err != nil {
			return nil, inSearch(i, err)
		}
		q.Query.Q = cmp.Or(q.Query.Q, b.Q)
		if err := q.check(&queries[0]); err != nil {
			return nil, inSearch(i, err)
		}
	}
	return queries, nil
}

// check refuses what cannot be merged with the hits of the first search.
func (q *collectionQuery) check(first *collectionQuery) error {
	wrong := func(field string, value any, allowed string) error {
		return &search.FieldError{Field: field, Value: value, Allowed: allowed}
	}
	mode := func(q search.Query) search.Mode { return cmp.Or(q.Mode, search.Hybrid) }
	fusion := func(q search.Query) search.Fusion { return cmp.Or(q.Fusion, search.Relative) }
	one, other := q.Query, first.Query
	switch {
	case q.Weight != nil && !(*q.Weight > 0 && *q.Weight <= maxMultiWeight):
		return wrong("weight", *q.Weight, fmt.Sprintf("above 0, at most %d", maxMultiWeight))
	case one.Limit != nil:
		return wrong("query.limit", *one.Limit, "none: limit and offset beside searches are for all of them together")
	case one.Offset != 0:
		return wrong("query.offset", one.Offset, "none: limit and offset beside searches are for all of them together")
	case one.Page != 0:
		return wrong("query.page", one.Page, "none: limit and offset beside searches are for all of them together")
	case len(one.Sort) > 0:
		return wrong("query.sort", len(one.Sort), "none: the hits are merged by their scores")
	case one.LessRelevant != 0:
		return wrong("query.less_relevant", one.LessRelevant, "0")
	case mode(one) != mode(other):
		return wrong("query.mode", mode(one), fmt.Sprintf("%s, as of the first search: scores of different modes cannot be compared", mode(other)))
	case fusion(one) != fusion(other):
		return wrong("query.fusion", fusion(one), fmt.Sprintf("%s, as of the first search", fusion(other)))
	case one.Rerank != other.Rerank:
		return wrong("query.rerank", one.Rerank, fmt.Sprintf("%t, as of the first search", other.Rerank))
	}
	return checkPathName("collection", q.Collection)
}

// inQuery prefixes the fields of an error of the engine with the member that has the query.
func inQuery(err error) error {
	var fe *search.FieldError
	if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
		err = many.Unwrap()[0]
	}
	if errors.As(err, &fe) {
		return &search.FieldError{Field: "query." + fe.Field, Value: fe.Value, Allowed: fe.Allowed}
	}
	return err
}

// inSearch prefixes the pointers of an error with that of its search.
func inSearch(i int, err error) error {
	items := problemItems(err)
	if len(items) == 0 {
		return err
	}
	return &requestError{kind: kindOf(err), pointer: searchAt(i) + items[0].Pointer, detail: fmt.Sprintf("searches[%d]: %s", i, err), said: items[0].Detail}
}

// kindOf returns the sentinel of an error of a request.
func kindOf(err error) error {
	if errors.Is(err, errMalformed) {
		return errMalformed
	}
	return search.ErrInvalid
}

// askAll asks each collection for its first n hits, one after another, so that a request takes one
// slot. The first error ends it.
func (s *Server) askAll(ctx context.Context, queries []collectionQuery, n int) ([]multiPart, error) {
	who, now := callerOf(ctx), time.Now()
	parts := make([]multiPart, len(queries))
	for i := range queries {
		q := &queries[i]
		if err := who.mayUse(q.Collection); err != nil {
			return nil, err
		}
		var err error
		if q.Query.Within, err = who.within(q.Collection); err != nil {
			return nil, err
		}
		most := min(n, search.MaxLimit)
		q.Query.Limit, q.Query.Now = &most, now
		q.Query.Window = max(q.Query.Window, search.DefaultWindow, most)
		res, err := s.o.Engine.Search(ctx, q.Collection, q.Query)
		if err != nil {
			return nil, inSearch(i, inQuery(err))
		}
		s.metrics.observeSearch(res)
		parts[i] = multiPart{q.Collection, *s.logged(ctx, q.Collection, &q.Query, res)}
	}
	return parts, nil
}

// merge returns a page of the hits of several searches, best first, and their total.
//
//  1. Scores of hybrid and semantic searches are probabilities of relevance, and comparable. BM25,
//     the score of a keyword search, has no upper limit and becomes BM25 / (BM25 + 1).
//  2. The score of a hit is multiplied by the weight of its search. What is below 0, as raw outputs
//     of cross-encoders can be, is divided by it.
//  3. Equal scores come in the order of the searches.
func merge(parts []multiPart, queries []collectionQuery, offset, limit int) ([]multiHit, search.Total) {
	all, total := []multiHit{}, search.Total{Relation: "eq", Of: parts[0].Response.Total.Of}
	for i, p := range parts {
		w := 1.0
		if queries[i].Weight != nil {
			w = *queries[i].Weight
		}
		for _, h := range p.Response.Hits {
			if queries[i].Query.Mode == search.Keyword && !queries[i].Query.Rerank {
				h.Score /= h.Score + 1
			}
			if h.Score >= 0 {
				h.Score *= w
			} else {
				h.Score /= w
			}
			all = append(all, multiHit{p.Collection, i, h})
		}
		total.Value += p.Response.Total.Value
		if p.Response.Total.Relation == "gte" {
			total.Relation = "gte"
		}
	}
	slices.SortStableFunc(all, func(a, b multiHit) int { return cmp.Compare(b.Score, a.Score) })
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))], total
}
