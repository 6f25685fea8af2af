package keyword

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	index "github.com/blevesearch/bleve_index_api"
)

// ownFields returns documents from to until, each with a word in body and in n fields of its own.
func ownFields(from, until uint32, n int) (entries []Entry) {
	for no := from; no < until; no++ {
		e := Entry{No: no, Text: []Field{{"body", "common"}}}
		for k := range n {
			e.Text = append(e.Text, Field{fmt.Sprintf("key%d-%d", no, k), fmt.Sprintf("own word%d", no)})
		}
		entries = append(entries, e)
	}
	return entries
}

func lengthsOf(t *testing.T, x *Index) map[uint32]map[string]int {
	t.Helper()
	all := map[uint32]map[string]int{}
	err := x.Lengths(context.Background(), func(no uint32, terms map[string]int) error {
		all[no] = maps.Clone(terms)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTextFieldsAreBounded indexes documents with fields of their own: the first names are kept
// apart, the texts of others are found too, and it is the same after a restart and after the
// documents that took the names have gone.
func TestTextFieldsAreBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	o := Options{OwnField: func(name string) bool { return name == "title" }}
	open := func() *Index {
		x, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := open()
	apply(t, x, 1, ownFields(0, 600, 4)...)
	late := Entry{No: 900, Text: []Field{{"title", "heading"}, {"late", "straggler words"}, {"*", "star"}, {"key1-1", "early"}}}
	apply(t, x, 2, late)
	check := func(when string) {
		t.Helper()
		want := map[string]int{"title": 1, OtherFields: 3, "key1-1": 1}
		if got := lengthsOf(t, x)[900]; !maps.Equal(got, want) {
			t.Errorf("%s: document 900 has terms %v, want %v", when, got, want)
		}
		for _, tc := range []struct {
			text, field string
			want        []uint32
		}{
			{"straggler", "", []uint32{900}},
			{"straggler", "late", nil},
			{"straggler", OtherFields, []uint32{900}},
			{"heading", "title", []uint32{900}},
			{"early", "key1-1", []uint32{900}},
			{"word500", "", []uint32{500}},
			{"word500", "key500-2", nil},
		} {
			q := Query{Text: tc.text}
			var fields []string
			if tc.field != "" {
				q.Fields, fields = []FieldWeight{{Name: tc.field}}, []string{tc.field}
			}
			if got := found(t, x, q); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %q in field %q finds %v, want %v", when, tc.text, tc.field, got, tc.want)
			}
			with, err := x.WithTerms(context.Background(), x.Phrase(tc.text), fields)
			if err != nil || !slices.Equal(with.ToArray(), tc.want) && len(tc.want) > 0 {
				t.Errorf("%s: %q as a phrase in field %q finds %v, %v, want %v", when, tc.text, tc.field, with, err, tc.want)
			}
		}
		if field := x.FieldOf("never seen"); field != OtherFields {
			t.Errorf("%s: FieldOf a new name = %q", when, field)
		}
	}
	check("at first")
	if n := len(x.names.mu.taken); n != MaxTextFields+1 {
		t.Errorf("%d names are taken, want %d and title", n, MaxTextFields)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open()
	check("opened again")
	var gone []Entry
	for no := range uint32(400) {
		gone = append(gone, Entry{No: no, Delete: true})
	}
	apply(t, x, 3, gone...)
	before := maps.Clone(x.names.mu.taken)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open()
	defer x.Close()
	check("without the first documents")
	apply(t, x, 4, late)
	check("written again")
	if !maps.Equal(before, x.names.mu.taken) {
		t.Errorf("%d names are taken, %d were before", len(x.names.mu.taken), len(before))
	}
}

// TestNamesOutliveDocuments deletes all documents: their segment goes, the names stay.
func TestNamesOutliveDocuments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	entries := ownFields(0, 10, 2)
	apply(t, x, 1, entries...)
	want := maps.Clone(x.names.mu.taken)
	for i := range entries {
		entries[i].Delete = true
	}
	apply(t, x, 2, entries...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if !maps.Equal(x.names.mu.taken, want) || len(want) != 21 {
		t.Errorf("names %v, want %v", x.names.mu.taken, want)
	}
}

// TestNamesOfOldIndex opens an index that was written without its names, and one whose names are
// damaged.
func TestNamesOfOldIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, x, 1, ownFields(0, 10, 2)...)
	want := maps.Clone(x.names.mu.taken)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	changeInternal(t, dir, func(b *index.Batch) { b.DeleteInternal(keyNames) })
	if x, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(x.names.mu.taken, want) || len(want) != 21 {
		t.Errorf("names %v, want %v", x.names.mu.taken, want)
	}
	apply(t, x, 2, ownFields(10, 11, 0)...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	changeInternal(t, dir, func(b *index.Batch) { b.SetInternal(keyNames, []byte(`1234["body"]`)) })
	if x, err = Open(dir, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open with damaged names = %v, want ErrDamaged", err)
		x.Close()
	}
}

// TestSparseFields compares searches over many fields that few documents have, some deleted, with
// the oracle, with the sums of lengths kept and made anew, and wants Score to give what Search
// gives.
func TestSparseFields(t *testing.T) {
	x := openTemp(t, Options{})
	twin := &oracle{bm25: BM25{K1: 1.2, B: 0.75}, docs: map[uint32]map[string][]string{}}
	r := rand.New(rand.NewPCG(5, 6))
	ctx := context.Background()
	for seq := range uint64(4) {
		var entries []Entry
		for range 150 {
			e := Entry{No: r.Uint32N(400), Delete: r.IntN(5) == 0}
			for f := range 30 {
				if r.IntN(f+1) == 0 {
					e.Text = append(e.Text, Field{fmt.Sprintf("f%d", f), randomText(r, 1+r.IntN(12))})
				}
			}
			entries = append(entries, e)
		}
		apply(t, x, seq+1, entries...)
		twin.apply(x, entries...)
		want := map[uint32]map[string]int{}
		for no, fields := range twin.docs {
			want[no] = map[string]int{}
			for name, terms := range fields {
				want[no][name] = len(terms)
			}
		}
		if got := lengthsOf(t, x); !maps.EqualFunc(got, want, maps.Equal) {
			t.Fatalf("Lengths: %v, want %v", got, want)
		}
		for i := range 30 {
			q := Query{Text: randomText(r, 1+r.IntN(6)), Operator: Operator(i % 2)}
			if i%3 > 0 {
				for f := range 1 + r.IntN(8) {
					q.Fields = append(q.Fields, FieldWeight{fmt.Sprintf("f%d", f*i%31), 0.1 + r.Float64()})
					if slices.ContainsFunc(q.Fields[:f], func(g FieldWeight) bool { return g.Name == q.Fields[f].Name }) {
						q.Fields = q.Fields[:f]
						break
					}
				}
			}
			checkQuery(t, ctx, x, twin, q, 50, nil)
		}
	}
}

// TestLengthsOfManyFields: kept sums and fields added up for one document are the same to the last
// bit.
func TestLengthsOfManyFields(t *testing.T) {
	x := openTemp(t, Options{})
	r := rand.New(rand.NewPCG(7, 8))
	var entries []Entry
	for no := range uint32(500) {
		e := Entry{No: no}
		for f := range 12 {
			if f < 3 || r.IntN(f) == 0 {
				e.Text = append(e.Text, Field{fmt.Sprintf("f%d", f), randomText(r, 1+r.IntN(12))})
			}
		}
		entries = append(entries, e)
	}
	apply(t, x, 1, entries...)
	err := x.read(func(v *view) error {
		var fields []FieldWeight
		for f := range 12 {
			fields = append(fields, FieldWeight{fmt.Sprintf("f%d", f), 0.1 + r.Float64()})
		}
		for _, s := range v.segments {
			kept := 0
			for _, n := range []int{1, 3, 5, 12, 3, 5, 12} {
				key := func() string { return weightsKey(fields[:n]) }
				l, _ := s.docLengths(fields[:n], key)
				if l.sums != nil {
					kept++
				}
				for local := range uint32(len(s.nos)) {
					want := 0.0
					for _, f := range fields[:n] {
						if lengths := s.lengths[f.Name]; lengths.at(local) > 0 {
							want += float64(f.Weight * float64(lengths.at(local)))
						}
					}
					if got := l.at(local); got != want {
						t.Fatalf("%d fields: document %d has length %v, want %v", n, local, got, want)
					}
				}
			}
			if kept != 4 || len(s.sums.recent) != maxLengthSums {
				t.Errorf("%d of 7 from sums, %d kept", kept, len(s.sums.recent))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMemoryOfOwnFields: the memory of a search is in proportion to the values of
// documents that each have fields of their own.
func TestMemoryOfOwnFields(t *testing.T) {
	x := openTemp(t, Options{})
	const docs, own = 2000, 10
	apply(t, x, 1, ownFields(0, docs, own)...)
	if err := x.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Count(); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, segment := range x.latest.view.segments {
		for _, l := range segment.lengths {
			kept += 4 * (cap(l.locals) + cap(l.tokens))
		}
	}
	if kept > 8*docs*own {
		t.Errorf("%d bytes are kept of %d documents with %d fields each", kept, docs, own)
	}
	if n := len(x.latest.view.fields); n > MaxTextFields+1 {
		t.Errorf("%d text fields", n)
	}
}
