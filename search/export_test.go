package search

import (
	"context"
	"testing"
	"time"
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
