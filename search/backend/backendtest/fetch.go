package backendtest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"searchd/search/backend"
)

// testTexts reads passages.
func testTexts(t *testing.T, l *library) {
	var passages []backend.PassageRef
	for _, id := range append(l.sorted(), "whale") {
		for i := range 3 {
			passages = append(passages, backend.PassageRef{Ref: l.refs[id], Ordinal: i - 1})
		}
	}
	got, err := l.Texts(t.Context(), docs, passages)
	must(t, err)
	names, err := l.Names(t.Context(), docs, passages)
	must(t, err)
	for i, p := range got {
		if p.Name != names[i] {
			t.Errorf("the text of %+v has the name %d, want %d", passages[i], p.Name, names[i])
		}
	}
	if w := got[len(got)-2]; w.Title != "The white whale" || w.Text != "A ca" {
		t.Errorf("the first passage of the whale is %+v", w)
	}
	if list, err := l.Texts(t.Context(), docs, nil); err != nil || len(list) > 0 {
		t.Errorf("no texts: %v, %v", list, err)
	}
}

// testShown fetches documents with what hits show of them.
func testShown(t *testing.T, l *library) {
	q := backend.Words{Text: "old automobile bridge hunted"}
	refs := append(l.of("train whale second bridge wall"), 1<<20)
	vector := unit(rand.New(rand.NewPCG(33, 34)))
	cosines, err := l.Cosines(t.Context(), docs, vector, refs)
	must(t, err)
	terms, err := l.WordTerms(t.Context(), docs, q, refs)
	must(t, err)
	for _, asked := range []backend.FetchRequest{{}, {Vector: vector}, {Words: &q, Terms: backend.TermsOfSeveral}, {Words: &q, Terms: backend.AllTerms, Vector: vector}} {
		asked.Collection, asked.Refs, asked.Documents = docs, refs, true
		got, err := l.Backend.Fetch(t.Context(), asked)
		must(t, err)
		if len(got.Documents) != len(refs) || (got.Terms != nil) != (asked.Words != nil) || asked.Vector != nil && !reflect.DeepEqual(got.Cosines, cosines) || asked.Vector == nil && got.Cosines != nil {
			t.Errorf("Fetch(%+v) = %+v", asked, got)
			continue
		}
		for i, d := range got.Documents {
			if (d == nil) != (i == len(refs)-1) || d != nil && d.Ref != refs[i] {
				t.Errorf("document %d is %+v", refs[i], d)
			}
			if got.Terms == nil {
				continue
			}
			var want []backend.TermScore
			if d != nil && (asked.Terms == backend.AllTerms || len(d.Passages) > 1) {
				want = terms[i]
			}
			if !slices.Equal(got.Terms[i], want) {
				t.Errorf("Fetch(%+v): terms of %d are %+v, want %+v", asked, refs[i], got.Terms[i], want)
			}
		}
	}
}
