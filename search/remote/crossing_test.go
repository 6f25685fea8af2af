package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"searchd/index/filter"
	"searchd/search/backend"
)

// anything sets v to something random: lists that are nil, empty and not, strings that are not UTF-8 where raw. Every exported field of a struct is set, so
// that one that does not cross the wire is missed.
func anything(r *rand.Rand, v reflect.Value, raw bool) {
	if v.Type() == reflect.TypeFor[filter.Value]() {
		v.Set(reflect.ValueOf(anyValue(r)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(r.Uint64()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(30)-15)))))
	case reflect.String:
		v.SetString(anyString(r, raw))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				anything(r, v.Field(i), raw)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			anything(r, v.Index(i), raw)
		}
	case reflect.Pointer:
		if r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			anything(r, v.Elem(), raw)
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
			for i := range n - 1 {
				anything(r, v.Index(i), raw)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			anything(r, key, raw)
			anything(r, value, raw)
			v.SetMapIndex(key, value)
		}
	default:
		panic("anything: " + v.Type().String())
	}
}

func anyString(r *rand.Rand, raw bool) string {
	s := strings.Repeat(string(rune(r.IntN(0x3000)))+"\u2028<", r.IntN(3))
	if raw && r.IntN(2) == 0 {
		s += "\xff\xfe"
	}
	return s
}

func anyValue(r *rand.Rand) filter.Value {
	switch filter.Kind(r.IntN(5)) {
	case filter.String:
		return filter.Value{Str: anyString(r, true)}
	case filter.Number:
		return filter.Value{Kind: filter.Number, Num: r.NormFloat64() * 1e18, Off: int16(r.IntN(2*filter.MaxOff+1) - filter.MaxOff)}
	case filter.Bool:
		return filter.Value{Kind: filter.Bool, Num: float64(r.IntN(2))}
	case filter.Date:
		return filter.Value{Kind: filter.Date, Time: int64(r.Uint64()), Str: anyString(r, false)}
	}
	return filter.Value{Kind: filter.Opaque}
}

// sent sends a message through JSON.
func sent[M any](t *testing.T, m M) (got M) {
	t.Helper()
	b, err := json.Marshal(m)
	if err == nil {
		err = decode(bytes.NewReader(b), &got)
	}
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	return got
}

// crosses sends values of a type of the seam through its message.
func crosses[T any](t *testing.T, raw bool, through func(v T) (T, error)) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		var v T
		anything(r, reflect.ValueOf(&v).Elem(), raw)
		if got, err := through(v); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%T came back otherwise, %v\ngot  %#v\nwant %#v", v, err, got, v)
		}
	}
}

