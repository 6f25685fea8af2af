package api

import (
	"context"
	"net/http"

	"example.com/searchd/api/events"
	"example.com/searchd/index/filter"
	"example.com/searchd/search"
)

// logged logs a search, if the server does so, and returns its answer with the id of the search.
func (s *Server) logged(ctx context.Context, collection string, q *search.Query, res *search.Response) *search.Response {
	if s.o.Analytics == nil || res == nil {
		return res
	}
	answer := *res // the engine's may be shared with other requests
	answer.SearchID = events.Record(s.o.Analytics, events.Resolve(ctx, s.o.Engine, collection), tenantOf(ctx, q.Within), q, res)
	return &answer
}

// tenantOf returns what stands for the documents that the sender of a request may see, empty but
// for a tenant token.
func tenantOf(ctx context.Context, within filter.Expr) string {
	if key := callerOf(ctx).key; key == nil || key.Tenant == nil {
		return ""
	}
	return events.Tenant(within)
}

// events returns the handlers of the routes of the log of searches.
func (s *Server) events() events.Handlers {
	return events.Handlers{Log: s.o.Analytics, Engine: s.o.Engine, Decode: decodeBody, Allowed: s.stillAllowed, Tenant: func(r *http.Request) (string, error) {
		visible, err := within(r)
		return tenantOf(r.Context(), visible), err
	}}
}

// report counts the logged searches of a collection.
func (s *Server) report(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := queryParams(r)
	days, limit := events.DefaultDays, events.DefaultLimit
	if n, ok := p.integer("days"); ok {
		days = n
	}
	if n, ok := p.integer("limit"); ok {
		limit = n
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return s.events().Report(r, days, limit)
}

// withPast adds queries of others to suggestions, if the server does so.
func (s *Server) withPast(ctx context.Context, collection string, q search.Suggest, out *search.Suggestions, err error) (*search.Suggestions, error) {
	if s.o.PastQueries == nil || err != nil {
		return out, err
	}
	all := *out
	name := events.Resolve(ctx, s.o.Engine, collection)
	all.Suggestions, err = s.o.PastQueries.Complete(ctx, name, tenantOf(ctx, q.Within), q.Q, q.Limit, out.Suggestions)
	return &all, err
}
