package backendtest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.com/searchd/search/backend"
)

// testTexts reads the texts of passages.
func testTexts(t *testing.T, l *library) {
	var passages []backend.PassageRef
	for _, id := range append(l.sorted(), "whale") {
		for i := range 3 {
			passages = append(passages, backend.PassageRef{Ref: l.refs[id], Ordinal: i - 1})
		}
	}
	got := l.fetch(t, backend.FetchRequest{Passages: passages, Texts: true, Names: true})
	for i, p := range got.Texts {
		if p.Name != got.Names[i] {
			t.Errorf("the text of %+v has the name %d, want %d", passages[i], p.Name, got.Names[i])
		}
	}
	if w := got.Texts[len(passages)-2]; w.Title != "The white whale" || w.Text != "A ca" {
		t.Errorf("the first passage of the whale is %+v", w)
	}
	if list := l.fetch(t, backend.FetchRequest{Texts: true}).Texts; len(list) > 0 {
		t.Errorf("no texts: %v", list)
	}
}

// testCombined fetches documents together with what hits show of them.
func testCombined(t *testing.T, l *library) {
	q := backend.Words{Text: "old automobile bridge hunted"}
	refs := append(l.of("train whale second bridge wall"), 1<<20)
	vector := unit(rand.New(rand.NewPCG(33, 34)))
	parts := l.fetch(t, backend.FetchRequest{Refs: refs, Vector: vector, Words: &q, Terms: backend.AllTerms})
	for _, asked := range []backend.FetchRequest{{}, {Vector: vector}, {Words: &q, Terms: backend.TermsOfSeveral}, {Words: &q, Terms: backend.AllTerms, Vector: vector}} {
		asked.Refs, asked.Documents = refs, true
		got := l.fetch(t, asked)
		if len(got.Documents) != len(refs) || (got.Terms != nil) != (asked.Words != nil) || asked.Vector != nil && !reflect.DeepEqual(got.Cosines, parts.Cosines) || asked.Vector == nil && got.Cosines != nil {
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
				want = parts.Terms[i]
			}
			if !slices.Equal(got.Terms[i], want) {
				t.Errorf("Fetch(%+v): terms of %d are %+v, want %+v", asked, refs[i], got.Terms[i], want)
			}
		}
	}
}

// testGauges reads the gauges and checks a backend without faults.
func testGauges(t *testing.T, l *library) {
	ctx := t.Context()
	c, err := l.Collection(ctx, docs)
	list, _ := l.passages()
	if err != nil || c.Documents != len(texts) || c.Passages != len(list) || c.DamagedDocuments != 0 {
		t.Errorf("Open = %+v, %v, want %d documents and %d passages", c, err, len(texts), len(list))
	}
	now, err := l.Stats(ctx, backend.StatsRequest{})
	if err != nil || now.StoreBytes <= 0 || now.ReadOnly != "" || len(now.Rebuilds) > 0 || now.Index != nil {
		t.Errorf("Stats = %+v, %v", now, err)
	}
	now, err = l.Stats(ctx, backend.StatsRequest{Collection: docs})
	must(t, err)
	if s := now.Index; s.Documents != len(texts) || s.Passages != len(list) || s.Damaged != 0 || s.GraphRebuild || s.KeywordRebuild || s.KeywordLag != 0 || s.KeywordBytes <= 0 {
		t.Errorf("Stats of a collection = %+v", s)
	}
	for _, r := range []backend.CheckRequest{{}, {Deep: true}, {Vectors: true}} {
		if found, err := l.Check(ctx, r); err != nil || len(found.Problems)+len(found.Vectors) != 0 {
			t.Errorf("Check(%+v) = %+v, %v", r, found, err)
		}
	}
}
