package backend_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"searchd/index/keyword"
	"searchd/search/backend"
)

// near is what an index says, as a backend does.
func near(terms []keyword.NearTerm, stands bool) backend.NearTerms {
	out := backend.NearTerms{Stands: stands}
	for _, t := range terms {
		one := backend.NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled, Documents: t.DF}
		for _, no := range t.First {
			one.Refs = append(one.Refs, backend.Ref(no))
		}
		out.Terms = append(out.Terms, one)
	}
	return out
}

// TestMergeNearTwin: what parts say, merged, is what one index of all documents says.
func TestMergeNearTwin(t *testing.T) {
	word := rapid.StringMatching(`b[aob]{2,5}`)
	merged, stood := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		n := rapid.IntRange(1, 4).Draw(rt, "parts")
		var indexes []*keyword.Index
		for i := range n + 1 { // the last has all
			x, err := keyword.Open(filepath.Join(dir, fmt.Sprint(i)), keyword.Options{Language: "standard"})
			if err != nil {
				rt.Fatal(err)
			}
			defer x.Close()
			indexes = append(indexes, x)
		}
		entries := make([][]keyword.Entry, n+1)
		for no := range rapid.Uint32Range(0, 30).Draw(rt, "documents") {
			e := keyword.Entry{No: no, Text: []keyword.Field{{Name: "text", Text: word.Draw(rt, "word") + " " + word.Draw(rt, "word")}}}
			part := rapid.IntRange(0, n-1).Draw(rt, "part")
			entries[part], entries[n] = append(entries[part], e), append(entries[n], e)
		}
		for i, x := range indexes {
			if err := x.Apply(context.Background(), entries[i], 1); err != nil {
				rt.Fatal(err)
			}
		}
		var allow *roaring.Bitmap
		if rapid.Bool().Draw(rt, "allowed") {
			allow = roaring.BitmapOf(rapid.SliceOf(rapid.Uint32Range(0, 29)).Draw(rt, "allow")...)
		}
		for range 10 {
			w, most := word.Draw(rt, "asked"), rapid.IntRange(-1, backend.MaxEdits).Draw(rt, "edits") // -1: beginnings
			all := make([]backend.NearTerms, len(indexes))
			for i, x := range indexes {
				var terms []keyword.NearTerm
				var stands bool
				var err error
				if most < 0 {
					terms, stands, err = x.Beginning(context.Background(), w, allow)
				} else {
					terms, stands, err = x.Near(context.Background(), w, most, allow)
				}
				if err != nil {
					rt.Fatal(err)
				}
				all[i] = near(terms, stands)
			}
			got, want := backend.MergeNear(all[:n]), all[n]
			if got.Stands != want.Stands || len(got.Terms)+len(want.Terms) > 0 && !reflect.DeepEqual(got.Terms, want.Terms) {
				rt.Fatalf("%s, %d edits: %+v, want %+v", w, most, got, want)
			}
			if merged += len(got.Terms); got.Stands {
				stood++
			}
		}
	})
	if merged == 0 || stood == 0 {
		t.Errorf("%d terms merged, %d words stood", merged, stood)
	}
}

// TestMergeNearBounds: of more terms and documents than one answer has, the best and the lowest are kept.
func TestMergeNearBounds(t *testing.T) {
	var parts []backend.NearTerms
	for p := range 3 {
		var one backend.NearTerms
		for i := range backend.MaxNear {
			term := backend.NearTerm{Term: fmt.Sprint(p, i), Edits: 2, Documents: 1 + i}
			for ref := range backend.MaxNearRefs {
				term.Refs = append(term.Refs, backend.Ref(3*ref+p))
			}
			one.Terms = append(one.Terms, term)
		}
		one.Terms = append(one.Terms[1:], backend.NearTerm{Term: "all", Edits: 1, Documents: 10, Refs: one.Terms[0].Refs})
		parts = append(parts, one)
	}
	got := backend.MergeNear(parts)
	if len(got.Terms) != backend.MaxNear || got.Stands {
		t.Fatalf("%d terms, stands: %v", len(got.Terms), got.Stands)
	}
	want := backend.NearTerm{Term: "all", Edits: 1, Documents: 30}
	for ref := range backend.MaxNearRefs {
		want.Refs = append(want.Refs, backend.Ref(ref))
	}
	if !reflect.DeepEqual(got.Terms[0], want) || got.Terms[1].Documents != backend.MaxNear || slices.ContainsFunc(got.Terms, func(t backend.NearTerm) bool { return t.Documents < 40 && t.Term != "all" }) {
		t.Errorf("merged to %+v", got.Terms)
	}
	if got := backend.MergeNear(append(parts, backend.NearTerms{Stands: true})); !got.Stands || len(got.Terms) > 0 {
		t.Errorf("where one part has the word: %+v", got)
	}
	if got := backend.MergeNear(nil); got.Stands || len(got.Terms) > 0 {
		t.Errorf("without parts: %+v", got)
	}
}
