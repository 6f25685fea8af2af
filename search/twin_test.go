package search_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
)

// plainDoc is a document as the slow twins of filters, sorts, facets and groups read it: straight
// from its JSON, with none of the engine's code.
type plainDoc struct {
	id     string
	fields map[string]any
}

// plainValue is a string, a number or a boolean of a document.
type plainValue struct {
	kind string // number, date, bool, string, in the order of sorts; long: only EXISTS knows it
	num  *big.Rat
	text string
	date int64
}

// plainValues returns the values that a dotted name has.
func plainValues(d plainDoc, name string) (out []plainValue) {
	var walk func(at string, x any)
	walk = func(at string, x any) {
		switch x := x.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(x)) {
				walk(strings.TrimPrefix(at+"."+key, "."), x[key])
			}
		case []any:
			for _, e := range x {
				walk(at, e)
			}
		case nil:
		default:
			if at == name {
				out = append(out, plainOf(x)...)
			}
		}
	}
	walk("", d.fields)
	return out
}

// plainOf returns the values that a scalar has.
func plainOf(x any) (out []plainValue) {
	switch x := x.(type) {
	case bool:
		return []plainValue{{kind: "bool", text: strconv.FormatBool(x)}}
	case json.Number:
		r, ok := new(big.Rat).SetString(string(x))
		if !ok {
			panic(x)
		}
		if limit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64)); !r.IsInt() || new(big.Rat).Abs(r).Cmp(limit) >= 0 {
			f, _ := r.Float64()
			r.SetFloat64(f)
		}
		return []plainValue{{kind: "number", num: r}}
	case string:
		if len(x) > 256 {
			return []plainValue{{kind: "long"}}
		}
		out = append(out, plainValue{kind: "string", text: x})
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly, time.DateTime} {
			if t, err := time.Parse(layout, x); err == nil {
				out = append(out, plainValue{kind: "date", date: t.UnixMicro()})
			}
		}
	}
	return out
}

func (v plainValue) compare(w plainValue) int {
	switch v.kind {
	case "number":
		return v.num.Cmp(w.num)
	case "date":
		return cmp.Compare(v.date, w.date)
	}
	return cmp.Compare(v.text, w.text)
}

var plainNames = []string{"n", "s", "a.b", "a.c", "ö ß", "x:y", "not", "9", "list.deep", "e\u0301"}

var plainNumbers = []string{"0", "-0", "-0.0", "1", "1.0", "1e0", "10E-1", "-1", "0.1", "2.5", "1e-400", "9007199254740992", "9007199254740993", "9007199254740993.0", "-9007199254740993",
	"9007199254740995", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "18446744073709551617", "-18446744073709551615", "1.8446744073709551615e19",
	"1e300", "-1e300", "123456789012345678901234567890", "9007199254740993.5"}

var plainStrings = []string{"", "a", "A", "b", "ab", "true", "false", "1", "null", "NaN", "Infinity", "it's", `say "x"`, "ä", "a\u0308", "\u0000", "a\u0000b", "日本", "2024-05-01", "2024-05-01T00:00:00Z",
	"2024-05-01T02:00:00+02:00", "2024-04-30T23:59:59.999999999Z", "2024-05-01T00:00:00.0000001Z", "2024-02-30", "2024-05-01 10:00:00", "0000-01-01", "9999-12-31T23:59:59Z",
	"1969-12-31T23:59:59.9999999Z", strings.Repeat("é", 128), strings.Repeat("é", 128) + "x", " ", "\U0010ffff"}

func plainScalar(r *rand.Rand) string {
	switch r.IntN(9) {
	case 0:
		return "null"
	case 1, 2:
		return strconv.FormatBool(r.IntN(2) == 0)
	case 3, 4, 5:
		return plainNumbers[r.IntN(len(plainNumbers))]
	default:
		b, _ := json.Marshal(plainStrings[r.IntN(len(plainStrings))])
		return string(b)
	}
}