// TestEveryFieldCrosses sends every type of the seam that a message is made of by hand, with all of its fields set.
func TestEveryFieldCrosses(t *testing.T) {
	crosses(t, true, func(d backend.Document) (backend.Document, error) {
		got, err := sent(t, documentOf(&d)).document()
		return *got, err
	})
	crosses(t, true, func(w backend.Write) (backend.Write, error) { return sent(t, writeOf(w)).write() })
	crosses(t, true, func(q backend.Words) (backend.Words, error) {
		global := q.Global // which is sent as it is
		q.Global = nil
		got := sent(t, wordsOf(q)).words()
		got.Global = global
		return got, nil
	})
	global := &backend.Statistics{Documents: 3, Tokens: map[string]uint64{"text": 5}, Complete: true}
	if got := sent(t, wordsOf(backend.Words{Global: global})).words(); !reflect.DeepEqual(got.Global, global) {
		t.Errorf("%v came back as %v", global, got.Global)
	}
	crosses(t, true, func(h backend.Head) (backend.Head, error) {
		got, err := sent(t, headsOf([]backend.Head{h})).heads()
		return got[0], err
	})
	crosses(t, true, func(s backend.TermScore) (backend.TermScore, error) { return sent(t, termScoreOf(s)).termScore(), nil })
	crosses(t, true, func(s backend.Token) (backend.Token, error) { return sent(t, tokenOf(s)).token(), nil })
	crosses(t, true, func(e backend.Expansion) (backend.Expansion, error) { return sent(t, expansionOf(e)).expansion(), nil })
	crosses(t, true, func(n backend.NearTerms) (backend.NearTerms, error) { return sent(t, nearAnswerOf(n)).nearTerms() })
	crosses(t, true, func(f backend.FieldNames) (backend.FieldNames, error) {
		return sent(t, fieldNamesOf(f)).fieldNames(), nil
	})
	crosses(t, true, func(f backend.Facet) (backend.Facet, error) { return sent(t, facetOf(f)).facet() })
	crosses(t, true, func(f backend.FacetCounts) (backend.FacetCounts, error) {
		return sent(t, facetCountsOf(f)).facetCounts()
	})
	crosses(t, true, func(k backend.SortKey) (backend.SortKey, error) { return sent(t, sortKeyOf(k)).sortKey(), nil })
	crosses(t, true, func(o backend.Ordered) (backend.Ordered, error) { return sent(t, orderedOf(o)).ordered() })
	crosses(t, true, func(v filter.Value) (filter.Value, error) { return sent(t, valueOf(v)).value() })
	crosses(t, true, func(k map[string][]byte) (map[string][]byte, error) { return sent(t, keyedOf(k)).values() })
	crosses(t, true, func(k map[backend.Ref]float64) (map[backend.Ref]float64, error) { return known(sent(t, knownOf(k))) })
	crosses(t, false, func(s backend.IndexStats) (backend.IndexStats, error) { return sent(t, s), nil })
	crosses(t, false, func(p backend.Problem) (backend.Problem, error) { return sent(t, p), nil })
	crosses(t, false, func(p backend.Position) (backend.Position, error) { return sent(t, p), nil })
	crosses(t, false, func(o backend.Outcome) (backend.Outcome, error) { return sent(t, o), nil })
	crosses(t, false, func(r backend.Rebuild) (backend.Rebuild, error) { return backend.Rebuild(sent(t, rebuild(r))), nil })
	for _, k := range []map[string][]byte{nil, {}} {
		if got, err := sent(t, keyedOf(k)).values(); err != nil || !reflect.DeepEqual(got, k) {
			t.Errorf("%#v came back as %#v, %v", k, got, err)
		}
	}
	if got, err := known(sent(t, knownOf(nil))); got != nil || err != nil {
		t.Errorf("no scores came back as %v, %v", got, err)
	}
}

// TestHeadsOfOtherLengths: heads whose parts do not fit together are an error.
func TestHeadsOfOtherLengths(t *testing.T) {
	for name, spoil := range map[string]func(h *heads){
		"an id more":             func(h *heads) { h.IDs = append(h.IDs, text("b")) },
		"half a hash":            func(h *heads) { h.Hashes = h.Hashes[:16] },
		"no number of passages":  func(h *heads) { h.Passages = nil },
		"a part of a number":     func(h *heads) { h.Passages = h.Passages[:5] },
		"nothing but the hashes": func(h *heads) { h.IDs, h.Passages = nil, nil },
	} {
		h := headsOf([]backend.Head{{ID: "a", Passages: 3}})
		spoil(&h)
		if got, err := h.heads(); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, got, err)
		}
	}
}

// TestMessagesHaveEveryField counts the fields of what is taken apart where it is used: a new one has to be sent, too.
func TestMessagesHaveEveryField(t *testing.T) {
	for typ, want := range map[reflect.Type]int{
		reflect.TypeFor[backend.Subset]():        6,
		reflect.TypeFor[backend.Words]():         6,
		reflect.TypeFor[backend.WordMatches]():   5,
		reflect.TypeFor[backend.Scorer]():        3,
		reflect.TypeFor[backend.PassageVector](): 3,
		reflect.TypeFor[backend.PassageRef]():    2,
		reflect.TypeFor[backend.PassageMatch]():  3,
		reflect.TypeFor[backend.Match]():         2,
		reflect.TypeFor[backend.Number]():        2,
		reflect.TypeFor[backend.FieldWeight]():   2,
		reflect.TypeFor[backend.DamagedError]():  3,
		reflect.TypeFor[backend.ValuesError]():   2,
	} {
		if typ.NumField() != want {
			t.Errorf("%v has %d fields, and %d of them cross the wire", typ, typ.NumField(), want)
		}
	}
}

