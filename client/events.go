package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Events are the searches and clicks that a server has logged of a collection. Of a server that
// logs none the methods return an error with the code not_supported.
type Events struct {
	c    *Client
	path string
}

// EventsOf returns the events of a collection.
func EventsOf(c *Client, collection string) *Events { return &Events{c, collectionPath(collection)} }

// Event is a search or a click.
type Event struct {
	Time       time.Time `json:"time"`
	Event      string    `json:"event"` // search, click
	Collection string    `json:"collection"`
	SearchID   string    `json:"search_id"`
	Tenant     string    `json:"tenant,omitempty"` // of a tenant token: a hash of its filter

	// Of a search.
	Query string  `json:"q,omitempty"`
	Mode  string  `json:"mode,omitempty"`
	Hits  int     `json:"hits,omitempty"`  // documents found
	Score float64 `json:"score,omitempty"` // of the best hit, where scores are probabilities

	// Of a click.
	Document string `json:"document,omitempty"`
	Position int    `json:"position,omitempty"`
}

// Analytics counts searches and clicks.
type Analytics struct {
	Since      time.Time       `json:"since"`
	Searches   int             `json:"searches"`
	NoResults  int             `json:"no_results"`
	Weak       int             `json:"weak"`    // searches whose best hit has a probability of relevance below 0.5
	Clicked    int             `json:"clicked"` // searches of which a hit was opened
	Queries    []QueryCount    `json:"queries"`
	Unanswered []QueryCount    `json:"unanswered"` // with most searches that are weak or without results first
	Positions  []PositionCount `json:"positions"`
	Damaged    int             `json:"damaged_lines,omitempty"`
}

// QueryCount counts the searches with a query.
type QueryCount struct {
	Query        string  `json:"q"`
	Searches     int     `json:"searches"`
	NoResults    int     `json:"no_results"`
	Weak         int     `json:"weak"`
	Clicked      int     `json:"clicked"`
	MeanPosition float64 `json:"mean_position,omitempty"` // of the hits that were opened
}

// PositionCount counts the clicks on hits at a position; 10 stands for those beyond it, too.
type PositionCount struct {
	Position int `json:"position"`
	Clicks   int `json:"clicks"`
}

type newEvent struct {
	Event    string `json:"event"`
	SearchID string `json:"search_id"`
	Document string `json:"document,omitempty"`
	Position int    `json:"position,omitempty"`
}

// Click reports that somebody opened a hit of the search with this [Response.SearchID]; position
// counts all hits, from 1.
func (e *Events) Click(ctx context.Context, searchID, document string, position int) error {
	return e.c.send(ctx, call{method: http.MethodPost, path: e.path + "/events", effect: repeats}, newEvent{"click", searchID, document, position}, nil)
}

// View reports that somebody read the answer to an unfinished query, which counts from then on.
func (e *Events) View(ctx context.Context, searchID string) error {
	return e.c.send(ctx, call{method: http.MethodPost, path: e.path + "/events", effect: repeats}, newEvent{Event: "view", SearchID: searchID}, nil)
}

// Report counts the events of the last days, with at most limit queries in each list; 0 means the
// server's default.
func (e *Events) Report(ctx context.Context, days, limit int) (*Analytics, error) {
	q := url.Values{}
	if days != 0 {
		q.Set("days", strconv.Itoa(days))
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out := &Analytics{}
	return out, e.c.do(ctx, call{method: http.MethodGet, path: e.path + "/analytics", query: q}, out)
}

// List streams all events, oldest first. An error ends it; one comes too when the stream is cut
// off.
func (e *Events) List(ctx context.Context) iter.Seq2[*Event, error] {
	return lines[Event](ctx, e.c, e.path+"/events", "events")
}

// Delete deletes all events.
func (e *Events) Delete(ctx context.Context) error {
	return e.c.do(ctx, call{method: http.MethodDelete, path: e.path + "/events", effect: repeats}, nil)
}
