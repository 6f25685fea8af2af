package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	quality "example.com/searchd/internal/eval"
	"example.com/searchd/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// openNotes returns an engine over the bundled notes with the embedded checkpoint.
func openNotes(t *testing.T) *search.Engine {
	t.Helper()
	e, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	notes := readNotes(t)
	for _, id := range slices.Sorted(maps.Keys(notes)) { // equal scores are in the order of arrival
		fields, err := json.Marshal(notes[id].Fields)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, search.Document{ID: id, Fields: fields})
	}
	results, err := e.Ingest(t.Context(), "docs", docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return e
}

// TestRankStats holds the ranking of the bundled notes to testdata/rank_stats.txt, so that a change
// of the ranking is a change of a file that a person can read. Figures may differ by 0.02: kernels
// round differently, and a near tie may turn.
func TestRankStats(t *testing.T) {
	e := openNotes(t)
	var got strings.Builder
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		for _, paraphrase := range []bool{false, true} {
			kind := map[bool]string{false: "words", true: "paraphrase"}[paraphrase]
			n, first, three, mrr := 0, 0, 0, 0.0
			for _, q := range readQueries(t) {
				if q.paraphrase != paraphrase {
					continue
				}
				r, err := e.Search(t.Context(), "docs", search.Query{Q: q.text, Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				n++
				ids := make([]string, len(r.Hits))
				for i, h := range r.Hits {
					ids[i] = h.ID
				}
				judged := quality.Judgments{q.id: 1}
				mrr += quality.ReciprocalRank(ids, judged, 10)
				first += int(quality.Recall(ids, judged, 1))
				three += int(quality.Recall(ids, judged, 3))
			}
			fmt.Fprintf(&got, "%-8s %-10s queries %2d  recall@1 %.3f  recall@3 %.3f  MRR@10 %.3f\n",
				mode, kind, n, float64(first)/float64(n), float64(three)/float64(n), mrr/float64(n))
		}
	}
	path := filepath.Join("testdata", "rank_stats.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !sameFigures(got.String(), string(want), 0.02) {
		t.Errorf("the ranking changed; where it is meant to, run go test ./internal/e2e -run RankStats -update\n-want\n%s+got\n%s", want, got.String())
	}
}

// sameFigures compares two texts word by word; words that are numbers may differ by tolerance.
func sameFigures(a, b string, tolerance float64) bool {
	as, bs := strings.Fields(a), strings.Fields(b)
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		var x, y float64
		_, errA := fmt.Sscanf(as[i], "%f", &x)
		_, errB := fmt.Sscanf(bs[i], "%f", &y)
		if errA == nil && errB == nil {
			if math.Abs(x-y) > tolerance {
				return false
			}
		} else if as[i] != bs[i] {
			return false
		}
	}
	return true
}
