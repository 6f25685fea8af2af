package keyword

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// zipfEntries returns documents with titles and bodies of words that are as frequent as those of a
// language.
func zipfEntries(r *rand.Rand, docs int) []Entry {
	zipf := rand.NewZipf(r, 1.1, 3, 5000)
	text := func(words int) string {
		var b strings.Builder
		for range words {
			fmt.Fprintf(&b, "w%d ", zipf.Uint64())
		}
		return b.String()
	}
	entries := make([]Entry, docs)
	for i := range entries {
		entries[i] = Entry{No: uint32(i), Text: []Field{{"body", text(5 + r.IntN(60))}}}
		if r.IntN(3) > 0 {
			entries[i].Text = append(entries[i].Text, Field{"title", text(1 + r.IntN(6))})
		}
	}
	return entries
}

// TestMaxScore compares searches with exhaustive ones, over segments, deletions, fields, filters,
// synonyms and words joined and split.
func TestMaxScore(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	x := openTemp(t, Options{Language: "standard"})
	entries := zipfEntries(r, 9000)
	for i, part := range [][2]int{{0, 5000}, {5000, 9000}} {
		apply(t, x, uint64(i+1), entries[part[0]:part[1]]...)
	}
	var changes []Entry
	for range 700 {
		no := r.Uint32N(9000)
		changes = append(changes, Entry{No: no, Delete: true})
		if r.IntN(3) == 0 {
			changes[len(changes)-1] = Entry{No: no, Text: entries[r.IntN(9000)].Text}
		}
	}
	apply(t, x, 3, changes...)
	rules, err := NewSynonyms("standard", []string{"w7, w900, w30", "w12 => w3 w4"})
	if err != nil {
		t.Fatal(err)
	}
	var scored, exhaustive int
	for range 300 {
		var words []string
		for range 1 + r.IntN(6) {
			words = append(words, fmt.Sprintf("w%d", int(float64(2000)*r.Float64()*r.Float64()*r.Float64())))
		}
		q := Query{Text: strings.Join(words, " "), Weight: func(field string) float64 { return map[string]float64{"title": 2.5, "body": 1}[field] }}
		if r.IntN(3) == 0 {
			q.Fields = []FieldWeight{{"body", 1}}
		}
		if r.IntN(3) == 0 {
			q.Synonyms = rules
		}
		var allow *roaring.Bitmap
		if share := r.IntN(4); share > 0 {
			allow = roaring.New()
			for no := range uint32(9000) {
				if r.IntN(2*share) == 0 {
					allow.Add(no)
				}
			}
		}
		k := []int{1, 10, 50, 200}[r.IntN(4)]
		var hits [2][]Hit
		var totals [2]int
		var all [2]*roaring.Bitmap
		err := x.read(func(v *view) error {
			for i := range hits {
				p, err := x.newPlan(t.Context(), v, q)
				if err != nil {
					return err
				}
				p.exhaustive = i == 1
				top := &topK{k: k, all: roaring.New()}
				if totals[i], err = p.search(t.Context(), allow, top); err != nil {
					return err
				}
				hits[i], all[i] = top.sorted(), top.all
				if i == 0 {
					scored += p.work.scored
				} else {
					exhaustive += p.work.scored
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(hits[0], hits[1]) || totals[0] != totals[1] || !all[0].Equals(all[1]) {
			t.Fatalf("%q, k %d finds %v of %d, want %v of %d", q.Text, k, hits[0], totals[0], hits[1], totals[1])
		}
	}
	if 3*scored > 2*exhaustive {
		t.Errorf("%d postings scored, exhaustively %d: want at most two thirds", scored, exhaustive)
	}
}
