package keyword

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

// pool has values of every kind that meet one another's edges.
var pool = []any{
	"", "a", "b", "ab", "it's", "2024-05-01", "2024-05-01T00:00:00Z", "2024-05-01T02:00:00+02:00", "2024-05-01 02:00:00 +0200", "2024-05-01T00:00:00", "1999-12-31", "z\x00", "true", "1", "École", strings.Repeat("x", filter.MaxString-1) + "é",
	strings.Repeat("x", filter.MaxString), strings.Repeat("x", filter.MaxString) + "a", strings.Repeat("x", filter.MaxString) + "b",
	true, false, nil,
	0.0, math.Copysign(0, -1), 1.0, -1.0, 0.5, 255.0, 256.0, 257.0, 65536.0, -1e300, 1e300, 5e-324, math.MaxFloat64, 7, 1 << 40, math.NaN(),
	"0001-01-01T00:00:00.000001Z", "2024-05-01T00:00:00.000000999Z",
	math.MinInt64, math.MaxInt64, json.Number("18446744073709551615"), 0x1p53, -0x1p53, 0x1p63, 0x1p64, -0x1p64, 1<<53 - 1, json.Number("-18446744073709551615"),
	filter.Present{}, []any{filter.Present{}, "a", filter.Present{}},
	map[string]any{"nested": 1}, []any{}, []any{"a", "b"}, []any{"a", 1.0, true, "2024-05-01"}, []any{1.0, 255.0, -1.0}, []any{nil, []any{"no"}},
}

func randomValue(r *rand.Rand) any {
	switch r.IntN(7) {
	case 6:
		if r.IntN(3) == 0 {
			return []any{randomPoint(r), "a", randomPoint(r)}
		}
		return randomPoint(r)
	case 0, 1:
		return float64(r.IntN(2000)-1000) / 4
	case 2: // of some integers that share few float64
		n := []uint64{1<<53 - 2, 1<<60 - 2, 1<<63 - 2}[r.IntN(3)] + r.Uint64N(6)*[]uint64{1, 1, 300}[r.IntN(3)]
		return []any{json.Number(strconv.FormatUint(n, 10)), int(n), -int(n)}[r.IntN(3)]
	}
	return pool[r.IntN(len(pool))]
}

// randomPoint returns a point, often of a cluster, at a pole or at the 180th meridian.
func randomPoint(r *rand.Rand) geo.Point {
	return nearPoint(r, math.Pow(10, float64(r.IntN(9)-6)))
}

// nearPoint returns a point some degrees from one of a few.
func nearPoint(r *rand.Rand, by float64) geo.Point {
	clusters := []geo.Point{{Lat: 48.9, Lon: 2.34}, {Lat: -17, Lon: 180}, {Lat: 90}, {Lat: -90, Lon: 7}, {}, {Lat: 0, Lon: -180}}
	p := clusters[r.IntN(len(clusters))]
	p.Lat, p.Lon = min(max(p.Lat+by*r.NormFloat64(), -90), 90), math.Remainder(p.Lon+by*r.NormFloat64(), 360)
	return p
}

func randomArea(r *rand.Rand) geo.Area {
	switch r.IntN(3) {
	case 0:
		if r.IntN(3) == 0 { // whose edge is among the points of a cluster
			return geo.Circle{Center: nearPoint(r, 1e-6), Radius: r.Float64() / 5}
		}
		return geo.Circle{Center: randomPoint(r), Radius: math.Pow(10, r.Float64()*8-1)}
	case 1:
		return geo.NewBox(randomPoint(r), randomPoint(r))
	}
	for {
		corners := make([]geo.Point, 3+r.IntN(3))
		for i := range corners {
			corners[i] = randomPoint(r)
		}
		if p, err := geo.NewPolygon(corners); err == nil {
			return p
		}
	}
}

// randomExpr builds an expression from the same values as the documents.
func randomExpr(r *rand.Rand, depth int) filter.Expr {
	field := string(rune('p' + r.IntN(4)))
	switch n := r.IntN(10); {
	case n == 9:
		return filter.Within{Field: field, Area: randomArea(r)}
	case depth > 0 && n < 2:
		return filter.And{randomExpr(r, depth-1), randomExpr(r, depth-1), randomExpr(r, depth-1)}
	case depth > 0 && n < 4:
		return filter.Or{randomExpr(r, depth-1), randomExpr(r, depth-1)}
	case depth > 0 && n == 4:
		return filter.Not{Expr: randomExpr(r, depth-1)}
	case n == 5:
		return filter.Exists{Field: field}
	case n == 6:
		var values []filter.Value
		for r.IntN(4) > 0 {
			values = append(values, randomLiterals(r)...)
		}
		return filter.In{Field: field, Values: values}
	case n == 7 && r.IntN(2) == 0:
		part := []string{"", "a", "B", "'s", "2024-05", "T0", "XXX", "z\x00", "true", "é", "\ufffd"}[r.IntN(11)]
		return filter.Compare{Field: field, Op: []filter.Op{filter.Contains, filter.StartsWith}[r.IntN(2)], Value: filter.Value{Kind: filter.String, Str: part}}
	default:
		v := randomLiterals(r)
		return filter.Compare{Field: field, Op: filter.Op(r.IntN(6)), Value: v[r.IntN(len(v))]}
	}
}

func randomLiterals(r *rand.Rand) []filter.Value {
	for {
		if v := filter.Values(nil, randomValue(r)); len(v) > 0 && v[0].Kind < filter.Opaque {
			return v
		}
	}
}

