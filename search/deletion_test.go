package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/search"
)

func TestDeleteByFilter(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(1300)...) // more than two pages
	count := func() int {
		t.Helper()
		info, err := e.Collection(t.Context(), "docs")
		if err != nil {
			t.Fatal(err)
		}
		return info.Documents
	}
	for _, tc := range []struct {
		filter string
		dryRun bool
		want   search.Deletion
		left   int
	}{
		{"even = true", true, search.Deletion{Matched: 650, Complete: true}, 1300},
		{"even = true", false, search.Deletion{Matched: 650, Deleted: 650, Complete: true}, 650},
		{"even = true", false, search.Deletion{Complete: true}, 650},
		{"n >= 100 AND NOT n IN (101, 103)", false, search.Deletion{Matched: 598, Deleted: 598, Complete: true}, 52},
		{"n EXISTS", false, search.Deletion{Matched: 52, Deleted: 52, Complete: true}, 0},
	} {
		d, err := e.DeleteByFilter(t.Context(), "docs", tc.filter, tc.dryRun)
		if err != nil || d != tc.want || count() != tc.left {
			t.Errorf("DeleteByFilter(%s, %t) = %+v, %v, %d left, want %+v, %d left", tc.filter, tc.dryRun, d, err, count(), tc.want, tc.left)
		}
	}
	for _, text := range []string{"", "n =", "n == 3"} {
		if _, err := e.DeleteByFilter(t.Context(), "docs", text, false); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("filter %q: %v, want ErrInvalid", text, err)
		}
	}
	if problems, err := e.Check(t.Context(), true); err != nil || len(problems) != 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}

// TestDeleteByFilterBehind takes the folder of the keyword index away, so that it lacks what is
// written: documents are deleted by what they are, not by what they were.
func TestDeleteByFilterBehind(t *testing.T) {
	dir := t.TempDir()
	alarm := make(chan string, 10)
	e, err := search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, Alarm: func(s string) { alarm <- s }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, numbered(100)...)
	folders, err := filepath.Glob(filepath.Join(dir, "indexes", "*", "keyword"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	if err := os.Rename(folders[0], filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("last", `{"text":"last"}`))
	select {
	case s := <-alarm:
		if !strings.Contains(s, "cannot write") {
			t.Errorf("alarm %q", s)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no alarm")
	}
	var changed []search.Document
	for i := range 60 {
		changed = append(changed, doc(fmt.Sprintf("n%03d", i), `{"text":"changed","even":"neither"}`))
	}
	put(t, e, search.Updated, changed...)
	for _, tc := range []struct {
		filter string
		want   search.Deletion
	}{
		{"even = true", search.Deletion{Matched: 20, Deleted: 20, Complete: true}},
		{"even = 'neither'", search.Deletion{Matched: 60, Deleted: 60, Complete: true}},
	} {
		if d, err := e.DeleteByFilter(t.Context(), "docs", tc.filter, false); err != nil || d != tc.want {
			t.Errorf("DeleteByFilter(%s) = %+v, %v, want %+v", tc.filter, d, err, tc.want)
		}
	}
}

// TestDeleteByFilterWhileWriting changes documents while they are deleted: one that passes no more
// when it is deleted stays.
func TestDeleteByFilterWhileWriting(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(150)...)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 150 { // from the end, where the deletion comes last
			d := doc(fmt.Sprintf("n%03d", 149-i), `{"text":"kept","even":"no more"}`)
			if _, err := e.Ingest(t.Context(), "docs", []search.Document{d}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 5 {
		if _, err := e.DeleteByFilter(t.Context(), "docs", "even = true OR even = false", false); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	docs, _, err := e.Documents(t.Context(), "docs", "", 1000)
	if err != nil || len(docs) != 150 { // each was written at the end, after it was deleted or before
		t.Fatalf("%d documents, %v, want 150", len(docs), err)
	}
	for _, d := range docs {
		if !strings.Contains(string(d.Fields), "kept") {
			t.Errorf("%s is %s", d.ID, d.Fields)
		}
	}
}

// slow is a fakeEmbedder whose queries take until ctx ends.
type slow struct{ *fakeEmbedder }

func (s slow) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if o.Query {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.fakeEmbedder.Embed(ctx, texts, o)
}

func TestSlowEncoderDegrades(t *testing.T) {
	e, err := search.Open(t.TempDir(), search.Options{Embedder: slow{&fakeEmbedder{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, numbered(5)...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	q := search.Query{Q: "word3", Facets: []search.Facet{{Field: "even"}}, Sort: []search.SortKey{{Field: "n"}}}
	r, err := e.Search(ctx, "docs", q)
	if err != nil || !r.Degraded || !strings.Contains(r.Reason, "too long") || len(r.Hits) != 1 || r.Total.Of != "keyword" || r.Facets["even"].Documents != 1 {
		t.Fatalf("hybrid: %+v, %v", r, err)
	}
	q.Mode = search.Semantic
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := e.Search(short, "docs", q); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("semantic: %v, want the deadline", err)
	}
}

// TestTotalsAreHonest wants "gte" only where there is more than was counted.
func TestTotalsAreHonest(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(20)...)
	for _, tc := range []struct {
		window, value int
		relation      string
	}{{21, 20, "eq"}, {20, 20, "eq"}, {19, 19, "gte"}, {1, 1, "gte"}} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: "common", Mode: search.Semantic, Window: tc.window, Limit: ptr(1)})
		if err != nil || r.Total.Value != tc.value || r.Total.Relation != tc.relation {
			t.Errorf("window %d: total %+v, %v, want %d %s", tc.window, r.Total, err, tc.value, tc.relation)
		}
		r, err = e.Search(t.Context(), "docs", search.Query{Q: "common", Mode: search.Keyword, Window: tc.window, Limit: ptr(1)})
		if err != nil || r.Total.Value != 20 || r.Total.Relation != "eq" {
			t.Errorf("window %d by words: total %+v, %v, want 20 eq", tc.window, r.Total, err)
		}
	}
}
