package keyword

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/internal/edits"
)

// TestNearTwin: Near finds what a look at all words of all documents finds.
func TestNearTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		var b strings.Builder
		for range 4 + r.IntN(4) {
			b.WriteString([]string{"a", "b", "ó", "日"}[r.IntN(4)])
		}
		return b.String()
	}
	x := openTemp(t, Options{Language: "standard"})
	have := map[uint32][]string{}
	for seq := range uint64(4) { // some segments, with documents written again and deleted
		var entries []Entry
		for range 40 {
			no := uint32(r.IntN(100))
			if r.IntN(8) == 0 {
				delete(have, no)
				entries = append(entries, Entry{No: no, Delete: true})
				continue
			}
			words := []string{word(), word(), word()}
			have[no] = words
			entries = append(entries, Entry{No: no, Text: []Field{{"title", words[0]}, {"body", words[1] + " " + words[2]}}})
		}
		apply(t, x, seq+1, lastOf(entries)...)
	}
	terms := map[string]map[uint32]bool{}
	for no, words := range have {
		for _, w := range words {
			for _, token := range x.Analyze(w) {
				if terms[token.Term] == nil {
					terms[token.Term] = map[uint32]bool{}
				}
				terms[token.Term][no] = true
			}
		}
	}
	found := 0
	for range 300 {
		w, most := word(), 1+r.IntN(MaxEdits)
		var allow *roaring.Bitmap
		if r.IntN(2) == 0 {
			allow = roaring.New()
			for range 60 {
				allow.Add(uint32(r.IntN(100)))
			}
		}
		got, stands, err := x.Near(context.Background(), w, most, allow, false)
		if err != nil {
			t.Fatal(err)
		}
		own := x.Analyze(w)
		if there := len(own) != 1 || terms[own[0].Term] != nil; there != stands || stands && len(got) > 0 {
			t.Fatalf("Near(%s) = %v, stands: %v, want %v", w, got, stands, there)
		}
		if stands {
			continue
		}
		var want []NearTerm
		for term, nos := range terms {
			n := edits.Between(own[0].Term, term)
			if short := len([]rune(w)) - len([]rune(term)); strings.HasPrefix(w, term) && len([]rune(term)) >= minStem && short <= maxStemCut {
				n = 1
			}
			df := 0
			for no := range nos {
				if allow == nil || allow.Contains(no) {
					df++
				}
			}
			if n <= most && df > 0 && []rune(term)[0] == []rune(own[0].Term)[0] {
				want = append(want, NearTerm{Term: term, Edits: n, DF: df, Doubled: undoubled(term) == undoubled(own[0].Term)})
			}
		}
		doubled := func(t NearTerm) int {
			if t.Doubled {
				return 0
			}
			return 1
		}
		order := func(a, b NearTerm) int {
			return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(doubled(a), doubled(b)), cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
		}
		slices.SortFunc(want, order)
		found += len(want)
		for _, n := range got {
			if len(n.First) != min(n.DF, MaxNearRefs) {
				t.Fatalf("Near(%s): %d of %d documents", w, len(n.First), n.DF)
			}
			for _, no := range n.First {
				if !terms[n.Term][no] || allow != nil && !allow.Contains(no) {
					t.Fatalf("Near(%s): document %d has no %s, or may not be found", w, no, n.Term)
				}
			}
		}
		if a, b := fmt.Sprint(bare(got)), fmt.Sprint(want); a != b && own[0].Term == w {
			t.Fatalf("Near(%s, %d) = %s, want %s", w, most, a, b)
		}
	}
	if found < 100 {
		t.Fatalf("only %d terms found", found)
	}
}

// lastOf leaves of entries of one document the last.
func lastOf(entries []Entry) (out []Entry) {
	for i, e := range entries {
		if !slices.ContainsFunc(entries[i+1:], func(o Entry) bool { return o.No == e.No }) {
			out = append(out, e)
		}
	}
	return out
}

func bare(terms []NearTerm) []NearTerm {
	out := slices.Clone(terms)
	for i := range out {
		out[i].First = nil
	}
	return out
}

