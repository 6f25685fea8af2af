package keyword

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLackingEqualsLooking compares Lacking with a look at the documents, over segments and
// deletions.
func TestLackingEqualsLooking(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	x := openTemp(t, Options{})
	docs := map[uint32]Entry{}
	names := []string{"a", "b", "c", "d", "none"}
	for round := range 40 {
		var entries []Entry
		for range 1 + r.IntN(4) {
			e := Entry{No: r.Uint32N(6), Delete: r.IntN(3) == 0}
			if delete(docs, e.No); !e.Delete {
				name := names[r.IntN(4)]
				e.Values = map[string]any{name: []any{1, "x", nil, []any{}}[r.IntN(4)]}
				e.Text = []Field{{names[r.IntN(4)], []string{"word", ""}[r.IntN(2)]}}
				docs[e.No] = e
			}
			entries = append(entries, e)
		}
		apply(t, x, uint64(round+1), entries...)
		var want Fields
		for _, name := range names {
			value, text := false, false
			for _, e := range docs {
				v := e.Values[name]
				value = value || v == 1 || v == "x"
				text = text || e.Text[0] == Field{name, "word"}
			}
			if !value {
				want.Values = append(want.Values, name)
			}
			if !text {
				want.Texts = append(want.Texts, name)
			}
		}
		got, err := x.Lacking(t.Context(), Fields{names, names})
		if err != nil || !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Texts, want.Texts) {
			t.Fatalf("round %d: Lacking = %v, %v, want %v of %s", round, got, err, want, fmt.Sprint(docs))
		}
	}
}
