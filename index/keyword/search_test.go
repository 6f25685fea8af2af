package keyword

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// failing is a postings list that cannot be read beyond its first n postings.
type failing struct {
	segment.PostingsList
	n     int
	panic bool
}

type failingIterator struct {
	segment.PostingsIterator
	failing
}

func (f failing) Iterator(freq, norm, locations bool, prealloc segment.PostingsIterator) segment.PostingsIterator {
	return &failingIterator{f.PostingsList.Iterator(freq, norm, locations, prealloc), f}
}

var errUnreadable = errors.New("unreadable")

func (f *failingIterator) Next() (segment.Posting, error) {
	if f.n--; f.n >= 0 {
		return f.PostingsIterator.Next()
	}
	if f.panic {
		panic(errUnreadable)
	}
	return nil, errUnreadable
}

// TestSearchAfterFailure ends searches in the middle of a window: the next one finds what it found
// before.
func TestSearchAfterFailure(t *testing.T) {
	x := openTemp(t, Options{})
	var entries []Entry
	for no := range uint32(300) {
		entries = append(entries, Entry{No: no, Text: []Field{{"body", fmt.Sprintf("red green%d blue%d", no%2, no%3)}}})
	}
	apply(t, x, 1, entries...)
	ctx := context.Background()
	q := Query{Text: "red green1 blue2", Operator: And}
	want, all, err := x.Search(ctx, q, 300, nil)
	if err != nil || all != 50 {
		t.Fatalf("Search = %d, %v, want 50", all, err)
	}
	for _, tc := range []struct {
		name  string
		n     int
		panic bool
		want  error
	}{
		{"error at the first posting", 0, false, errUnreadable},
		{"error", 20, false, errUnreadable},
		{"panic", 20, true, ErrDamaged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 20 { // each may meet another window of the pool
				err := x.read(func(v *view) error {
					p, err := x.newPlan(ctx, v, q)
					if err != nil {
						return err
					}
					lists := p.postings[0]
					last := &lists[len(lists)-1].list
					*last = failing{*last, tc.n, tc.panic}
					_, err = p.search(ctx, nil, &topK{k: 10})
					return err
				})
				if !errors.Is(err, tc.want) {
					t.Fatalf("search = %v, want %v", err, tc.want)
				}
				got, total, err := x.Search(ctx, q, 300, nil)
				if err != nil || total != all || !slices.Equal(got, want) {
					t.Fatalf("Search after it = %d, %v, want %d and the same hits", total, err, all)
				}
			}
		})
	}
}