// anyExpr draws an expression.
func anyExpr(t *rapid.T, depth int) filter.Expr {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	field := anyString(r, true)
	value := func() filter.Value {
		for {
			if v := anyValue(r); v.Kind != filter.Opaque {
				return v
			}
		}
	}
	list := func() []filter.Expr {
		out := make([]filter.Expr, rapid.IntRange(1, 3).Draw(t, "count"))
		for i := range out {
			out[i] = anyExpr(t, depth-1)
		}
		return out
	}
	in := filter.In{Field: field}
	for range r.IntN(3) {
		in.Values = append(in.Values, value())
	}
	kinds := 7
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return filter.Compare{Field: field, Op: filter.Op(r.IntN(6)), Value: value()}
	case 1:
		return in
	case 2:
		return filter.Exists{Field: field}
	case 3:
		return filter.OfID{Own: in, IDs: []string{anyString(r, true), "x"}}
	case 4:
		return filter.And(list())
	case 5:
		return filter.Or(list())
	}
	return filter.Not{Expr: anyExpr(t, depth-1)}
}

// TestExpressionsCross sends random filters.
func TestExpressionsCross(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := anyExpr(rt, 6)
		parts, err := partsOf(nil, e)
		if err != nil {
			rt.Fatal(err)
		}
		if got, err := expression(sent(t, parts)); err != nil || !reflect.DeepEqual(got, e) {
			rt.Fatalf("%#v came back as %#v, %v", e, got, err)
		}
	})
	deepest := strings.Repeat("(a = 1 OR b = 2 AND NOT ", filter.MaxDepth/2) + "id != 3" + strings.Repeat(")", filter.MaxDepth/2)
	e, err := filter.Parse(deepest)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := partsOf(nil, filter.And{filter.WithID(e), filter.Exists{Field: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := expression(parts); err != nil {
		t.Errorf("the deepest filter: %v", err)
	}
	if got, err := expression(nil); got != nil || err != nil {
		t.Errorf("no filter came back as %v, %v", got, err)
	}
}

// TestHostileExpressions reads lists that are no filter.
func TestHostileExpressions(t *testing.T) {
	one := []value{{Kind: filter.Number, Num: 1}}
	nots := make([]part, 100_000)
	for i := range nots {
		nots[i].Is = "not"
	}
	for name, list := range map[string][]part{
		"unknown":        {{Is: "xor"}},
		"cut":            {{Is: "not"}},
		"too many":       {{Is: "and", Count: 1 << 40}, {Is: "exists"}},
		"none":           {{Is: "or", Count: 0}, {Is: "exists"}},
		"negative":       {{Is: "or", Count: -1}, {Is: "exists"}},
		"followed":       {{Is: "exists"}, {Is: "exists"}},
		"deep":           append(nots, part{Is: "exists"}),
		"operator":       {{Is: "compare", Op: "~", Values: one}},
		"without value":  {{Is: "compare", Op: "="}},
		"opaque":         {{Is: "compare", Op: "=", Values: []value{{Kind: filter.Opaque}}}},
		"kind":           {{Is: "in", Values: []value{{Kind: 77}}}},
		"beyond float64": {{Is: "in", Values: []value{{Kind: filter.Number, Off: filter.MaxOff + 1}}}},
	} {
		if e, err := expression(list); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, e, err)
		}
	}
}

