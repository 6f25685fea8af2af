package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/shards"
)

// With SEARCH_SHARDS=3 in the environment the tests open engines over three shards.
func init() {
	if n, err := strconv.Atoi(os.Getenv("SEARCH_SHARDS")); err == nil {
		openBackend = func(ctx context.Context, dir string, o embedded.Options) (backend.Backend, error) {
			return OpenShards(ctx, dir, n, o)
		}
	}
}

// OpenShards opens n shards in folders of dir as one backend.
func OpenShards(ctx context.Context, dir string, n int, o embedded.Options) (b backend.Backend, err error) {
	var parts []backend.Shard
	defer func() {
		for _, p := range parts {
			if err != nil {
				err = errors.Join(err, p.Close())
			}
		}
	}()
	for i := range n {
		p, err := embedded.OpenContext(ctx, filepath.Join(dir, fmt.Sprintf("shard-%d", i)), embedded.Options{Notice: o.Notice, Alarm: o.Alarm, Promote: o.Promote})
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return shards.Open(ctx, parts, shards.Options{Notice: o.Notice, Alarm: o.Alarm})
}

// ForgetTokens empties the cache of tokens.
func (e *Engine) ForgetTokens() { e.encodings.own.passages = newTokenCache(matchBudget) }

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
