package search

import (
	"context"
	"testing"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/inference"
)

// ForgetTokens empties the cache of tokens.
func (e *Engine) ForgetTokens() { e.encodings.Own.Forget() }

// SetReembedGrace has generations that have been replaced dropped sooner, until the test ends.
func SetReembedGrace(t *testing.T, d time.Duration) {
	before := reembedGrace
	reembedGrace = d
	t.Cleanup(func() { reembedGrace = before })
}

// Normalize gives v unit length, as documents are stored.
func Normalize(v []float32) { inference.Normalize(v) }

// HoldNames keeps everybody else from changing names.
func (e *Engine) HoldNames() (release func()) {
	done, _ := e.catalog.Begin(context.Background())
	return done
}

// Vectors returns the vectors of a collection's passages as they are stored, by document.
func (e *Engine) Vectors(t *testing.T, collection string) map[string][][]float32 {
	t.Helper()
	stored, _ := e.catalog.Stored(collection)
	out := map[string][][]float32{}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := e.backend.List(t.Context(), backend.ListRequest{Collection: stored, Cursor: cursor, Limit: 100, NoFields: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Documents {
			docs, err := e.backend.Lookup(t.Context(), backend.LookupRequest{Collection: stored, IDs: []string{d.ID}, NoFields: true, Vectors: true})
			if err != nil {
				t.Fatal(err)
			}
			out[d.ID] = docs[0].Vectors
		}
		cursor = page.Next
	}
	return out
}

// Expire deletes the documents that have expired at a time.
func Expire(e *Engine, ctx context.Context, now time.Time) error { return e.expire(ctx, now) }

// WindowOf returns the window of a query.
func WindowOf(q Query) int { return newPlan(q, false, false).Window }

// TrimVersions removes the versions that are too old at a time.
func TrimVersions(e *Engine, ctx context.Context, now time.Time) error {
	return e.trimVersions(ctx, now)
}
