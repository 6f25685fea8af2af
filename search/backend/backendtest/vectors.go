package backendtest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"searchd/search/backend"
)

// cosine is the slow twin of what a backend says.
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
	for range 10 {
		q := unit(r)
		for name, set := range map[string]*backend.Selection{"all": nil, "some": selected(t, l, "year EXISTS"), "one": selected(t, l, "year < 1900"), "none": selected(t, l, "nothing EXISTS")} {
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

// selected returns the documents that pass a filter, for Nearest.
func selected(t *testing.T, l *library, text string) *backend.Selection {
	t.Helper()
	set, err := l.Select(t.Context(), backend.SelectRequest{Collection: docs, Filter: parse(t, text)})
	must(t, err)
	return set
}

// testCosines compares the query with given documents.
func testCosines(t *testing.T, l *library) {
	q := unit(rand.New(rand.NewPCG(15, 16)))
	ids := append(l.sorted(), "whale")
	var refs []backend.Ref
	for _, id := range ids {
		refs = append(refs, l.refs[id])
	}
	got, err := l.Cosines(t.Context(), docs, q, refs)
	if err != nil || len(got) != len(refs) {
		t.Fatalf("Cosines = %v, %v", got, err)
	}
	for i, id := range ids {
		if !slices.EqualFunc(got[i], l.vectors[id], func(c float64, v []float32) bool { return near(c, cosine(q, v)) }) {
			t.Errorf("Cosines of %s = %v", id, got[i])
		}
	}
	matches, err := l.Nearest(t.Context(), docs, q, 100, nil)
	must(t, err)
	for _, m := range matches {
		if c := got[slices.Index(refs, m.Ref)][m.Ordinal]; c != m.Cosine {
			t.Errorf("Nearest says %v of a passage, Cosines %v: not the same to the last bit", m.Cosine, c)
		}
	}
	if n := length(l.Cosines(t.Context(), docs, q, nil)); n != 0 {
		t.Errorf("Cosines of nothing has %d", n)
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

// testVectors reads the vectors of passages, of those that are not there too.
func testVectors(t *testing.T, l *library) {
	list, want := l.passages()
	list = append(list, backend.PassageRef{Ref: l.refs["whale"], Ordinal: 9}, backend.PassageRef{Ref: l.refs["whale"], Ordinal: -1}, backend.PassageRef{Ref: l.refs["second"]})
	want = append(want, nil, nil, nil)
	got, err := l.Vectors(t.Context(), docs, list)
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("Vectors(%v) = %v, %v, want %v", list, got, err, want)
	}
	got[0][0] = 7 // the caller's to keep
	if again, err := l.Vectors(t.Context(), docs, list[:1]); err != nil || again[0][0] == 7 {
		t.Errorf("Vectors are not the caller's own: %v, %v", again, err)
	}
}

// testNames names passages: no two have one name, in other collections either, and one that stays
// keeps its own.
func testNames(t *testing.T, l *library) {
	list, _ := l.passages()
	must(t, l.Create(t.Context(), "others", config()))
	defer func() { must(t, l.Drop(t.Context(), "others")) }()
	r := rand.New(rand.NewPCG(17, 18))
	for round := range 3 {
		var writes []backend.Write
		for _, id := range l.sorted() {
			w := document(id, texts[id], 2, r)
			w.Hash[0] += byte(round)
			writes = append(writes, w)
		}
		if _, err := l.Apply(t.Context(), "others", writes); err != nil {
			t.Fatal(err)
		}
		names, err := l.Names(t.Context(), docs, append(slices.Clone(list), backend.PassageRef{Ref: list[0].Ref, Ordinal: 9}))
		if err != nil || len(names) != len(list)+1 || names[len(list)] != 0 {
			t.Fatalf("Names = %v, %v, want that of a passage that is not there to be 0", names, err)
		}
		again, err := l.Names(t.Context(), docs, list)
		if err != nil || !slices.Equal(again, names[:len(list)]) {
			t.Errorf("Names a second time = %v, %v, want %v", again, err, names)
		}
		others, err := l.Lookup(t.Context(), "others", l.sorted())
		must(t, err)
		var theirs []backend.PassageRef
		for _, d := range others {
			theirs = append(theirs, backend.PassageRef{Ref: d.Ref}, backend.PassageRef{Ref: d.Ref, Ordinal: 1})
		}
		more, err := l.Names(t.Context(), "others", theirs)
		must(t, err)
		seen := map[uint64]bool{0: true}
		for _, name := range slices.Concat(again, more) {
			if seen[name] {
				t.Fatalf("round %d: two passages have the name %d, or one has none, of %v and %v", round, name, again, more)
			}
			seen[name] = true
		}
	}
}

// testSample takes some of the passages.
func testSample(t *testing.T, l *library) {
	list, vectors := l.passages()
	for _, n := range []int{0, 1, 4, len(list), 1000} {
		got, err := l.Sample(t.Context(), docs, n)
		if err != nil || len(got) > n || len(got) == 0 && n > 0 || len(got) < len(list) && n >= len(list) {
			t.Errorf("Sample(%d) has %d, %v, of %d", n, len(got), err, len(list))
		}
		seen := map[backend.PassageRef]bool{}
		for _, p := range got {
			at := slices.Index(list, backend.PassageRef{Ref: p.Ref, Ordinal: p.Ordinal})
			if at < 0 || seen[list[at]] || !slices.Equal(p.Vector, vectors[at]) {
				t.Errorf("Sample(%d) has %+v, which is no passage, one that it has already, or with another vector", n, p)
				continue
			}
			seen[list[at]] = true
		}
		if again, err := l.Sample(t.Context(), docs, n); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("Sample(%d) a second time is another, %v", n, err)
		}
	}
}

// testHeads holds documents that are read without their fields, in pages, by id and with their
// vectors, against the documents.
func testHeads(t *testing.T, l *library) {
	all, _, err := l.List(t.Context(), docs, "", 1000)
	must(t, err)
	for _, d := range all {
		d.Fields = nil
	}
	for _, limit := range []int{1, 2, 5, len(all) - 1, len(all), 1000} {
		var got []*backend.Document
		for r, pages := (backend.ListRequest{Collection: docs, Limit: limit, NoFields: true}), 0; ; pages++ {
			page, err := l.Backend.List(t.Context(), r)
			if err != nil || len(page.Documents) > limit || len(page.Documents) < limit && page.Next != "" || pages > len(all) {
				t.Fatalf("List(%+v) = %d documents, next %q, %v", r, len(page.Documents), page.Next, err)
			}
			got = append(got, page.Documents...)
			if r.Cursor = page.Next; r.Cursor == "" {
				break
			}
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("documents without fields in pages of %d = %+v\nwant %+v", limit, got, all)
		}
	}
	for _, want := range all {
		got, err := l.Backend.Lookup(t.Context(), backend.LookupRequest{Collection: docs, IDs: []string{"nobody", want.ID}, NoFields: true})
		if err != nil || got[0] != nil || !reflect.DeepEqual(got[1], want) {
			t.Errorf("Lookup without fields = %+v, %v, want none and %+v", got, err, want)
		}
		d, err := l.Encoded(t.Context(), docs, want.ID)
		if err != nil || d == nil || !slices.EqualFunc(d.Vectors, l.vectors[want.ID], slices.Equal) {
			t.Errorf("%q with its vectors = %+v, %v", want.ID, d, err)
			continue
		}
		if d.Vectors = nil; !reflect.DeepEqual(d, want) {
			t.Errorf("%q with its vectors = %+v, want %+v", want.ID, d, want)
		}
	}
	if d, err := l.Encoded(t.Context(), docs, "nobody"); d != nil || err != nil {
		t.Errorf("nobody with its vectors = %+v, %v", d, err)
	}
	if found, err := l.Backend.Check(t.Context(), backend.CheckRequest{Vectors: true}); err != nil || len(found.Vectors) != 0 {
		t.Errorf("damaged vectors = %v, %v", found.Vectors, err)
	}
}

// testGauges asks how the backend is.
func testGauges(t *testing.T, l *library) {
	c, err := l.Collection(t.Context(), docs)
	list, _ := l.passages()
	if err != nil || c.Documents != len(texts) || c.Passages != len(list) || c.DamagedDocuments != 0 {
		t.Errorf("Collection = %+v, %v, want %d documents and %d passages", c, err, len(texts), len(list))
	}
	now, err := l.Stats(t.Context(), backend.StatsRequest{})
	if err != nil || now.StoreBytes <= 0 || now.ReadOnly != "" || len(now.Rebuilds) > 0 || now.Index != nil {
		t.Errorf("Stats = %+v, %v", now, err)
	}
	s, err := l.IndexStats(t.Context(), docs)
	if err != nil || s.Documents != len(texts) || s.Passages != len(list) || s.Damaged != 0 || s.GraphRebuild || s.KeywordRebuild || s.KeywordLag != 0 || s.KeywordBytes <= 0 {
		t.Errorf("IndexStats = %+v, %v", s, err)
	}
}

// testCheck finds nothing wrong.
func testCheck(t *testing.T, l *library) {
	for _, deep := range []bool{false, true} {
		if problems, err := l.Problems(t.Context(), deep); err != nil || len(problems) != 0 {
			t.Errorf("Check(%t) = %+v, %v", deep, problems, err)
		}
	}
}
