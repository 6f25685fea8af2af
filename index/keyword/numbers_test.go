package keyword

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
)

// TestNumbersEqualValues compares the numbers and dates of some documents with those of their
// values: found down their prefixes, in lists, and where lists would be too long.
func TestNumbersEqualValues(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	x := openTemp(t, Options{})
	ctx := context.Background()
	docs := map[uint32]any{}
	for round := range 2 {
		var entries []Entry
		for no := range uint32(2000) {
			no += uint32(round) * 1700
			var v []any
			for range r.IntN(4) {
				v = append(v, []any{
					float64(r.IntN(50)), r.NormFloat64() * 1e6, int64(r.Uint64()), -0.0, "text", true,
					time.UnixMicro(r.Int64N(4e15) - 1e15).UTC().Format(time.RFC3339Nano), fmt.Sprintf("20%02d-01-02", r.IntN(60)),
				}[r.IntN(8)])
			}
			docs[no] = v
			entries = append(entries, Entry{No: no, Values: map[string]any{"f": v, "g": float64(no)}})
		}
		apply(t, x, uint64(2*round+1), entries...)
		apply(t, x, uint64(2*round+2), Entry{No: uint32(round), Delete: true})
		delete(docs, uint32(round))
	}
	if err := x.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	some := roaring.New()
	for range 300 {
		some.Add(r.Uint32N(4000))
	}
	defer func(most int) { maxNumbers = most }(maxNumbers)
	for round, most := range []int{0, math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt} {
		maxNumbers = most
		if round < 2 {
			for _, s := range currentView(t, x).segments {
				s.walks.mu.Lock()
				s.walks.terms = nil
				s.walks.mu.Unlock()
			}
		}
		for _, dates := range []bool{false, true} {
			for _, of := range []*roaring.Bitmap{some, nil} {
				want := map[uint32][]float64{}
				for no, v := range docs {
					if of != nil && !of.Contains(no) {
						continue
					}
					for _, v := range filter.Values(nil, v) {
						if v.Kind == filter.Date && dates {
							want[no] = append(want[no], float64(v.Time))
						} else if v.Kind == filter.Number && !dates {
							want[no] = append(want[no], v.Num)
						}
					}
				}
				got := map[uint32][]float64{}
				if err := x.Numbers(ctx, "f", dates, of, func(no uint32, value float64) { got[no] = append(got[no], value) }); err != nil {
					t.Fatal(err)
				}
				for no := range docs {
					if g, w := distinct(got[no]), distinct(want[no]); !slices.Equal(g, w) {
						t.Fatalf("round %d, dates %t: document %d of %v has %v, want %v", round, dates, no, docs[no], g, w)
					}
				}
				if len(got) != len(want) || len(want) == 0 {
					t.Fatalf("round %d, dates %t: %d documents, want %d", round, dates, len(got), len(want))
				}
			}
		}
	}
	if n := x.caches.numbers.Bytes(); n < 2*docNumberBytes {
		t.Errorf("%d bytes of lists are kept after five rounds", n)
	}
	if err := x.Numbers(ctx, "nothing", false, some, func(uint32, float64) { t.Error("a field that nobody has") }); err != nil {
		t.Error(err)
	}
}

func distinct(list []float64) []float64 {
	slices.Sort(list)
	return slices.Compact(list)
}

func currentView(t testing.TB, x *Index) (out *view) {
	t.Helper()
	if err := x.read(func(v *view) error { out = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNumbersOfNothing: nothing is kept of fields that no document has, of which there are as many
// as people ask for.
func TestNumbersOfNothing(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Values: map[string]any{"n": 1.0}})
	for i := range 100 {
		err := x.Numbers(context.Background(), fmt.Sprint("missing", i), i%2 == 0, roaring.BitmapOf(1), func(uint32, float64) { t.Error("a number") })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range currentView(t, x).segments {
		if n := len(s.walks.terms); n > 0 {
			t.Errorf("%d fields are kept", n)
		}
	}
}

// TestNumbersAtOnce: who asks while a list is made is answered without.
func TestNumbersAtOnce(t *testing.T) {
	x := openTemp(t, Options{})
	for no := range uint32(60) {
		apply(t, x, uint64(no+1), Entry{No: no, Values: map[string]any{"n": float64(no)}})
	}
	ask := func() {
		sum := 0.0
		err := x.Numbers(context.Background(), "n", false, roaring.BitmapOf(3, 30, 31, 99), func(_ uint32, value float64) { sum += value })
		if err != nil || sum != 64 {
			t.Errorf("the sum is %g, %v", sum, err)
		}
	}
	x.caches.building.Lock()
	for range 20 {
		ask()
	}
	x.caches.building.Unlock()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 30 {
				ask()
			}
		})
	}
	wg.Wait()
}

func TestPassing(t *testing.T) {
	x := openTemp(t, Options{})
	for no := range uint32(40) {
		apply(t, x, uint64(no+1), Entry{No: no, Values: map[string]any{"n": float64(no % 4)}})
	}
	some := roaring.BitmapOf(1, 2, 5, 7, 13, 99)
	for _, text := range []string{"n = 1", "NOT n = 1", "n EXISTS", "missing EXISTS"} {
		e, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Passing(context.Background(), e, some)
		if err != nil {
			t.Fatal(err)
		}
		want, err := x.Filter(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		if want.And(some); !got.Equals(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
