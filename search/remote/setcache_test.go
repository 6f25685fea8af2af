package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/filter"
	"searchd/search/backend"
)

// TestLargeSetsCrossOnce searches in a set that is large: it crosses the wire once in each direction that it must, and again when the shard has forgotten it.
func TestLargeSetsCrossOnce(t *testing.T) {
	node := openNode(t)
	if err := node.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	var writes []backend.Write
	for i := range 8000 {
		fields, _ := json.Marshal(map[string]any{"text": "alpha", "size": i % 2})
		w := backend.Write{ID: fmt.Sprint(i), Fields: fields, Hash: [32]byte{1}}
		if i < 200 {
			w.Passages, w.Vectors = []backend.Passage{{Field: "text", End: 5}}, [][]float32{make([]float32, dimension)}
			w.Vectors[0][i%dimension] = 1
		}
		writes = append(writes, w)
	}
	if _, err := node.Apply(t.Context(), "docs", writes); err != nil {
		t.Fatal(err)
	}
	inner := Handler(node, HandlerOptions{Key: "secret"}).(*handler)
	var large atomic.Int64
	s := dialHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > largeSet {
			large.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	e, err := filter.Parse("size = 1")
	if err != nil {
		t.Fatal(err)
	}
	search := func(s backend.Shard) (out []any) {
		sel, err := s.Select(t.Context(), "docs", backend.Subset{Filter: e})
		if err != nil {
			t.Fatal(err)
		}
		q := make([]float32, dimension)
		q[1] = 1
		for range 2 {
			found, err := s.Nearest(t.Context(), "docs", q, 30, sel)
			words, wordsErr := s.Words(t.Context(), "docs", backend.Words{Text: "alpha", All: true}, 10, sel)
			facets, facetsErr := s.Facets(t.Context(), "docs", []backend.Facet{{Field: "size", Limit: 5}}, words.All)
			mine, setErr := s.Set(t.Context(), "docs", words.All, []backend.Ref{2})
			order, orderErr := s.Order(t.Context(), "docs", []backend.SortKey{{Field: "size"}}, mine, 5, backend.Scorer{})
			again, againErr := s.Order(t.Context(), "docs", []backend.SortKey{{Field: "size"}}, mine, 5, backend.Scorer{})
			near, nearErr := s.Near(t.Context(), "docs", "alpho", 1, sel)
			words.All = nil
			out = append(out, found, err, words, wordsErr, facets, facetsErr, setErr, order, orderErr, again, againErr, near, nearErr)
		}
		return out
	}
	want := search(node)
	for _, step := range []struct {
		name string
		then func()
		want int64
	}{
		{"first", func() {}, 1}, // the set that was made here
		{"the set made here is remembered", func() {}, 1},
		{"a change of the collection", func() { inner.sets.forget("docs") }, 1},
	} {
		step.then()
		large.Store(0)
		if got := search(s); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: mismatch\ngot  %v\nwant %v", step.name, got, want)
		}
		// Each search makes a set of its own twice, which the client sends once.
		if n := large.Load(); n != 2*step.want {
			t.Errorf("%s: %d large requests, want %d", step.name, n, 2*step.want)
		}
	}
	sel, err := s.Select(t.Context(), "docs", backend.Subset{Filter: e})
	if err != nil {
		t.Fatal(err)
	}
	large.Store(0)
	inner.sets.forget("docs")
	if _, err := s.Words(t.Context(), "docs", backend.Words{Text: "alpha"}, 10, sel); err != nil || large.Load() != 1 {
		t.Errorf("a set that was forgotten: %v, %d large requests, want 1", err, large.Load())
	}
	own := sel.(*selection)
	for _, c := range []chosen{{Documents: must(own.encoded()), Digest: make([]byte, 32)}, {Digest: make([]byte, 31)}, {Digest: make([]byte, 33)}, {Digest: []byte{}}} {
		body, _ := json.Marshal(found{Collection: "docs", Selection: &c})
		if w := post(inner, "words", string(body), "Authorization", "Bearer secret"); !slices.Contains(answerOf(t, w.Body.Bytes()).Codes, "invalid") {
			t.Errorf("a wrong digest of %d bytes: %d %s", len(c.Digest), w.Code, w.Body)
		}
	}
	if err := s.Update(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	if n := len(inner.sets.mu.byKey); n != 0 {
		t.Errorf("%d sets are remembered after a change of the collection", n)
	}
}

// TestSetCache fills the cache, and lets it forget.
func TestSetCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c setCache
		key := func(i int) setKey {
			return setKey{collection: fmt.Sprint(i % 2), digest: [32]byte{byte(i), byte(i >> 8)}}
		}
		set := newSelection(roaring.New(), func() ([]byte, error) { return nil, errors.ErrUnsupported })
		const each = maxSetsBytes / setCost / 10
		for i := range 12 {
			c.put(key(i), set, each)
			c.put(key(i), set, each)
			c.get(key(0))
		}
		there := func() (out []int) {
			for i := range 12 {
				if _, ok := c.get(key(i)); ok {
					out = append(out, i)
				}
			}
			return out
		}
		if got := there(); !slices.Equal(got, []int{0, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
			t.Errorf("remembered are %v, want the ten used last", got)
		}
		c.put(key(99), set, maxSetsBytes)
		c.forget("1")
		if got := there(); !slices.Equal(got, []int{0, 4, 6, 8, 10}) || c.mu.bytes != 5*setCost*each {
			t.Errorf("of one collection %v, %d bytes", got, c.mu.bytes)
		}
		time.Sleep(setTime - time.Second)
		c.get(key(4))
		time.Sleep(setTime - time.Second)
		c.mu.Lock()
		left := len(c.mu.byKey)
		c.mu.Unlock()
		if left != 1 {
			t.Errorf("%d are left, want the one that was used", left)
		}
		time.Sleep(2 * setTime)
		synctest.Wait()
		if len(c.mu.byKey) != 0 || c.mu.bytes != 0 || c.mu.last.Len() != 0 || c.mu.sweep != nil {
			t.Errorf("%d are left, %d bytes", len(c.mu.byKey), c.mu.bytes)
		}
	})
}
