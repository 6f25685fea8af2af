// Package events has the routes of the log of searches and clicks, and writes searches into it.
package events

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"example.com/searchd/analytics"
	"example.com/searchd/index/filter"
	"example.com/searchd/search"
)

// Handlers answer the routes.
type Handlers struct {
	Log    *analytics.Log // nil: the routes answer that searches are not logged
	Engine Engine

	// Decode decodes a JSON body strictly.
	Decode func(r *http.Request, optional bool, v any) error
	// Tenant returns what stands for the documents that the sender of a request may see in the
	// collection of its path; empty for all.
	Tenant func(r *http.Request) (string, error)
	// Allowed returns an error once the key of a request is not valid any more.
	Allowed func(ctx context.Context) error
}

// Engine knows collections and aliases.
type Engine interface {
	Collection(ctx context.Context, name string) (search.CollectionInfo, error)
	Alias(ctx context.Context, alias string) (search.Alias, error)
}

// Limits of requests.
const (
	MaxDays      = 3650
	MaxQueries   = 1000
	DefaultDays  = 30
	DefaultLimit = 20
	maxPosition  = 100_000
	maxID        = 512
)

// errOff answers where searches are not logged.
var errOff = fmt.Errorf("%w: this server logs no searches; start it with --analytics-days", search.ErrUnsupported)

// Resolve returns the collection that a name or an alias stands for.
func Resolve(ctx context.Context, e Engine, name string) string {
	if a, err := e.Alias(ctx, name); err == nil {
		return a.Collection
	}
	return name
}

// collection returns the collection of a request's path, which must exist.
func (h Handlers) collection(r *http.Request) (string, error) {
	if h.Log == nil {
		return "", errOff
	}
	info, err := h.Engine.Collection(r.Context(), r.PathValue("collection"))
	return info.Name, err
}

// event is what an application reports of a search.
type event struct {
	Event    analytics.Kind `json:"event"`
	SearchID string         `json:"search_id"`
	Document string         `json:"document"`
	Position int            `json:"position"`
}

func (e *event) check() error {
	wrong := func(field string, value any, allowed string) error {
		return &search.FieldError{Field: field, Value: value, Allowed: allowed}
	}
	id := fmt.Sprintf("1 to %d bytes", maxID)
	switch {
	case e.Event != analytics.Click && e.Event != analytics.View:
		return wrong("event", string(e.Event), "click, view")
	case e.SearchID == "" || len(e.SearchID) > maxID:
		return wrong("search_id", e.SearchID, "the search_id of an answer")
	case e.Event == analytics.View && e.Document != "":
		return wrong("document", e.Document, "none: the answer was read, no hit was opened")
	case e.Event == analytics.View && e.Position != 0:
		return wrong("position", e.Position, "none: the answer was read, no hit was opened")
	case e.Event == analytics.View:
		return nil
	case e.Document == "" || len(e.Document) > maxID:
		return wrong("document", e.Document, id)
	case e.Position < 1 || e.Position > maxPosition:
		return wrong("position", e.Position, fmt.Sprintf("1 to %d", maxPosition))
	}
	return nil
}

// Add logs that somebody opened a hit, or read the answer to a query that was not finished.
func (h Handlers) Add(_ http.ResponseWriter, r *http.Request) error {
	collection, err := h.collection(r)
	if err != nil {
		return err
	}
	var e event
	if err := h.Decode(r, false, &e); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return err
	}
	tenant, err := h.Tenant(r)
	if err != nil {
		return err
	}
	h.Log.Act(analytics.Event{Kind: e.Event, Collection: collection, SearchID: e.SearchID, Tenant: tenant, Document: e.Document, Position: e.Position})
	return nil
}

// List sends the events of a collection as NDJSON, oldest first.
func (h Handlers) List(w http.ResponseWriter, r *http.Request) error {
	collection, err := h.collection(r)
	if err != nil {
		return err
	}
	begun := false
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	begin := func() {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.WriteHeader(http.StatusOK)
		}
	}
	n := 0
	_, err = h.Log.Events(r.Context(), collection, h.Log.Since(0), func(e analytics.Event) error {
		if n++; n%1000 == 0 {
			if err := h.Allowed(r.Context()); err != nil {
				return err
			}
		}
		begin()
		return enc.Encode(e)
	})
	switch {
	case err == nil:
		begin()
		return out.Flush()
	case begun:
		panic(http.ErrAbortHandler) // a cut connection cannot be taken for the end of the events
	}
	return closed(err)
}

// Report answers with the counts of the last days.
func (h Handlers) Report(r *http.Request, days, limit int) (any, error) {
	collection, err := h.collection(r)
	if err != nil {
		return nil, err
	}
	if days < 1 || days > MaxDays {
		return nil, &search.FieldError{Field: "days", Value: days, Allowed: fmt.Sprintf("1 to %d", MaxDays)}
	}
	if limit < 0 || limit > MaxQueries {
		return nil, &search.FieldError{Field: "limit", Value: limit, Allowed: fmt.Sprintf("0 to %d", MaxQueries)}
	}
	tally, since := analytics.NewTally(), h.Log.Since(days)
	damaged, err := h.Log.Events(r.Context(), collection, since, func(e analytics.Event) error { tally.Add(e); return nil })
	if err != nil {
		return nil, closed(err)
	}
	out := tally.Report(limit)
	out.Since, out.Damaged = since, damaged
	return out, nil
}

// Clear deletes the events of a collection, which may be gone.
func (h Handlers) Clear(_ http.ResponseWriter, r *http.Request) error {
	if h.Log == nil {
		return errOff
	}
	return closed(h.Log.Forget(r.Context(), Resolve(r.Context(), h.Engine, r.PathValue("collection"))))
}

func closed(err error) error {
	if errors.Is(err, analytics.ErrClosed) {
		return search.ErrClosed
	}
	return err
}

// Tenant returns what stands for the documents that a tenant may see; nil: all.
func Tenant(within filter.Expr) string {
	if within == nil {
		return analytics.Tenant("")
	}
	return analytics.Tenant(within.String())
}

// Record logs a search and returns its id. It logs none without words, none that the caller wants
// left out, no further pages, and none whose query is too long; then the id is empty.
func Record(l *analytics.Log, collection, tenant string, q *search.Query, r *search.Response) string {
	off := q.Analytics != nil && !*q.Analytics
	if off || strings.TrimSpace(q.Q) == "" || len(q.Q) > analytics.MaxQuery || q.Offset > 0 || q.Page > 1 || q.Limit != nil && *q.Limit == 0 {
		return ""
	}
	e := analytics.Event{Collection: collection, Tenant: tenant, Query: q.Q, Mode: string(q.Mode), Hits: r.Total.Value}
	if e.Mode == "" {
		e.Mode = string(search.Hybrid)
	}
	if len(r.Hits) == 0 {
		e.Hits = 0
	}
	probable := q.Mode != search.Keyword && (q.Fusion == "" || q.Fusion == search.Relative) && !q.Rerank && len(q.Boosts) == 0
	for _, h := range r.Hits {
		if probable {
			e.Score = max(e.Score, math.Round(h.Score*1000)/1000)
		}
	}
	return l.Search(e, q.Unfinished)
}
