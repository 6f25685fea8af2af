package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// eachBackend runs test once for each back end of this machine.
func eachBackend(t *testing.T, test func(t *testing.T)) {
	for _, b := range Backends() {
		t.Run("impl="+b.String(), func(t *testing.T) {
			use(t, b)
			test(t)
		})
	}
}

func use(t testing.TB, b Backend) {
	t.Helper()
	before := Active()
	if err := Use(b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { active = before })
}

const guard = float32(-123456.5)

// guarded returns a slice of n floats, off by one from the start of its array, and a check that
// nothing around it changed.
func guarded(t testing.TB, n int) ([]float32, func()) {
	t.Helper()
	const pad = 67
	buf := make([]float32, n+2*pad)
	for i := range buf {
		buf[i] = guard
	}
	return buf[pad : pad+n : pad+n], func() {
		t.Helper()
		for i, v := range buf {
			if (i < pad || i >= pad+n) && v != guard {
				t.Fatalf("wrote %v at %d, outside a destination of %d", v, i-pad, n)
			}
		}
	}
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+1)[1:]
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// far says that |got-want| > tol·max(1, scale), or that one of them is NaN and the other is not.
func far(got float32, want, scale, tol float64) bool {
	return math.IsNaN(want) != math.IsNaN(float64(got)) || math.Abs(float64(got)-want) > tol*max(1, scale)
}

func TestShortSlicesPanic(t *testing.T) {
	m := Pack(make([]float32, 6), 2, 3)
	f := make([]float32, 8)
	tests := []struct {
		name string
		call func()
	}{
		{"Pack", func() { Pack(f, 2, 3) }},
		{"Mul dst", func() { m.Mul(f[:3], f, 2, Epilogue{}) }},
		{"Mul x", func() { m.Mul(f, f[:5], 2, Epilogue{}) }},
		{"Mul bias", func() { m.Mul(f, f, 2, Epilogue{Bias: f[:1]}) }},
		{"Mul residual", func() { m.Mul(f, f, 2, Epilogue{Residual: f[:3]}) }},
		{"Mul both", func() { m.Mul(f, f, 2, Epilogue{Act: ReLU, Residual: f}) }},
		{"Mul activation", func() { m.Mul(f, f, 2, Epilogue{Act: 200}) }},
		{"MulNT", func() { MulNT(f, 2, f, 3, f, 2, 2, 2, 3, 1) }},
		{"MulNN", func() { MulNN(f, 2, f, 4, f, 2, 3, 2, 4, true) }},
		{"LayerNorm", func() { LayerNorm(f, f, f, f[:3], 2, 4, 0) }},
		{"Dot", func() { Dot(f, f[:7]) }},
		{"DotRows", func() { DotRows(f, f[:3], f, []uint32{2}) }},
		{"DotRows dst", func() { DotRows(nil, f[:3], f, []uint32{1}) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			tt.call()
		})
	}
}
