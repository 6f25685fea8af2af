package embedded

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.com/searchd/search/backend"
)

// logged returns n random entries about a few documents, as a log accepts them: a document keeps
// the number of the entry that created it until it is deleted.
func logged(n int, r *rand.Rand) (entries []LogEntry) {
	numbers := map[string]uint32{}
	for i := range n {
		e := LogEntry{Revision: uint64(i + 1), Write: backend.Write{ID: fmt.Sprint("d", r.IntN(8))}}
		if r.IntN(3) == 0 {
			e.Delete = true
			delete(numbers, e.ID)
		} else {
			if numbers[e.ID] == 0 {
				numbers[e.ID] = uint32(e.Revision)
			}
			e.Number = numbers[e.ID]
			e.Fields = json.RawMessage(fmt.Sprintf(`{"text":"word%d common"}`, i))
			e.Hash = sha256.Sum256(e.Fields)
			for range r.IntN(3) {
				e.Passages = append(e.Passages, backend.Passage{Field: "text", Start: 0, End: 4})
				sin, cos := math.Sincos(r.Float64())
				e.Vectors = append(e.Vectors, []float32{float32(sin), float32(cos), 0})
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// compacted returns those entries after the first n that are the last of their document.
func compacted(entries []LogEntry, n int) (out []LogEntry) {
	seen := map[string]bool{}
	for _, e := range slices.Backward(entries[n:]) {
		if !seen[e.ID] {
			seen[e.ID] = true
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}

// TestReplay replays a log in one copy as it was written, in others from some place on as it was
// compacted later, in batches that overlap and with openings in between: all copies have the same
// documents with the same refs and revisions, find the same, and are sound.
func TestReplay(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		entries := logged(60, r)
		type state struct {
			docs  []*backend.Document
			words []backend.Match
			near  []backend.PassageMatch
		}
		var want state
		for i, list := range [][]LogEntry{entries, slices.Concat(entries[:20], compacted(entries, 20)), slices.Concat(entries[:40], compacted(entries, 40)), compacted(entries, 0)} {
			dir := t.TempDir()
			open := func() *Backend {
				b, err := Open(dir, Options{})
				must(t, err)
				return b
			}
			b := open()
			must(t, on(b).Create(t.Context(), "docs", backend.Config{Dimension: 3, Language: "en"}))
			for at := 0; at < len(list); {
				from, to := max(0, at-r.IntN(3)), min(at+1+r.IntN(9), len(list)) // some again
				must(t, b.Replay(t.Context(), "docs", list[from:to]))
				if place, err := b.Place(t.Context(), "docs"); err != nil || place != list[to-1].Revision {
					t.Fatalf("Place = %d, %v, want %d", place, err, list[to-1].Revision)
				}
				at = to
				if r.IntN(8) == 0 {
					must(t, b.Close())
					b = open()
				}
			}
			must(t, b.Replay(t.Context(), "docs", list[len(list)-2:]))
			var got state
			page, err := b.List(t.Context(), backend.ListRequest{Collection: "docs", Limit: 100})
			must(t, err)
			got.docs = page.Documents
			words, err := on(b).Words(t.Context(), "docs", backend.Words{Text: "common"}, 100, nil)
			must(t, err)
			got.words = words.Matches
			got.near, err = on(b).Nearest(t.Context(), "docs", []float32{1, 0, 0}, 100, nil)
			must(t, err)
			if i == 0 {
				want = got
			} else if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, copy %d differs:\n%+v\nwant %+v", seed, i, got, want)
			}
			if p, err := on(b).Problems(t.Context(), true); err != nil || len(p) > 0 {
				t.Fatalf("seed %d, copy %d has problems %v, %v", seed, i, p, err)
			}
			must(t, b.Close())
		}
	}
}

// TestReplayRefused replays entries that no log accepts.
func TestReplayRefused(t *testing.T) {
	b, err := Open(t.TempDir(), Options{})
	must(t, err)
	defer b.Close()
	must(t, on(b).Create(t.Context(), "docs", backend.Config{Dimension: 1, Language: "en"}))
	entry := func(id string, revision uint64, number uint32) LogEntry {
		return LogEntry{Write: backend.Write{ID: id, Fields: json.RawMessage(`{}`)}, Revision: revision, Number: number}
	}
	must(t, b.Replay(t.Context(), "docs", []LogEntry{entry("a", 1, 1)}))
	for what, e := range map[string]LogEntry{"the number of another": entry("b", 2, 1), "without a number": entry("b", 2, 0), "without an id": entry("", 2, 2)} {
		if err := b.Replay(t.Context(), "docs", []LogEntry{e}); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("an entry with %s: %v, want ErrInvalid", what, err)
		}
	}
	if place, err := b.Place(t.Context(), "docs"); err != nil || place != 1 {
		t.Errorf("Place = %d, %v, want 1", place, err)
	}
}

// TestReplayCopies replays the copies of a log that was rebuilt: documents have the revisions and
// numbers of before, and the place is that of the copies.
func TestReplayCopies(t *testing.T) {
	b, err := Open(t.TempDir(), Options{})
	must(t, err)
	defer b.Close()
	must(t, on(b).Create(t.Context(), "docs", backend.Config{Dimension: 1, Language: "en"}))
	entry := func(id string, revision, place uint64, number uint32) LogEntry {
		return LogEntry{Write: backend.Write{ID: id, Fields: json.RawMessage(`{}`)}, Revision: revision, Place: place, Number: number}
	}
	if head, err := b.Newest(t.Context(), "docs"); err != nil || head != nil {
		t.Errorf("Newest of none = %v, %v", head, err)
	}
	copies := []LogEntry{entry("a", 7, 21, 3), entry("b", 5, 22, 5)}
	for range 2 { // the second time changes nothing
		must(t, b.Replay(t.Context(), "docs", copies))
	}
	must(t, b.Replay(t.Context(), "docs", []LogEntry{entry("a", 23, 0, 3)}))
	docs, err := on(b).Lookup(t.Context(), "docs", []string{"a", "b"})
	must(t, err)
	if docs[0].Revision != 23 || docs[0].Ref.Number() != 3 || docs[1].Revision != 5 || docs[1].Ref.Number() != 5 {
		t.Errorf("documents %+v, %+v", docs[0], docs[1])
	}
	if place, err := b.Place(t.Context(), "docs"); err != nil || place != 23 {
		t.Errorf("Place = %d, %v, want 23", place, err)
	}
	if head, err := b.Newest(t.Context(), "docs"); err != nil || head == nil || head.ID != "b" {
		t.Errorf("Newest = %+v, %v, want b", head, err)
	}
	if err := b.Replay(t.Context(), "docs", []LogEntry{entry("c", 30, 29, 9)}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a place before the revision: %v, want ErrInvalid", err)
	}
}