func plainJSON(r *rand.Rand) string {
	if r.IntN(4) > 0 {
		return plainScalar(r)
	}
	var parts []string
	for range r.IntN(4) {
		switch r.IntN(8) {
		case 0:
			parts = append(parts, "["+plainScalar(r)+"]")
		default:
			parts = append(parts, plainScalar(r))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func randomPlain(r *rand.Rand, id string) (plainDoc, search.Document) {
	members := []string{`"text":"` + []string{"common", "common rare", "other words", "common common"}[r.IntN(4)] + `"`}
	add := func(name, value string) {
		b, _ := json.Marshal(name)
		members = append(members, string(b)+":"+value)
	}
	for _, name := range plainNames {
		if r.IntN(3) == 0 {
			continue
		}
		switch {
		case name == "a.b" && r.IntN(2) == 0:
			add("a", fmt.Sprintf(`{"b":%s,"c":%s}`, plainJSON(r), plainJSON(r)))
		case name == "list.deep":
			add("list", fmt.Sprintf(`[{"deep":%s},{"deep":%s},{},null,[{"deep":%s}]]`, plainJSON(r), plainJSON(r), plainJSON(r)))
		default:
			add(name, plainJSON(r))
		}
	}
	text := "{" + strings.Join(members, ",") + "}"
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	d := plainDoc{id: id}
	if err := dec.Decode(&d.fields); err != nil {
		panic(text)
	}
	return d, doc(id, text)
}

// randomCondition returns a filter and what it means.
func randomCondition(r *rand.Rand, depth int) (string, func(plainDoc) bool) {
	if depth > 0 {
		switch r.IntN(5) {
		case 0, 1:
			a, fa := randomCondition(r, depth-1)
			b, fb := randomCondition(r, depth-1)
			if r.IntN(2) == 0 {
				return "(" + a + ") and (" + b + ")", func(d plainDoc) bool { return fa(d) && fb(d) }
			}
			return "(" + a + " or " + b + ")", func(d plainDoc) bool { return fa(d) || fb(d) }
		case 2:
			a, fa := randomCondition(r, depth-1)
			return "NOT (" + a + ")", func(d plainDoc) bool { return !fa(d) }
		}
	}
	name := append(plainNames, "missing")[r.IntN(len(plainNames)+1)]
	field := "`" + name + "`"
	literal := func() (string, plainValue) {
		for {
			text := plainScalar(r)
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			var x any
			if err := dec.Decode(&x); err != nil {
				panic(err)
			}
			values := plainOf(x)
			if len(values) == 0 || values[0].kind == "long" {
				continue
			}
			if s, ok := x.(string); ok {
				text = "'" + strings.ReplaceAll(s, "'", "''") + "'"
			}
			return text, values[len(values)-1] // a date where it is one
		}
	}
	some := func(d plainDoc, holds func(v plainValue) bool) bool {
		return slices.ContainsFunc(plainValues(d, name), holds)
	}
	switch r.IntN(8) {
	case 0:
		return field + " EXISTS", func(d plainDoc) bool { return some(d, func(plainValue) bool { return true }) }
	case 1:
		var texts []string
		var values []plainValue
		for range 1 + r.IntN(4) {
			t, v := literal()
			texts, values = append(texts, t), append(values, v)
		}
		return field + " IN (" + strings.Join(texts, ", ") + ")", func(d plainDoc) bool {
			return some(d, func(v plainValue) bool {
				return slices.ContainsFunc(values, func(w plainValue) bool { return v.kind == w.kind && v.compare(w) == 0 })
			})
		}
	}
	text, want := literal()
	op := []string{"=", "!=", "<", "<=", ">", ">="}[r.IntN(6)]
	if want.kind == "bool" {
		op = op[:1]
		if op != "=" {
			op = "!="
		}
	}
	return field + op + text, func(d plainDoc) bool {
		holds := some(d, func(v plainValue) bool {
			if v.kind != want.kind {
				return false
			}
			switch c := v.compare(want); op {
			case "=", "!=":
				return c == 0
			case "<":
				return c < 0
			case "<=":
				return c <= 0
			case ">":
				return c > 0
			default:
				return c >= 0
			}
		})
		return holds != (op == "!=")
	}
}

// plainOrder compares two documents by a field as sorts do.
func plainOrder(a, b plainDoc, name string, desc bool) int {
	kinds := []string{"number", "date", "bool", "string"}
	key := func(d plainDoc) (int, plainValue) {
		for i, kind := range kinds {
			var of []plainValue
			for _, v := range plainValues(d, name) {
				if v.kind == kind {
					of = append(of, v)
				}
			}
			if len(of) > 0 && desc {
				return i, slices.MaxFunc(of, plainValue.compare)
			} else if len(of) > 0 {
				return i, slices.MinFunc(of, plainValue.compare)
			}
		}
		return len(kinds), plainValue{}
	}
	i, v := key(a)
	j, w := key(b)
	if i != j || i == len(kinds) {
		return cmp.Compare(i, j)
	}
	if desc {
		return w.compare(v)
	}
	return v.compare(w)
}

// TestTwins filters, sorts, counts and pages random documents through additions, replacements,
// deletions and reopening, and compares with what their JSON says.
func TestTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	dir := t.TempDir()
	e, err := search.Open(dir, search.Options{Embedder: &fakeEmbedder{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { e.Close() }()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []plainDoc // in the order of their first arrival
	for round := range 3 {
		var batch []search.Document
		for range 60 {
			id := fmt.Sprintf("d%d", r.IntN(150))
			d, sent := randomPlain(r, id)
			if slices.ContainsFunc(batch, func(b search.Document) bool { return b.ID == id }) {
				continue
			}
			batch = append(batch, sent)
			if i := slices.IndexFunc(docs, func(p plainDoc) bool { return p.id == id }); i >= 0 {
				docs[i] = d
			} else {
				docs = append(docs, d)
			}
		}
		results, err := e.Ingest(t.Context(), "docs", batch)
		if err != nil {
			t.Fatal(err)
		}
		for i, res := range results {
			if res.Err != nil {
				t.Fatalf("%s: %v", batch[i].Fields, res.Err)
			}
		}
		for range 8 {
			i := r.IntN(len(docs))
			if _, err := e.DeleteDocuments(t.Context(), "docs", []string{docs[i].id}); err != nil {
				t.Fatal(err)
			}
			docs = slices.Delete(docs, i, i+1)
		}
		if round%2 == 1 {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if e, err = search.Open(dir, search.Options{Embedder: &fakeEmbedder{}}); err != nil {
				t.Fatal(err)
			}
		}
		for range 15 {
			checkTwin(t, r, e, docs)
		}
	}
}

func checkTwin(t *testing.T, r *rand.Rand, e *search.Engine, docs []plainDoc) {
	t.Helper()
	text, holds := randomCondition(r, 3)
	q := search.Query{Filter: text, Passages: ptr(0), Window: 1000}
	word := ""
	if r.IntN(2) == 0 {
		word, q.Q, q.Mode = "common", "common", search.Keyword
	}
	var want []plainDoc
	for _, d := range docs {
		if holds(d) && strings.Contains(d.fields["text"].(string), word) {
			want = append(want, d)
		}
	}
	for _, i := range r.Perm(len(plainNames))[:r.IntN(4)] {
		q.Sort = append(q.Sort, search.SortKey{Field: plainNames[i], Order: []string{"asc", "desc"}[r.IntN(2)]})
	}
	slices.SortStableFunc(want, func(a, b plainDoc) int {
		for _, k := range q.Sort {
			if c := plainOrder(a, b, k.Field, k.Order == "desc"); c != 0 {
				return c
			}
		}
		return 0
	})
	for _, i := range r.Perm(len(plainNames))[:3] {
		q.Facets = append(q.Facets, search.Facet{Field: plainNames[i], Limit: 1000})
	}
	ids := make([]string, len(want))
	for i, d := range want {
		ids[i] = d.id
	}
	page := 1 + r.IntN(40)
	var got []string
	for q.Limit = &page; q.Offset == 0 || q.Offset < len(ids); q.Offset += page {
		res, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if res.Total.Value != len(ids) || res.Total.Relation != "eq" {
			t.Fatalf("%+v: total %+v, want %d", q, res.Total, len(ids))
		}
		for _, h := range res.Hits {
			got = append(got, h.ID)
		}
		for _, f := range q.Facets {
			if got, want := fmt.Sprint(res.Facets[f.Field]), fmt.Sprint(plainFacet(want, f.Field, res.Facets[f.Field])); got != want {
				t.Fatalf("%+v: facet %s\n got %s\nwant %s", q, f.Field, got, want)
			}
		}
	}
	if len(q.Sort) == 0 && q.Q != "" { // by scores
		slices.Sort(got)
		slices.Sort(ids)
	}
	if !slices.Equal(got, ids) {
		t.Fatalf("%+v\n got %v\nwant %v", q, got, ids)
	}
}

// plainFacet counts the values of a field; the counts' own words for values are taken over.
func plainFacet(docs []plainDoc, name string, got search.FacetCounts) search.FacetCounts {
	out := search.FacetCounts{Of: got.Of, Documents: len(docs)}
	counts := map[string]int{}
	for _, d := range docs {
		seen := map[string]bool{}
		values := plainValues(d, name)
		if len(values) == 0 {
			out.Missing++
		}
		for _, v := range values {
			key := v.kind + " " + v.text
			if v.kind == "number" {
				key = "number " + v.num.RatString()
			}
			if v.kind == "date" || v.kind == "long" || seen[key] {
				continue
			}
			seen[key] = true
			counts[key]++
		}
	}
	out.Distinct = len(counts)
	before := 1 << 30
	for _, v := range got.Values {
		key := ""
		switch x := v.Value.(type) {
		case string:
			key = "string " + x
		case bool:
			key = "bool " + strconv.FormatBool(x)
		default:
			n := plainOf(json.Number(fmt.Sprint(x)))[0].num
			if f, isFloat := x.(float64); isFloat {
				n.SetFloat64(f)
			}
			key = "number " + n.RatString()
		}
		n, ok := counts[key]
		if !ok || n > before {
			n = -1
		}
		before = n
		delete(counts, key)
		out.Values = append(out.Values, search.FacetValue{Value: v.Value, Count: n})
	}
	return out
}