// TestBeginning: the terms that begin with a word, and its stem, those in most documents first,
// without documents that are not allowed or not there.
func TestBeginning(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1,
		Entry{No: 1, Text: []Field{{"text", "embedding vectors and embedders"}, {"title", "embassy"}}},
		Entry{No: 2, Text: []Field{{"text", "an embassy"}}},
		Entry{No: 3, Text: []Field{{"text", "the embankment"}}},
		Entry{No: 4, Text: []Field{{"text", "embroidery embroidery embroidery"}}})
	apply(t, x, 2, Entry{No: 3, Delete: true})
	for _, tc := range []struct {
		word  string
		allow []uint32
		want  string
	}{
		{"emb", nil, "embassi[1 2] embed[1] embedd[1] embroideri[4]"},
		{"Emba", nil, "embassi[1 2]"},
		{"emb", []uint32{2, 4}, "embassi[2] embroideri[4]"},
		{"embeddi", nil, "embed[1] embedd[1]"},
		{"embassy", nil, "stands"}, // there is the term
		{"embassy", []uint32{4}, "stands"},
		{"two words", nil, "stands"},
		{"the", nil, "stands"},
		{"", nil, "stands"},
		{"zzz", nil, ""},
	} {
		var allow *roaring.Bitmap
		if tc.allow != nil {
			allow = roaring.BitmapOf(tc.allow...)
		}
		got, stands, err := x.Beginning(context.Background(), tc.word, allow, false)
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		if stands {
			s = append(s, "stands")
		}
		for _, b := range got {
			s = append(s, fmt.Sprint(b.Term, b.First))
		}
		if strings.Join(s, " ") != tc.want {
			t.Errorf("Beginning(%s, %v) = %s, want %s", tc.word, tc.allow, strings.Join(s, " "), tc.want)
		}
	}
}

func TestNearLimits(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"text", "receive money"}}})
	for _, most := range []int{-1, MaxEdits + 1} {
		if _, _, err := x.Near(context.Background(), "recieve", most, nil, false); !errors.Is(err, ErrQuery) {
			t.Errorf("edits %d: %v", most, err)
		}
	}
	for _, w := range []string{"", "the", "receive", "received", "two words", strings.Repeat("r", 1<<16)} {
		if near, stands, err := x.Near(context.Background(), w, 2, nil, false); err != nil || len(near) > 0 || stands != (len(w) < 1<<16) {
			t.Errorf("%.20q: %v, stands: %v, %v", w, near, stands, err)
		}
	}
	near, stands, err := x.Near(context.Background(), "Recieve", 1, nil, false)
	if err != nil || stands || len(near) != 1 || near[0].Term != "receiv" || near[0].Edits != 1 || !slices.Equal(near[0].First, []uint32{1}) {
		t.Errorf("%v, %v", near, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := x.Near(ctx, "recieve", 1, nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBeginningOfMany: of thousands of terms with one beginning the most frequent is first, also
// the last of them in the dictionary. Names and numbers are not looked at.
func TestBeginningOfMany(t *testing.T) {
	x := openTemp(t, Options{Language: "standard"})
	var entries []Entry
	letter := func(n int) rune { return rune('a' + n%26) }
	for i := range 600 {
		var text strings.Builder
		for j := range 100 {
			n := 100*i + j
			if i < 500 {
				fmt.Fprintf(&text, "zabq%08d ", n)
			} else {
				fmt.Fprintf(&text, "zab%c%c%c%c ", letter(n/17576), letter(n/676), letter(n/26), letter(n))
			}
		}
		entries = append(entries, Entry{No: uint32(i), Text: []Field{{"body", text.String()}}})
	}
	entries = append(entries, Entry{No: 1000, Text: []Field{{"body", "zabzz"}}}, Entry{No: 1001, Text: []Field{{"body", "zabzz"}}})
	apply(t, x, 1, entries...)
	near, stands, err := x.Beginning(t.Context(), "zab", nil, false)
	if err != nil || stands || len(near) != MaxNear || near[0].Term != "zabq" || near[1].Term != "zabzz" || near[1].DF != 2 {
		t.Errorf("Beginning = %+v, %t, %v, want zabq and zabzz first", near[:min(len(near), 2)], stands, err)
	}
}

// TestNearStemsWithAccents: a word whose end is misspelled is read as another form of its stem,
// written with accents or without.
func TestNearStemsWithAccents(t *testing.T) {
	x := openTemp(t, Options{Language: "fr"})
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", "Le réfrigérateur."}}})
	for _, word := range []string{"réfrigératuer", "refrigeratuer", "Réfrigératuer", "re\u0301frige\u0301ratuer"} {
		near, stands, err := x.Near(t.Context(), word, 1, nil, false)
		if err != nil || stands || len(near) != 1 || near[0].Term != "refriger" {
			t.Errorf("Near(%q) = %+v, %t, %v, want refriger", word, near, stands, err)
		}
	}
}
