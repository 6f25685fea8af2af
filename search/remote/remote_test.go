package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/filter"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/mapping"
)

const dimension = 8

// openNode opens an empty folder until the test ends.
func openNode(t testing.TB) *embedded.Backend {
	t.Helper()
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// dial serves a node until the test ends and returns it as a client sees it.
func dial(t testing.TB, n Node) *Shard {
	t.Helper()
	return dialHandler(t, Handler(n, HandlerOptions{Key: "secret"}))
}

func dialHandler(t testing.TB, h http.Handler) *Shard {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s, err := Dial(t.Context(), server.URL+"/", Options{Key: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var config = backend.Config{Dimension: dimension, Language: "en", Mapping: mapping.Mapping{"kind": {Type: mapping.Filter}}, Synonyms: []string{"car, automobile"},
	Payload: json.RawMessage(`{"engine":"<&>"}`)}

// library are documents with texts, values of all kinds and vectors; the last has no passage.
func library() []backend.Write {
	words := strings.Fields("alpha beta gamma delta car automobile harbour river mountain winter")
	r := rand.New(rand.NewPCG(1, 2))
	var writes []backend.Write
	for i := range 60 {
		var text []string
		for range 5 + r.IntN(20) {
			text = append(text, words[r.IntN(len(words))])
		}
		body := strings.Join(text, " ")
		fields, _ := json.Marshal(map[string]any{"text": body, "kind": words[i%3], "size": i % 7, "when": fmt.Sprintf("2024-01-%02d", 1+i%28), "long": strings.Repeat("é", 600+i%2)})
		w := backend.Write{ID: fmt.Sprintf("d%d", i), Fields: fields, Hash: [32]byte{byte(i), 1}, Vectors: [][]float32{}}
		for p := range i % 3 {
			w.Passages = append(w.Passages, backend.Passage{Field: "text", Start: p, End: len(body)})
			w.Vectors = append(w.Vectors, unit(r))
		}
		writes = append(writes, w)
	}
	return writes
}

func unit(r *rand.Rand) []float32 {
	v := make([]float32, dimension)
	v[r.IntN(dimension)] = 0.6
	for i := range v {
		if v[i] == 0 {
			v[i] = 0.8
			break
		}
	}
	return v
}

func fill(t testing.TB, s backend.Shard) {
	t.Helper()
	if err := s.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), "docs", library()); err != nil {
		t.Fatal(err)
	}
}

// set is what can be known of a selection from outside.
type set struct {
	refs    []backend.Ref
	partial bool
}

func setOf(t *testing.T, s backend.Shard, sel backend.Selection) any {
	t.Helper()
	if sel == nil {
		return nil
	}
	refs, err := s.Refs(t.Context(), "docs", sel, 0, 1000)
	if err != nil || len(refs) != sel.Len() {
		t.Errorf("Refs = %d, %v, of a set of %d", len(refs), err, sel.Len())
	}
	for ref := range backend.Ref(100) {
		if sel.Contains(ref) != slices.Contains(refs, ref) {
			t.Errorf("Contains(%d) = %t of %v", ref, sel.Contains(ref), refs)
		}
	}
	return set{refs, sel.Partial()}
}

// call asks a shard and returns what it answers.
type call struct {
	method string
	ask    func(t *testing.T, s backend.Shard) []any
}

func all(values ...any) []any { return values }

func selectKind(t *testing.T, s backend.Shard, noVectors bool) backend.Selection {
	t.Helper()
	e, err := filter.Parse("kind = 'alpha' OR size < 2 AND NOT when >= '2024-01-05'")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := s.Select(t.Context(), "docs", backend.Subset{Filter: e, NoVectors: noVectors})
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// reading are calls of every method that changes nothing. Each is asked of a shard and of the same behind HTTP.
func reading() []call {
	ctx := context.Background()
	some := []backend.Ref{3, 1, 2, 60, 4000}
	places := []backend.PassageRef{{Ref: 3}, {Ref: 3, Ordinal: 1}, {Ref: 3, Ordinal: -1}, {Ref: 4000}}
	q := backend.Words{Text: "car gamma", Fields: []backend.FieldWeight{{Name: "text", Weight: 2.5}}}
	query := unit(rand.New(rand.NewPCG(3, 4)))
	five := filter.Value{Kind: filter.Number, Num: 5}
	return []call{
		{"Collections", func(t *testing.T, s backend.Shard) []any { c, err := s.Collections(ctx); return all(c, err) }},
		{"Collection", func(t *testing.T, s backend.Shard) []any { c, err := s.Collection(ctx, "docs"); return all(c, err) }},
		{"Collection", func(t *testing.T, s backend.Shard) []any { c, err := s.Collection(ctx, "none"); return all(c, err) }},
		{"Lookup", func(t *testing.T, s backend.Shard) []any {
			d, err := s.Lookup(ctx, "docs", []string{"d5", "none", "d0"})
			return all(d, err)
		}},
		{"Lookup", func(t *testing.T, s backend.Shard) []any { d, err := s.Lookup(ctx, "docs", nil); return all(d, err) }},
		{"Fetch", func(t *testing.T, s backend.Shard) []any { d, err := s.Fetch(ctx, "docs", some); return all(d, err) }},
		{"List", func(t *testing.T, s backend.Shard) []any {
			d, next, err := s.List(ctx, "docs", "", 7)
			return all(d, next, err)
		}},
		{"List", func(t *testing.T, s backend.Shard) []any {
			d, next, err := s.List(ctx, "docs", "", 1000)
			return all(d, next, err)
		}},
		{"List", func(t *testing.T, s backend.Shard) []any {
			d, next, err := s.List(ctx, "docs", "?", 7)
			return all(d, next, err)
		}},
		{"Values", func(t *testing.T, s backend.Shard) []any { v, err := s.Values("none/"); return all(v, err) }},
		{"Nearest", func(t *testing.T, s backend.Shard) []any {
			m, err := s.Nearest(ctx, "docs", query, 10, nil)
			return all(m, err)
		}},
		{"Nearest", func(t *testing.T, s backend.Shard) []any {
			m, err := s.Nearest(ctx, "docs", query, 10, selectKind(t, s, false))
			return all(m, err)
		}},
		{"Nearest", func(t *testing.T, s backend.Shard) []any {
			m, err := s.Nearest(ctx, "docs", query, -1, nil)
			return all(m, err)
		}},
		{"Cosines", func(t *testing.T, s backend.Shard) []any {
			c, err := s.Cosines(ctx, "docs", query, some)
			return all(c, err)
		}},
		{"Vectors", func(t *testing.T, s backend.Shard) []any {
			v, err := s.Vectors(ctx, "docs", places)
			return all(v, err)
		}},
		{"Names", func(t *testing.T, s backend.Shard) []any {
			names, err := s.Names(ctx, "docs", places)
			there := make([]bool, len(names)) // names of two shards are not the same ones
			for i, n := range names {
				there[i] = n != 0 && !slices.Contains(names[:i], n)
			}
			return all(there, err)
		}},
		{"Sample", func(t *testing.T, s backend.Shard) []any { v, err := s.Sample(ctx, "docs", 9); return all(v, err) }},
		{"Sample", func(t *testing.T, s backend.Shard) []any { v, err := s.Sample(ctx, "docs", 0); return all(v, err) }},
		{"Select", func(t *testing.T, s backend.Shard) []any { return all(setOf(t, s, selectKind(t, s, true))) }},
		{"Select", func(t *testing.T, s backend.Shard) []any {
			sel, err := s.Select(ctx, "docs", backend.Subset{With: []string{"alpha beta"}, Fields: []string{"text"}, Without: []string{"river"}, Rank: q})
			return all(setOf(t, s, sel), err)
		}},
		{"Words", func(t *testing.T, s backend.Shard) []any {
			m, err := s.Words(ctx, "docs", q, 5, nil)
			return all(m, err)
		}},
		{"Words", func(t *testing.T, s backend.Shard) []any {
			every := q
			every.All, every.And = true, true
			m, err := s.Words(ctx, "docs", every, 0, selectKind(t, s, true))
			found := setOf(t, s, m.All)
			m.All = nil
			return all(m, found, err)
		}},
		{"Words", func(t *testing.T, s backend.Shard) []any {
			m, err := s.Words(ctx, "docs", q, -5, nil)
			return all(m, err)
		}},
		{"WordScores", func(t *testing.T, s backend.Shard) []any {
			f, err := s.WordScores(ctx, "docs", q, some)
			return all(f, err)
		}},
		{"WordTerms", func(t *testing.T, s backend.Shard) []any {
			f, err := s.WordTerms(ctx, "docs", q, some)
			return all(f, err)
		}},
		{"Analyze", func(t *testing.T, s backend.Shard) []any {
			a, err := s.Analyze(ctx, "docs", "The cars \xff of winter", nil)
			return all(a, err)
		}},
		{"Analyze", func(t *testing.T, s backend.Shard) []any {
			a, err := s.Analyze(ctx, "docs", "the cars of winter", func(term string) bool { return term == "winter" })
			return all(a, err)
		}},
		{"Analyze", func(t *testing.T, s backend.Shard) []any {
			a, err := s.Analyze(ctx, "docs", "", nil)
			return all(a, err)
		}},
		{"Expand", func(t *testing.T, s backend.Shard) []any { e, err := s.Expand(ctx, "docs", q); return all(e, err) }},
		{"Near", func(t *testing.T, s backend.Shard) []any {
			n, err := s.Near(ctx, "docs", "harbuor", 2, nil)
			return all(n, err)
		}},
		{"Near", func(t *testing.T, s backend.Shard) []any {
			n, err := s.Near(ctx, "docs", "harbour", 1, selectKind(t, s, true))
			return all(n, err)
		}},
		{"Beginning", func(t *testing.T, s backend.Shard) []any {
			n, err := s.Beginning(ctx, "docs", "harb", nil)
			return all(n, err)
		}},
		{"Lacking", func(t *testing.T, s backend.Shard) []any {
			f, partial, err := s.Lacking(ctx, "docs", backend.FieldNames{Values: []string{"kind", "none"}, Texts: []string{"other"}})
			return all(f, partial, err)
		}},
		{"Set", func(t *testing.T, s backend.Shard) []any {
			sel, err := s.Set(ctx, "docs", selectKind(t, s, true), []backend.Ref{99, 3})
			return all(setOf(t, s, sel), err)
		}},
		{"Set", func(t *testing.T, s backend.Shard) []any {
			sel, err := s.Set(ctx, "docs", nil, nil)
			return all(setOf(t, s, sel), err)
		}},
		{"Refs", func(t *testing.T, s backend.Shard) []any {
			r, err := s.Refs(ctx, "docs", selectKind(t, s, true), 5, 3)
			return all(r, err)
		}},
		{"Refs", func(t *testing.T, s backend.Shard) []any {
			r, err := s.Refs(ctx, "docs", selectKind(t, s, true), 1<<32, 3)
			return all(r, err)
		}},
		{"Facets", func(t *testing.T, s backend.Shard) []any {
			f, err := s.Facets(ctx, "docs", []backend.Facet{{Field: "kind", Limit: 2}, {Field: "long", Limit: 2}, {Field: "size", Ranges: []backend.FacetRange{{To: &five}, {From: &five}}}}, selectKind(t, s, true))
			return all(f, err)
		}},
		{"Firsts", func(t *testing.T, s backend.Shard) []any {
			v, err := s.Firsts(ctx, "docs", "when", some)
			return all(v, err)
		}},
		{"Firsts", func(t *testing.T, s backend.Shard) []any {
			v, err := s.Firsts(ctx, "docs", "long", some)
			return all(v, err)
		}},
		{"Passing", func(t *testing.T, s backend.Shard) []any {
			e, err := filter.Parse("id = 'd3' OR size != 3 AND size IN [1, 2, 3]")
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Passing(ctx, "docs", filter.WithID(e), some)
			return all(p, err)
		}},
		{"Passing", func(t *testing.T, s backend.Shard) []any {
			p, err := s.Passing(ctx, "docs", nil, some)
			return all(p, err)
		}},
		{"Numbers", func(t *testing.T, s backend.Shard) []any {
			n, err := s.Numbers(ctx, "docs", "when", true, some)
			return all(n, err)
		}},
		{"Order", func(t *testing.T, s backend.Shard) []any {
			o, err := s.Order(ctx, "docs", []backend.SortKey{{Field: "size", Desc: true}, {}}, selectKind(t, s, true), 9, backend.Scorer{Words: &q})
			return all(o, err)
		}},
		{"Order", func(t *testing.T, s backend.Shard) []any {
			o, err := s.Order(ctx, "docs", []backend.SortKey{{}}, selectKind(t, s, true), 9, backend.Scorer{Known: map[backend.Ref]float64{3: 0.1, 7: 1e300}})
			return all(o, err)
		}},
		{"Statistics", func(t *testing.T, s backend.Shard) []any {
			st, err := s.Statistics(ctx, "docs", q)
			return all(st, err)
		}},
		{"Opened", func(t *testing.T, s backend.Shard) []any {
			c, st, err := backend.OpenFor(ctx, s, "docs", q)
			return all(c, st, err)
		}},
		{"Opened", func(t *testing.T, s backend.Shard) []any { // words that it cannot tell of
			c, st, err := backend.OpenFor(ctx, s, "docs", backend.Words{Text: "car", Fields: []backend.FieldWeight{{Name: "text", Weight: -1}}})
			return all(c, st, err)
		}},
		{"Legs", func(t *testing.T, s backend.Shard) []any {
			m, err := backend.FindLegs(ctx, s, "docs", backend.Legs{Words: &q, Vector: query, Documents: 9, Passages: 12}, selectKind(t, s, false))
			clear(m.Names) // those of two shards are not the same ones
			for i := range m.Best {
				m.Best[i].Name = 0
			}
			return all(m, err)
		}},
		{"Legs", func(t *testing.T, s backend.Shard) []any {
			m, err := backend.FindLegs(ctx, s, "docs", backend.Legs{Vector: query, Documents: 20, Passages: 30, Least: 0.9}, nil)
			clear(m.Names)
			return all(m, err)
		}},
		{"Texts", func(t *testing.T, s backend.Shard) []any {
			texts, err := backend.ReadTexts(ctx, s, "docs", places)
			for i := range texts {
				texts[i].Name = min(texts[i].Name, 1)
			}
			return all(texts, err)
		}},
		{"Shown", func(t *testing.T, s backend.Shard) []any {
			list, err := backend.ShowDocuments(ctx, s, "docs", some, backend.Show{Vector: query, Words: &q})
			return all(list, err)
		}},
		{"Shown", func(t *testing.T, s backend.Shard) []any {
			list, err := backend.ShowDocuments(ctx, s, "none", some, backend.Show{})
			return all(list, err)
		}},
		{"Position", func(t *testing.T, s backend.Shard) []any { p, err := s.Position(ctx, "docs"); return all(p, err) }},
		{"Changed", func(t *testing.T, s backend.Shard) []any {
			ids, next, err := s.Changed(ctx, "docs", backend.Position{50}, 5)
			return all(ids, next, err)
		}},
		{"Changed", func(t *testing.T, s backend.Shard) []any {
			ids, next, err := s.Changed(ctx, "docs", backend.Position{1, 2}, 5)
			return all(ids, next, err)
		}},
		{"Encoded", func(t *testing.T, s backend.Shard) []any {
			d, v, err := s.Encoded(ctx, "docs", "d5")
			return all(d, v, err)
		}},
		{"Encoded", func(t *testing.T, s backend.Shard) []any {
			d, v, err := s.Encoded(ctx, "docs", "none")
			return all(d, v, err)
		}},
		{"Heads", func(t *testing.T, s backend.Shard) []any {
			h, next, err := s.Heads(ctx, "docs", "", 7)
			return all(h, next, err)
		}},
		{"Heads", func(t *testing.T, s backend.Shard) []any {
			h, next, err := s.Heads(ctx, "none", "", 7)
			return all(h, next, err)
		}},
		{"LookupHeads", func(t *testing.T, s backend.Shard) []any {
			h, err := s.LookupHeads(ctx, "docs", []string{"d5", "none", "d\xff"})
			return all(h, err)
		}},
		{"DamagedVectors", func(t *testing.T, s backend.Shard) []any { d, err := s.DamagedVectors(ctx); return all(d, err) }},
		{"StoreSize", func(t *testing.T, s backend.Shard) []any { n, err := s.StoreSize(); return all(n, err) }},
		{"ReadOnly", func(t *testing.T, s backend.Shard) []any { return all(s.ReadOnly()) }},
		{"Rebuilds", func(t *testing.T, s backend.Shard) []any { return all(s.Rebuilds()) }},
		{"IndexStats", func(t *testing.T, s backend.Shard) []any {
			i, err := s.IndexStats(ctx, "docs")
			if i.ProbedAt.IsZero() {
				t.Error("the graph was never probed")
			}
			i.ProbedAt = i.ProbedAt.Round(0).UTC() // a clock of one process does not cross the wire
			return all(i, err)
		}},
		{"Check", func(t *testing.T, s backend.Shard) []any { p, err := s.Check(ctx, true); return all(p, err) }},
		{"Identity", func(t *testing.T, s backend.Shard) []any { id, err := s.Identity(ctx); return all(id, err) }},
		{"Version", func(t *testing.T, s backend.Shard) []any {
			a, err := s.Version(ctx)
			b, again := s.Version(ctx)
			return []any{a == b, len(a) > 0, err, again}
		}},
	}
}

// writing are calls that change something, asked one after another of an empty shard and of another behind HTTP.
func writing() []call {
	ctx := context.Background()
	zero, wrong := uint64(0), uint64(77)
	small := backend.Write{ID: "a", Fields: json.RawMessage(`{"text": "one  two", "x": "<&>"}`), Hash: [32]byte{9}}
	only := func(w backend.Write, revision *uint64) backend.Write { w.IfRevision = revision; return w }
	apply := func(writes ...backend.Write) call {
		return call{"Apply", func(t *testing.T, s backend.Shard) []any {
			out, err := s.Apply(ctx, "docs", writes)
			d, lookupErr := s.Lookup(ctx, "docs", []string{"a", "b"})
			return all(out, err, d, lookupErr)
		}}
	}
	return []call{
		{"Create", func(t *testing.T, s backend.Shard) []any { return all(s.Create(ctx, "docs", config)) }},
		{"Create", func(t *testing.T, s backend.Shard) []any { return all(s.Create(ctx, "docs", config)) }},
		{"Create", func(t *testing.T, s backend.Shard) []any {
			return all(s.Create(ctx, "bare", backend.Config{Dimension: 2}))
		}},
		{"Collection", func(t *testing.T, s backend.Shard) []any {
			c, err := s.Collection(ctx, "bare")
			c.Origin = ""
			return all(c, err)
		}},
		apply(small), apply(small), apply(only(small, &zero)), apply(only(small, &wrong)), apply(), apply(backend.Write{ID: "b", Delete: true}),
		apply(backend.Write{ID: "a\xff", Fields: json.RawMessage("{}")}),
		apply(backend.Write{ID: "b", Fields: json.RawMessage("{}"), Passages: []backend.Passage{{Field: "x", End: 2}}, Vectors: [][]float32{nil}}),
		apply(backend.Write{ID: "b", Fields: json.RawMessage("{}"), Passages: []backend.Passage{{Field: "x", End: 2}}, Vectors: [][]float32{{1}}}),
		apply(library()...),
		{"Update", func(t *testing.T, s backend.Shard) []any {
			c := config
			c.EfSearch, c.Synonyms = 99, nil
			err := s.Update(ctx, "docs", c)
			got, _ := s.Collection(ctx, "docs")
			return all(err, got.Config)
		}},
		{"Update", func(t *testing.T, s backend.Shard) []any { return all(s.Update(ctx, "none", config)) }},
		{"SetValues", func(t *testing.T, s backend.Shard) []any {
			err := s.SetValues(ctx, map[string][]byte{"v/a": []byte("1\xff"), "v/b": {}, "v/c": []byte("x")})
			v, valuesErr := s.Values("v/")
			return all(err, v, valuesErr)
		}},
		{"SetValues", func(t *testing.T, s backend.Shard) []any {
			err := s.SetValues(ctx, map[string][]byte{"v/a": nil})
			v, valuesErr := s.Values("v/")
			return all(err, v, valuesErr)
		}},
		{"Hold", func(t *testing.T, s backend.Shard) []any {
			release, err := s.Hold(ctx, "docs", backend.Position{1})
			release()
			return all(err)
		}},
		{"Hold", func(t *testing.T, s backend.Shard) []any { _, err := s.Hold(ctx, "docs", nil); return all(err) }},
		{"Claim", func(t *testing.T, s backend.Shard) []any {
			err := s.Claim(ctx, backend.Identity{Cluster: "c \"é\"", Index: 1, Of: 3, Epoch: 2})
			id, identityErr := s.Identity(ctx)
			return all(err, id, identityErr)
		}},
		{"Claim", func(t *testing.T, s backend.Shard) []any {
			return all(s.Claim(ctx, backend.Identity{Cluster: "c \"é\"", Index: 1, Of: 3, Epoch: 2}))
		}},
		{"Claim", func(t *testing.T, s backend.Shard) []any {
			return all(s.Claim(ctx, backend.Identity{Cluster: "d", Index: 1, Of: 3, Epoch: 9}))
		}},
		apply(small),
		{"Drop", func(t *testing.T, s backend.Shard) []any { return all(s.Drop(ctx, "docs")) }},
		{"Drop", func(t *testing.T, s backend.Shard) []any { return all(s.Drop(ctx, "docs")) }},
		{"Close", func(t *testing.T, s backend.Shard) []any { return all(s.Close()) }},
		{"Collections", func(t *testing.T, s backend.Shard) []any { c, err := s.Collections(ctx); return all(c, err) }},
	}
}

// said is what a caller can tell of an error.
func said(err error) any {
	if err == nil {
		return nil
	}
	out := []string{err.Error()}
	for _, c := range codes {
		if errors.Is(err, c.is) {
			out = append(out, c.code)
		}
	}
	return out
}

func compare(t *testing.T, name string, got, want []any) {
	t.Helper()
	for _, values := range [][]any{got, want} {
		for i, v := range values {
			if err, ok := v.(error); ok {
				values[i] = said(err)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s mismatch\ngot  %#v\nwant %#v", name, got, want)
	}
}

// TestMethods asks a shard and the same, or an equal one, behind HTTP, and wants the same answers, nil where there is nil.
func TestMethods(t *testing.T) {
	called := map[string]bool{}
	node := openNode(t)
	fill(t, node)
	s := dial(t, node)
	for i, c := range reading() {
		called[c.method] = true
		compare(t, fmt.Sprintf("%d: %s", i, c.method), c.ask(t, s), c.ask(t, node))
	}
	direct, far := openNode(t), dial(t, openNode(t))
	for i, c := range writing() {
		called[c.method] = true
		compare(t, fmt.Sprintf("writing %d: %s", i, c.method), c.ask(t, far), c.ask(t, direct))
	}
	for i := range reflect.TypeFor[backend.Shard]().NumMethod() {
		if name := reflect.TypeFor[backend.Shard]().Method(i).Name; !called[name] {
			t.Errorf("%s is not tested", name)
		}
	}
}

// TestPacking sends nil, empty and full lists through every layout.
func TestPacking(t *testing.T) {
	packs(t, numbers, 0, 1<<64-1)
	packs(t, floats, 0, -0.1, 5e-324, 1.7976931348623157e308)
	packs(t, vector, 0, -1, 1e-45)
	packs(t, refs, 0, 1<<64-1)
	packs(t, passages, backend.PassageRef{Ref: 1, Ordinal: -2})
	packs(t, passageMatches, backend.PassageMatch{Ref: 1, Ordinal: 2, Cosine: -0.3})
	packs(t, matches, backend.Match{Ref: 1, Score: 0.1})
	packs(t, fieldNumbers, backend.Number{Ref: 1, Value: -7.5})
}

func packs[T any](t *testing.T, l layout[T], values ...T) {
	t.Helper()
	for _, list := range [][]T{nil, {}, values} {
		if got, err := l.unpack(l.pack(list)); err != nil || !reflect.DeepEqual(got, list) {
			t.Errorf("%#v came back as %#v, %v", list, got, err)
		}
	}
	if _, err := l.unpack(make([]byte, l.size+1)); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a list that was cut: %v, want ErrInvalid", err)
	}
}

// TestNames holds the names of passages apart: of one start they are different and stay, of another they are others.
func TestNames(t *testing.T) {
	node := openNode(t)
	fill(t, node)
	a, b := dial(t, node), dial(t, node)
	places := make([]backend.PassageRef, 0, 40)
	for ref := range backend.Ref(40) {
		places = append(places, backend.PassageRef{Ref: ref})
	}
	ask := func(s *Shard) []uint64 {
		names, err := s.Names(t.Context(), "docs", places)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	first, again, other := ask(a), ask(a), ask(b)
	if !slices.Equal(first, again) {
		t.Errorf("names of one start are %v, then %v", first, again)
	}
	seen := map[uint64]bool{}
	for _, n := range slices.Concat(first, other) {
		if n != 0 && seen[n] {
			t.Errorf("the name %#x is there twice", n)
		}
		seen[n] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d names of two starts", len(seen))
	}
	names, kept := []uint64{0}, map[uint64]bool{}
	for i := range uint64(1000) {
		names = append(names, 1+i, 1<<64-1-i, 7<<32|i)
	}
	h := &handler{boot: 1<<64 - 1}
	for _, n := range names {
		kept[h.named(n)] = true
	}
	if len(kept) != len(names) || h.named(0) != 0 {
		t.Errorf("%d names of %d are different, that of 0 is %d", len(kept), len(names), h.named(0))
	}
}

// TestForeignSelection gives a shard a selection of another backend.
func TestForeignSelection(t *testing.T) {
	node := openNode(t)
	fill(t, node)
	s := dial(t, node)
	foreign := selectKind(t, node, false)
	for name, ask := range map[string]func() error{
		"Nearest": func() error {
			_, err := s.Nearest(t.Context(), "docs", make([]float32, dimension), 3, foreign)
			return err
		},
		"Words": func() error {
			_, err := s.Words(t.Context(), "docs", backend.Words{Text: "car"}, 3, foreign)
			return err
		},
		"Set":    func() error { _, err := s.Set(t.Context(), "docs", foreign, nil); return err },
		"Refs":   func() error { _, err := s.Refs(t.Context(), "docs", foreign, 0, 3); return err },
		"Facets": func() error { _, err := s.Facets(t.Context(), "docs", nil, foreign); return err },
		"no set": func() error { _, err := s.Facets(t.Context(), "docs", nil, nil); return err },
		"Order":  func() error { _, err := s.Order(t.Context(), "docs", nil, foreign, 3, backend.Scorer{}); return err },
		"filter": func() error {
			_, err := s.Passing(t.Context(), "docs", strangeExpr{}, nil)
			return err
		},
	} {
		if err := ask(); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// strangeExpr is an expression that only its own backend knows.
type strangeExpr struct{ filter.Exists }

// TestLargeSets sends sets of all shapes there and back.
func TestLargeSets(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, make := range map[string]func(b *roaring.Bitmap){
		"none": func(*roaring.Bitmap) {},
		"all":  func(b *roaring.Bitmap) { b.AddRange(0, 3_000_000) },
		"some": func(b *roaring.Bitmap) {
			for range 100_000 {
				b.Add(r.Uint32N(3_000_000))
			}
		},
		"half": func(b *roaring.Bitmap) {
			for i := range uint32(300_000) {
				b.Add(2 * i)
			}
		},
		"last": func(b *roaring.Bitmap) { b.Add(1<<32 - 1) },
	} {
		docs := roaring.New()
		make(docs)
		sent, err := encodeBitmap(docs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeBitmap(sent)
		if err != nil || !got.Equals(docs) {
			t.Errorf("%s came back as %d documents of %d, %v", name, got.GetCardinality(), docs.GetCardinality(), err)
		}
		if name == "all" && len(sent) > 1000 {
			t.Errorf("all documents take %d bytes", len(sent))
		}
	}
}