// checkedByLibrary is the slow twin of checkBitmap: the library's reader and its check.
func checkedByLibrary(b []byte) bool {
	docs := roaring.New()
	n, err := docs.ReadFrom(bytes.NewReader(b))
	return err == nil && int(n) == len(b) && docs.Validate() == nil
}

// TestBitmapCheck changes bytes of bitmaps of all kinds of containers: what is let through, the library's own check lets through, and the other way round.
func TestBitmapCheck(t *testing.T) {
	passed, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		docs := roaring.New()
		for c := range uint32(r.IntN(6)) {
			switch r.IntN(3) {
			case 0:
				for range 1 + r.IntN(20) {
					docs.Add(c<<16 + r.Uint32N(1<<16))
				}
			case 1:
				for i := range uint32(5000) {
					docs.Add(c<<16 + 3*i)
				}
			default:
				docs.AddRange(uint64(c<<16+r.Uint32N(100)), uint64(c<<16+5000))
			}
		}
		if r.IntN(2) == 0 {
			docs.RunOptimize()
		}
		b, err := docs.ToBytes()
		if err != nil {
			rt.Fatal(err)
		}
		for range r.IntN(3) {
			at := r.IntN(len(b))
			if r.IntN(2) == 0 {
				at = r.IntN(min(len(b), 40)) // the header
			}
			switch r.IntN(3) {
			case 0:
				b[at] ^= 1 << r.IntN(8)
			case 1:
				b[at] = byte(r.Uint32())
			default:
				b = b[:at]
			}
			if len(b) == 0 {
				break
			}
		}
		want := checkedByLibrary(bytes.Clone(b))
		err = checkBitmap(b)
		if (err == nil) != want {
			rt.Fatalf("checkBitmap: %v, the library says %t, of %x", err, want, b[:min(len(b), 100)])
		}
		if err != nil {
			refused++
			return
		}
		passed++
		if got, err := decodeBitmap(b); err != nil || len(got.ToArray()) != int(got.GetCardinality()) {
			rt.Fatalf("%d values, %d of them there, %v", got.GetCardinality(), len(got.ToArray()), err)
		}
	})
	if passed == 0 || refused == 0 {
		t.Errorf("%d passed, %d were refused", passed, refused)
	}
}

// TestHostileBitmaps reads headers that promise more than follows.
func TestHostileBitmaps(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":        {},
		"short":          {0x3a},
		"no bitmap":      []byte("<html>"),
		"containers":     {0x3a, 0x30, 0, 0, 0xff, 0xff, 0, 0},
		"too many":       {0x3a, 0x30, 0, 0, 0xff, 0xff, 0xff, 0xff},
		"runs":           {0x3b, 0x30, 0xff, 0xff},
		"runs cut":       {0x3b, 0x30, 0, 0, 1, 0, 0, 4, 0, 0xff, 0xff, 0, 0},
		"no runs":        {0x3b, 0x30, 0, 0, 1, 0, 0, 4, 0, 0, 0},
		"run past":       {0x3b, 0x30, 0, 0, 1, 0, 0, 4, 0, 1, 0, 0xff, 0xff, 1, 0},
		"runs meet":      {0x3b, 0x30, 0, 0, 1, 0, 0, 4, 0, 2, 0, 0, 0, 5, 0, 3, 0, 2, 0},
		"runs touch":     {0x3b, 0x30, 0, 0, 1, 0, 0, 4, 0, 2, 0, 0, 0, 5, 0, 6, 0, 2, 0},
		"runs backwards": {0x3b, 0x30, 0, 0, 1, 0, 0, 4, 0, 2, 0, 9, 0, 1, 0, 0, 0, 1, 0},
		"equal values":   {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 5, 0, 5, 0},
		"something more": {0x3a, 0x30, 0, 0, 0, 0, 0, 0, 1},
	} {
		if _, err := decodeBitmap(b); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
		if checkedByLibrary(b) {
			t.Errorf("%s: the library lets it through", name)
		}
	}
}
