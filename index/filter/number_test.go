package filter

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// drawNumber returns an integer of less than 2^64, most often near an edge of float64, as a value
// of a field and as what it is.
func drawNumber(t *rapid.T) (any, *big.Int) {
	edge := rapid.SampledFrom([]uint64{0, 1 << 52, 1 << 53, 1 << 54, 1 << 60, 1 << 63, 1<<64 - 2048}).Draw(t, "edge")
	mag := edge + rapid.Uint64Range(0, 2047).Draw(t, "more")
	if edge > 0 && rapid.Bool().Draw(t, "below") {
		mag = edge - rapid.Uint64Range(0, 2047).Draw(t, "less")
	}
	n := new(big.Int).SetUint64(mag)
	if rapid.Bool().Draw(t, "negative") {
		n.Neg(n)
	}
	text := n.String()
	switch form := rapid.SampledFrom([]string{"int", "digits", "point", "exponent", "fraction"}).Draw(t, "form"); {
	case form == "int" && n.IsInt64():
		return int(n.Int64()), n
	case form == "point":
		text += ".000"
	case form == "exponent":
		text += "00e-2"
	case form == "fraction" && mag >= 10:
		text = text[:len(text)-1] + "." + text[len(text)-1:] + "E+1"
	}
	return json.Number(text), n
}

// TestNumbersAreExact compares integers, as fields hold them and as filters write them, with
// math/big.
func TestNumbersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, m := drawNumber(t)
		y, n := drawNumber(t)
		v, w := Values(nil, x)[0], Values(nil, y)[0]
		if got, ok := v.Compare(w); !ok || got != m.Cmp(n) {
			t.Fatalf("Compare(%v, %v) = %d, %t, want %d", x, y, got, ok, m.Cmp(n))
		}
		if v.Off > MaxOff || v.Off < -MaxOff || v.Off != 0 && !v.Wide() {
			t.Fatalf("%v is %+v", x, v)
		}
		written, ok := ParseNumber(v.String())
		if !ok || written != v {
			t.Fatalf("%v, written as %s, is %+v, want %+v", x, v, written, v)
		}
		if v.Wide() && v.String() != m.String() {
			t.Fatalf("%v is written as %s, want %s", x, v, m)
		}
		for op, want := range map[string]bool{"=": m.Cmp(n) == 0, "!=": m.Cmp(n) != 0, "<": m.Cmp(n) < 0, "<=": m.Cmp(n) <= 0, ">": m.Cmp(n) > 0, ">=": m.Cmp(n) >= 0} {
			text := fmt.Sprintf("a %s %v", op, y)
			e, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Match(map[string]any{"a": x}); got != want {
				t.Fatalf("%q matches %v: %t, want %t", text, x, got, want)
			}
		}
	})
}

// TestFloatsBeyondIntegers: what is no integer of less than 2^64 is a float64, before and behind
// the integers.
func TestFloatsBeyondIntegers(t *testing.T) {
	ordered := []any{-1e300, -0x1p64, json.Number("-18446744073709551615"), -0x1p63, 0.0, 0x1p53, 1<<53 + 1, json.Number("18446744073709551615"), json.Number("18446744073709551616"), 1e300}
	for i, x := range ordered {
		for j, y := range ordered {
			v, w := Values(nil, x)[0], Values(nil, y)[0]
			if got, _ := v.Compare(w); got > 0 != (i > j) || got < 0 != (i < j) {
				t.Errorf("Compare(%v, %v) = %d", x, y, got)
			}
		}
	}
	for _, text := range []string{"", "-", "e5", "1e400", "-1e400", "inf", "nan"} {
		if v, ok := ParseNumber(text); ok {
			t.Errorf("ParseNumber(%q) = %v", text, v)
		}
	}
	for text, want := range map[string]string{
		"9007199254740993.5": "9007199254740994", "1e20": "1e+20", "1e999999999999": "", "0.00000000000009007199254740993e30": "90071992547409930",
		"18446744073709551617": "1.8446744073709552e+19",
	} {
		v, ok := ParseNumber(text)
		if ok != (want != "") || ok && v.String() != want {
			t.Errorf("ParseNumber(%q) = %v, %t, want %s", text, v, ok, want)
		}
	}
}