// TestFilterEqualsMatch compares the index with the definition of the language, document by
// document.
func TestFilterEqualsMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	x := openTemp(t, Options{})
	defer func(few uint64) { fewPoints = few }(fewPoints)
	docs := map[uint32]map[string]any{}
	ctx := context.Background()
	for round := range 4 {
		var entries []Entry
		for range 250 {
			e := Entry{No: r.Uint32N(600), Delete: r.IntN(5) == 0}
			if !e.Delete {
				e.Values = map[string]any{}
				for _, field := range []string{"p", "q", "r", "s"} {
					if r.IntN(3) > 0 {
						e.Values[field] = randomValue(r)
					}
				}
				docs[e.No] = e.Values
			} else {
				delete(docs, e.No)
			}
			entries = append(entries, e)
		}
		apply(t, x, uint64(round+1), entries...)
		for range 200 {
			fewPoints = []uint64{0, 3, 64}[r.IntN(3)]
			e := randomExpr(r, 3)
			want := roaring.New()
			for no, values := range docs {
				if e.Match(values) {
					want.Add(no)
				}
			}
			got, err := x.Filter(ctx, e)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equals(want) {
				got.Xor(want)
				no := got.Minimum()
				t.Fatalf("Filter(%s) is wrong about document %d: %v", shortX(e), no, shortX(docs[no]))
			}
		}
	}
	all, err := x.Filter(ctx, nil)
	if err != nil || int(all.GetCardinality()) != len(docs) {
		t.Errorf("Filter(nil) has %d documents, %v, want %d", all.GetCardinality(), err, len(docs))
	}
}

// shortX prints v without the long strings of pool.
func shortX(v any) string {
	return strings.ReplaceAll(fmt.Sprint(v), strings.Repeat("x", filter.MaxString), "XXX")
}

// TestRangeTerms compares ranges of prefixes with the numbers themselves, at the edges of blocks.
func TestRangeTerms(t *testing.T) {
	edges := []uint64{0, 1, 254, 255, 256, 257, 511, 512, 65535, 65536, 1<<24 - 1, 1 << 24, 1<<56 - 1, 1 << 56, 1<<63 - 1, 1 << 63, math.MaxUint64 - 256, math.MaxUint64 - 255, math.MaxUint64 - 1, math.MaxUint64}
	in := func(ranges []termRange, n uint64) bool {
		for level := byte(1); level <= 8; level++ {
			term := string(prefixTerm(filter.Number, level, n>>(8*(8-level))))
			for _, r := range ranges {
				if term >= string(r.first) && term < string(r.end) {
					return true
				}
			}
		}
		return false
	}
	for _, lo := range edges {
		for _, hi := range edges {
			ranges := rangeTerms(filter.Number, lo, hi)
			if len(ranges) > 15 {
				t.Errorf("rangeTerms(%d, %d) has %d ranges, want at most 15", lo, hi, len(ranges))
			}
			for _, n := range edges {
				if got, want := in(ranges, n), lo <= n && n <= hi; got != want {
					t.Errorf("rangeTerms(%d, %d) holds %d: %v, want %v", lo, hi, n, got, want)
				}
			}
		}
	}
}

func TestFacets(t *testing.T) {
	x := openTemp(t, Options{})
	ctx := context.Background()
	for no := range uint32(30) {
		values := map[string]any{"lang": []string{"en", "de", "fr"}[no%3], "n": float64(no % 2), "draft": no%5 == 0, "id": fmt.Sprint(no)}
		if no%3 == 0 {
			values["lang"] = []any{"en", "simple"}
		}
		apply(t, x, uint64(no+1), Entry{No: no, Values: values})
	}
	apply(t, x, 31, Entry{No: 1, Delete: true})
	tests := []struct {
		field string
		allow *roaring.Bitmap
		limit int
		want  string
	}{
		{"lang", nil, 10, "[{'en' 10} {'fr' 10} {'simple' 10} {'de' 9}]"},
		{"lang", nil, 1, "[{'en' 10}]"},
		{"lang", roaring.BitmapOf(0, 1, 2, 3, 99), 10, "[{'en' 2} {'simple' 2} {'fr' 1}]"},
		{"n", nil, 10, "[{0 15} {1 14}]"},
		{"draft", nil, 10, "[{false 23} {true 6}]"},
		{"none", nil, 10, "[]"},
	}
	for _, tt := range tests {
		counts, err := x.Facets(ctx, []Facet{{Field: tt.field, Limit: tt.limit}}, tt.allow)
		var got []ValueCount
		if err == nil {
			got = counts[0].Values
		}
		if err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("Facets(%s, %v, %d) = %v, %v, want %s", tt.field, tt.allow, tt.limit, got, err, tt.want)
		}
	}
	if _, err := x.Facets(ctx, []Facet{{Field: "lang", Limit: -1}}, nil); !errors.Is(err, ErrQuery) {
		t.Errorf("Facets with limit -1 = %v, want ErrQuery", err)
	}
	for _, v := range []any{"s", "", 1.5, -3.0, 0, true, false} {
		value := filter.Values(nil, v)[0]
		if got := termValue(string(equalTerm(value))); got != value {
			t.Errorf("termValue(equalTerm(%v)) = %v", value, got)
		}
	}
}

func TestFilterStopsWithContext(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Values: map[string]any{"a": 1}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Filter(ctx, filter.Exists{Field: "a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Filter = %v, want context.Canceled", err)
	}
	if _, _, err := x.Search(ctx, Query{Text: "a"}, 1, nil); !errors.Is(err, context.Canceled) && err != nil {
		t.Errorf("Search = %v, want context.Canceled", err)
	}
	if err := x.Apply(ctx, nil, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply = %v, want context.Canceled", err)
	}
	if got := x.Seq(); got != 1 {
		t.Errorf("Seq = %d after a cancelled Apply, want 1", got)
	}
}
