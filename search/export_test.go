package search

import (
	"context"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/inference"
)

// ForgetTokens empties the cache of tokens.
func (e *Engine) ForgetTokens() { e.encodings.Own.Forget() }

// Lessons counts the collections of which it is kept, or being learnt, what they say of their words.
func (e *Engine) Lessons() int {
	e.lessons.mu.Lock()
	defer e.lessons.mu.Unlock()
	return len(e.lessons.mu.byKey)
}

// HoldLessons keeps collections from being learnt.
func (e *Engine) HoldLessons() (release func()) {
	e.lessons.turn.Lock()
	return e.lessons.turn.Unlock
}

// SetLessonBounds has learning read less, or take less time, until the test ends.
func SetLessonBounds(t *testing.T, bytes int, d time.Duration) {
	size, most := lessonBytes, lessonTime
	lessonBytes, lessonTime = bytes, d
	t.Cleanup(func() { lessonBytes, lessonTime = size, most })
}

// SetLessonWait has searches wait longer, or less long, for what has never been learnt, until the test ends.
func SetLessonWait(t *testing.T, d time.Duration) {
	before := lessonWait
	lessonWait = d
	t.Cleanup(func() { lessonWait = before })
}

// SetLessonsBudget has lessons take less memory, until the test ends.
func SetLessonsBudget(t *testing.T, bytes int) {
	before := lessonsBudget
	lessonsBudget = bytes
	t.Cleanup(func() { lessonsBudget = before })
}

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

// At returns q asked at an instant.
func (q Query) At(now time.Time) Query {
	q.now = now
	return q
}
