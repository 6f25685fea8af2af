package events

import (
	"context"
	"strings"

	"example.com/searchd/analytics"
	"example.com/searchd/search/suggest"
)

// Query is the kind of a completion that is a query of others.
const Query suggest.Kind = "query"

// maxWeight is how many searches of a query count for its place.
const maxWeight = 1000

// Past completes queries with those that others searched before.
type Past struct {
	log   *analytics.Log
	cache *suggest.Cache
}

// NewPast returns the completions of the queries in a log. The caller closes it before the log.
func NewPast(l *analytics.Log) *Past { return &Past{l, suggest.NewCache()} }

// Close ends what runs in the background.
func (p *Past) Close() { p.cache.Close() }

// Complete puts queries that others searched, with results and among the same documents, before the
// completions in found: at most half of limit, as long as there are others.
func (p *Past) Complete(ctx context.Context, collection, tenant, typed string, limit int, found []suggest.Completion) ([]suggest.Completion, error) {
	index, err := p.cache.Index(ctx, collection+"/"+tenant, suggest.Reader{Version: p.log.PopularVersion(), Read: func(ctx context.Context, add func(suggest.Document)) error {
		counts, err := p.log.Popular(ctx, collection, tenant)
		for q, n := range counts {
			for range min(n, maxWeight) {
				add(suggest.Document{Title: q})
			}
		}
		return err
	}})
	if err != nil || index == nil {
		return found, closed(err)
	}
	all := func(_ context.Context, list []suggest.Completion) ([]bool, error) {
		keep := make([]bool, len(list))
		for i := range keep {
			keep[i] = true
		}
		return keep, nil
	}
	past, err := index.Complete(ctx, typed, limit, all)
	if err != nil {
		return nil, err
	}
	return merge(past, found, limit), nil
}

// merge puts past queries before other completions and leaves out what comes twice.
func merge(past, found []suggest.Completion, limit int) []suggest.Completion {
	room := max(limit-len(found), (limit+1)/2)
	past = past[:min(room, len(past))]
	out, seen := make([]suggest.Completion, 0, limit), map[string]bool{}
	take := func(c suggest.Completion) {
		key := strings.Join(suggest.Words(c.Text), " ")
		if len(out) < limit && !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	for _, c := range past {
		c.Kind = Query
		take(c)
	}
	for _, c := range found {
		take(c)
	}
	return out
}
