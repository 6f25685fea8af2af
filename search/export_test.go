package search

import (
	"context"
	"testing"
	"time"

	"searchd/search/backend"
)

// ForgetTokens empties the cache of tokens.
func (e *Engine) ForgetTokens() { e.encodings.own.passages = newTokenCache(matchBudget) }

// SetReembedGrace has generations that have been replaced dropped sooner, until the test ends.
func SetReembedGrace(t *testing.T, d time.Duration) {
	before := reembedGrace
	reembedGrace = d
	t.Cleanup(func() { reembedGrace = before })
}

// Normalize gives v unit length, as documents are stored.
func Normalize(v []float32) { normalize(v) }

// HoldNames keeps everybody else from changing names.
func (e *Engine) HoldNames() (release func()) {
	done, _ := e.catalog.begin(context.Background())
	return done
}

// Vectors returns the vectors of a collection's passages as they are stored, by document.
func (e *Engine) Vectors(t *testing.T, collection string) map[string][][]float32 {
	t.Helper()
	stored, _ := e.catalog.stored(collection)
	out := map[string][][]float32{}
	for cursor, more := "", true; more; more = cursor != "" {
		docs, next, err := e.backend.List(t.Context(), stored, cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			if _, out[d.ID], err = e.backend.(backend.VectorKeeper).Encoded(t.Context(), stored, d.ID); err != nil {
				t.Fatal(err)
			}
		}
		cursor = next
	}
	return out
}

// At returns q asked at an instant.
func (q Query) At(now time.Time) Query {
	q.now = now
	return q
}
