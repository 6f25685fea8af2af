package backendtest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
)

// cosine is the reference that backends are compared with.
func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// near reports whether two cosines are the same but for how they are added up.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

// testNearest looks for the nearest passages. There are so few that all of them are looked at.
func testNearest(t *testing.T, l *library) {
	r := rand.New(rand.NewPCG(13, 14))
	sets := map[string]*backend.Selection{"all": nil}
	for _, filter := range []string{"year EXISTS", "year < 1900", "nothing EXISTS"} {
		sets[filter] = l.selected(t, filter)
	}
	for range 10 {
		q := unit(r)
		for name, set := range sets {
			var want []backend.PassageMatch
			for id, vectors := range l.vectors {
				for i, v := range vectors {
					if ref := l.refs[id]; set == nil || set.Contains(ref) {
						want = append(want, backend.PassageMatch{Ref: ref, Ordinal: i, Cosine: cosine(q, v)})
					}
				}
			}
			slices.SortFunc(want, func(a, b backend.PassageMatch) int { return cmp.Compare(b.Cosine, a.Cosine) })
			for _, k := range []int{1, 3, len(want), 100} {
				if k == 0 {
					continue
				}
				got, err := l.Nearest(t.Context(), docs, q, k, set)
				if err != nil || len(got) != min(k, len(want)) {
					t.Errorf("Nearest(%d) of %s finds %d, %v", k, name, len(got), err)
					continue
				}
				for i, m := range got {
					if m.Ref != want[i].Ref || m.Ordinal != want[i].Ordinal || !near(m.Cosine, want[i].Cosine) {
						t.Errorf("Nearest(%d) of %s, place %d: %+v, want %+v", k, name, i, m, want[i])
					}
				}
			}
		}
	}
}

// selected returns the documents that pass a filter.
func (l *library) selected(t *testing.T, text string) *backend.Selection {
	t.Helper()
	set, err := l.Select(t.Context(), backend.SelectRequest{Collection: docs, Filter: parse(t, text)})
	must(t, err)
	return set
}

// testCosines compares the query with given documents.
func testCosines(t *testing.T, l *library) {
	q := unit(rand.New(rand.NewPCG(15, 16)))
	ids := append(l.sorted(), "whale")
	refs := l.of(strings.Join(ids, " "))
	got := l.fetch(t, backend.FetchRequest{Refs: refs, Vector: q}).Cosines
	for i, id := range ids {
		if !slices.EqualFunc(got[i], l.vectors[id], func(c float64, v []float32) bool { return near(c, cosine(q, v)) }) {
			t.Errorf("the cosines of %s are %v", id, got[i])
		}
	}
	matches, err := l.Nearest(t.Context(), docs, q, 100, nil)
	must(t, err)
	for _, m := range matches {
		if c := got[slices.Index(refs, m.Ref)][m.Ordinal]; c != m.Cosine {
			t.Errorf("RetrieveVectors has the cosine %v, Fetch %v: not the same to the last bit", m.Cosine, c)
		}
	}
	if none := l.fetch(t, backend.FetchRequest{Vector: q}).Cosines; len(none) != 0 {
		t.Errorf("cosines of no documents: %v", none)
	}
}

// passages returns all passages of the library, with the vector of each.
func (l *library) passages() (list []backend.PassageRef, vectors [][]float32) {
	for _, id := range l.sorted() {
		for i, v := range l.vectors[id] {
			list, vectors = append(list, backend.PassageRef{Ref: l.refs[id], Ordinal: i}), append(vectors, v)
		}
	}
	return list, vectors
}

// testVectors reads the vectors of passages, also of missing ones.
func testVectors(t *testing.T, l *library) {
	list, want := l.passages()
	list = append(list, backend.PassageRef{Ref: l.refs["whale"], Ordinal: 9}, backend.PassageRef{Ref: l.refs["whale"], Ordinal: -1}, backend.PassageRef{Ref: l.refs["second"]})
	want = append(want, nil, nil, nil)
	got := l.fetch(t, backend.FetchRequest{Passages: list, Vectors: true}).Vectors
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the vectors of %v are %v, want %v", list, got, want)
	}
	got[0][0] = 7 // the caller's to keep
	if again := l.fetch(t, backend.FetchRequest{Passages: list[:1], Vectors: true}).Vectors; again[0][0] == 7 {
		t.Errorf("a change of a returned vector changes the backend's: %v", again)
	}
}

// testNames checks that no two passages of any collection share a name, and that names are stable.
func testNames(t *testing.T, l *library) {
	list, _ := l.passages()
	names := func(collection string, passages []backend.PassageRef) []uint64 {
		t.Helper()
		out, err := l.Fetch(t.Context(), backend.FetchRequest{Collection: collection, Passages: passages, Names: true})
		must(t, err)
		return out.Names
	}
	want := names(docs, append(slices.Clone(list), backend.PassageRef{Ref: list[0].Ref, Ordinal: 9}))
	if len(want) != len(list)+1 || want[len(list)] != 0 {
		t.Fatalf("the names are %v, want 0 for a missing passage", want)
	}
	seen := map[uint64]bool{0: true}
	for _, name := range want[:len(list)] {
		if seen[name] {
			t.Fatalf("two passages have the name %d, or one has none, of %v", name, want)
		}
		seen[name] = true
	}
	must(t, l.Create(t.Context(), "others", config()))
	defer func() { must(t, l.Drop(t.Context(), "others")) }()
	r := rand.New(rand.NewPCG(17, 18))
	for round := range 3 { // each replaces the documents of the one before
		w := document("a", fmt.Sprintf(`{"text":"%d of many"}`, round), 2, r)
		if _, err := l.Apply(t.Context(), "others", []backend.Write{w}); err != nil {
			t.Fatal(err)
		}
		d, err := l.Lookup(t.Context(), "others", []string{"a"})
		must(t, err)
		theirs := []backend.PassageRef{{Ref: d[0].Ref}, {Ref: d[0].Ref, Ordinal: 1}}
		own, more := names(docs, list), names("others", theirs)
		if !slices.Equal(own, want[:len(list)]) {
			t.Errorf("round %d: the names are %v, and were %v", round, own, want)
		}
		for _, name := range more {
			if seen[name] {
				t.Fatalf("round %d: two passages have the name %d, or one has none", round, name)
			}
			seen[name] = true
		}
	}
}

// testSample takes some of the passages.
func testSample(t *testing.T, l *library) {
	list, vectors := l.passages()
	for _, n := range []int{0, 1, 4, len(list), 1000} {
		sample := func() []backend.PassageVector {
			out, err := l.RetrieveVectors(t.Context(), backend.VectorsRequest{Collection: docs, Limit: n})
			must(t, err)
			return out.Sample
		}
		got := sample()
		if len(got) > n || len(got) == 0 && n > 0 || len(got) < len(list) && n >= len(list) {
			t.Errorf("a sample of %d has %d of %d", n, len(got), len(list))
		}
		seen := map[backend.PassageRef]bool{}
		for _, p := range got {
			at := slices.Index(list, backend.PassageRef{Ref: p.Ref, Ordinal: p.Ordinal})
			if at < 0 || seen[list[at]] || !slices.Equal(p.Vector, vectors[at]) {
				t.Errorf("a sample of %d has %+v: no passage, a repeated one, or another vector", n, p)
				continue
			}
			seen[list[at]] = true
		}
		if again := sample(); !reflect.DeepEqual(again, got) {
			t.Errorf("a second sample of %d differs", n)
		}
	}
}
