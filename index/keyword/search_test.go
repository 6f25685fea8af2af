package keyword

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestSearchAfterPanic ends searches in the middle of a window by postings of a document that does
// not exist. The next search finds what one before it found.
func TestSearchAfterPanic(t *testing.T) {
	x := openTemp(t, Options{})
	var entries []Entry
	for no := range uint32(300) {
		entries = append(entries, Entry{No: no, Text: []Field{{"body", fmt.Sprintf("red green%d blue%d", no%2, no%3)}}})
	}
	apply(t, x, 1, entries...)
	q := Query{Text: "red green1 blue2", Operator: And}
	want, all, err := x.Search(t.Context(), q, 300, nil)
	if err != nil || all != 50 {
		t.Fatalf("Search = %d, %v, want 50", all, err)
	}
	for range 20 { // each may meet another window of the pool
		err := x.read(func(v *view) error {
			p, err := x.newPlan(t.Context(), v, q)
			if err != nil {
				return err
			}
			lists := p.postings[0]
			lists[len(lists)-1].postings = newPostings([]uint32{0, 400}, []uint32{1, 1}, fieldLengths{tokens: make([]uint32, 401)})
			_, err = p.search(t.Context(), nil, &topK{k: 10})
			return err
		})
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("search = %v, want %v", err, ErrDamaged)
		}
		if got, total, err := x.Search(t.Context(), q, 300, nil); err != nil || total != all || !slices.Equal(got, want) {
			t.Fatalf("Search after it = %d, %v, want %d and the same hits", total, err, all)
		}
	}
}
