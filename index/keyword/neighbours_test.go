package keyword

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestNeighbourFilters compares the documents that neighbour filters leave with those that have a
// phrase: none of these may be excluded, and few of the others left.
func TestNeighbourFilters(t *testing.T) {
	words := strings.Fields("the a of turn off on wi-fi iPhone15 os.path.join O'Brien don't C++ 2024-03-15 v2.10.3 data base データベース 東京都 network's U.S. m² 16gb set up é naïve parseHTTPResponse x y z")
	r := rand.New(rand.NewPCG(7, 7))
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[r.IntN(len(words))] + []string{" ", " ", " ", ", ", "-", "\n\n", ""}[r.IntN(7)])
		}
		return b.String()
	}
	x := openTemp(t, Options{})
	texts := make([]string, 300)
	entries := make([]Entry, len(texts))
	for no := range entries {
		texts[no] = random(1 + r.IntN(30))
		entries[no] = Entry{No: uint32(no), Text: []Field{{"title", random(2)}, {"body", texts[no]}}}
	}
	apply(t, x, 1, entries...)
	left, have := 0, 0
	for range 500 {
		phrase := random(2 + r.IntN(3))
		if text := texts[r.IntN(len(texts))]; r.IntN(2) == 0 {
			begin := r.IntN(len(text))
			phrase = strings.ToValidUTF8(text[begin:min(len(text), begin+20)], "")
		}
		p := x.Phrase(phrase)
		if len(p.neighbours()) == 0 {
			continue
		}
		err := x.read(func(v *view) error {
			all := roaring.New()
			all.AddRange(0, uint64(len(texts)))
			docs, err := v.segments[0].mayHavePhrase(p, all)
			if err != nil {
				return err
			}
			left += int(docs.GetCardinality())
			for local, no := range v.segments[0].nos {
				held := NotHeld
				for _, f := range entries[no].Text {
					held = max(held, x.Holds(f.Text, nil, p)[0])
				}
				if held != NotHeld {
					have++
					if !docs.Contains(uint32(local)) {
						t.Errorf("%q has %q and is excluded", entries[no].Text, phrase)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if have < 500 || left > 2*have {
		t.Errorf("%d documents left, %d have the phrase", left, have)
	}
}

// TestNeighbourFilterRate measures how many pairs that a filter lacks it seems to have.
func TestNeighbourFilterRate(t *testing.T) {
	for _, size := range []int{1, 10, 100, 10_000} {
		r := rand.New(rand.NewPCG(1, uint64(size)))
		wrong, tried := 0, 0
		for range 20_000/size + 1 {
			n := neighbours{}
			for range size {
				n.pairs = append(n.pairs, r.Uint64())
			}
			filter := n.filter()
			for _, pair := range n.pairs {
				if !hasPair(filter, pair) {
					t.Fatalf("a filter of %d pairs lacks one of them", size)
				}
			}
			for range 50 {
				tried++
				if hasPair(filter, r.Uint64()) {
					wrong++
				}
			}
		}
		if rate := float64(wrong) / float64(tried); rate > .05 {
			t.Errorf("a filter of %d pairs has %.3f of all others", size, rate)
		}
	}
	if hasPair(nil, 1) {
		t.Error("an empty filter has a pair")
	}
}

// TestWithoutNeighbourFilters: documents without a filter are never excluded.
func TestWithoutNeighbourFilters(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Values: map[string]any{"n": 1}})
	err := x.read(func(v *view) error {
		docs, err := v.segments[0].mayHavePhrase(x.Phrase("ice cream"), roaring.BitmapOf(0))
		if docs.GetCardinality() != 1 {
			t.Errorf("left are %v", docs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
