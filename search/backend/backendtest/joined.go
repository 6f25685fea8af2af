package backendtest

import (
	"math/rand/v2"
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
	got, err := backend.ReadTexts(t.Context(), l.Backend, docs, passages)
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
	if list, err := backend.ReadTexts(t.Context(), l.Backend, docs, nil); err != nil || len(list) > 0 {
		t.Errorf("no texts: %v, %v", list, err)
	}
}

// testShown reads what hits show.
func testShown(t *testing.T, l *library) {
	q := backend.Words{Text: "old automobile bridge hunted"}
	refs := append(l.of("train whale second bridge wall"), 1<<20)
	for _, asked := range []backend.Show{{}, {Vector: unit(rand.New(rand.NewPCG(33, 34)))}, {Words: &q}, {Words: &q, Every: true, Vector: unit(rand.New(rand.NewPCG(35, 36)))}} {
		got, err := backend.ShowDocuments(t.Context(), l.Backend, docs, refs, asked)
		must(t, err)
		for i, s := range got {
			if (s.Document == nil) != (i == len(refs)-1) || s.Document != nil && s.Document.Ref != refs[i] {
				t.Errorf("document %d is %+v", refs[i], s.Document)
			}
			if wanted := s.Document != nil && asked.Words != nil && (asked.Every || len(s.Document.Passages) > 1); s.Explained != wanted || !wanted && s.Terms != nil {
				t.Errorf("%+v: terms of %d: %+v", asked, refs[i], s.Terms)
			}
			if wanted := s.Document != nil && asked.Vector != nil && len(s.Document.Passages) > 0; wanted != (len(s.Cosines) > 0) {
				t.Errorf("%+v: cosines of %d: %v", asked, refs[i], s.Cosines)
			}
		}
	}
}
