package backendtest

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"searchd/search/backend"
)

// apart is a backend that answers nothing in one call: the slow twin of one that does.
type apart struct{ backend.Backend }

// testLegs finds by both legs at once, and compares it with what the methods say of which it is made.
func testLegs(t *testing.T, l *library) {
	r := rand.New(rand.NewPCG(31, 32))
	q := backend.Words{Text: "old automobile bridge hunted wall", All: true}
	for name, set := range map[string]backend.Selection{"all": nil, "some": selected(t, l, "year EXISTS"), "none": selected(t, l, "nothing EXISTS")} {
		for _, documents := range []int{1, 3, 100} {
			for _, words := range []*backend.Words{nil, &q} {
				for _, least := range []float64{-1, 0.3} {
					asked := backend.Legs{Words: words, Vector: unit(r), Documents: documents, Passages: documents + documents/2, Least: least}
					got, err := backend.FindLegs(t.Context(), l.Backend, docs, asked, set)
					must(t, err)
					want, err := backend.FindLegs(t.Context(), apart{l.Backend}, docs, asked, set)
					must(t, err)
					n := min(len(got.Near), len(want.Near)) // both have what is wanted, and may have more
					first, wanted := got.Firsts(documents), want.Firsts(documents)
					if n < min(asked.Passages, len(got.Near)+len(want.Near)) && !(got.All && want.All) || !slices.Equal(got.Near[:n], want.Near[:n]) || want.All && !got.All {
						t.Errorf("near of %s by %+v: %+v, all: %t, want %+v, all: %t", name, asked, got.Near, got.All, want.Near, want.All)
					}
					if !got.All && len(first) < documents {
						t.Errorf("near of %s by %+v: %d documents, and there may be more", name, asked, len(first))
					}
					m := min(len(first), len(wanted))
					if len(got.Names) != len(first) || !slices.Equal(got.Names[:m], want.Names[:m]) || slices.Contains(got.Names, 0) {
						t.Errorf("names of %s by %+v: %v of %+v, want %v of %+v", name, asked, got.Names, first, want.Names, wanted)
					}
					if words == nil {
						if got.Scores != nil || got.Best != nil || got.Words.Total != 0 {
							t.Errorf("without words there is %+v", got)
						}
						continue
					}
					if len(got.Scores) != len(first) || !slices.Equal(got.Scores[:m], want.Scores[:m]) || !slices.Equal(got.Best, want.Best) || len(got.Best) != len(got.Words.Matches) {
						t.Errorf("of %s by %+v: scores %v, best %+v, want %v, %+v", name, asked, got.Scores, got.Best, want.Scores, want.Best)
					}
					if all := l.members(t, got.Words.All); all != l.members(t, want.Words.All) {
						t.Errorf("of %s %+v finds %s", name, q, all)
					}
					if got.Words.All, want.Words.All = nil, nil; !reflect.DeepEqual(got.Words, want.Words) {
						t.Errorf("of %s %+v finds %+v, want %+v", name, q, got.Words, want.Words)
					}
				}
			}
		}
	}
	if _, err := backend.FindLegs(t.Context(), l.Backend, "none", backend.Legs{Words: &q, Vector: unit(r), Documents: 1, Passages: 1}, nil); !errors.Is(err, backend.ErrCollectionNotFound) {
		t.Errorf("both legs of no collection: %v", err)
	}
}

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
	want, err := backend.ReadTexts(t.Context(), apart{l.Backend}, docs, passages)
	must(t, err)
	names, err := l.Names(t.Context(), docs, passages)
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("texts %+v, want %+v", got, want)
	}
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
		want, err := backend.ShowDocuments(t.Context(), apart{l.Backend}, docs, refs, asked)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v shows %+v, want %+v", asked, got, want)
		}
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
