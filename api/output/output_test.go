package output

import (
	"encoding/json"
	"math"
	"testing"
)

// TestOutputTypes holds the types to what numpy gives for the formulas of quantize_embeddings.
func TestOutputTypes(t *testing.T) {
	v := []float32{0.6, -0.8, 0, 0, 0.0001, -0.0001, 0, 0, 0.5}
	ranges := [][]float64{{-1, -1, -1, -1, -1, -1, -1, -1, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 0.1}}
	for _, tt := range []struct {
		o     Vectors
		types []string
		want  string
	}{
		{Vectors{}, []string{"ubinary"}, `[136,128]`}, // 1000 1000, 1000 0000
		{Vectors{}, []string{"binary"}, `[8,0]`},
		{Vectors{Format: "base64"}, []string{"ubinary"}, `"iIA="`},
		{Vectors{Format: "base64"}, []string{"binary"}, `"CAA="`},
		{Vectors{}, []string{"float", "binary"}, `{"binary":[8,0],"float":[0.6,-0.8,0,0,0.0001,-0.0001,0,0,0.5]}`},
		// at unit length (1.118): 0.5367, -0.7155, 0.4472; the last lies above its range
		{Vectors{Ranges: ranges}, []string{"uint8"}, `[195,36,127,127,127,127,127,127,255]`},
		{Vectors{Ranges: ranges}, []string{"int8"}, `[67,-91,0,0,0,0,0,0,127]`},
		// 6/√9 is more than 1
		{Vectors{}, []string{"int8"}, `[67,-91,0,0,0,0,0,0,56]`},
	} {
		got, err := json.Marshal(tt.o.Write(v, tt.types))
		if err != nil || string(got) != tt.want {
			t.Errorf("%v of %+v = %s, %v, want %s", tt.types, tt.o, got, err, tt.want)
		}
	}
	if v[0] != 0.6 {
		t.Error("the vector was changed")
	}
}

// The fixed range keeps the cosine.
func TestFixedRangeKeepsCosines(t *testing.T) {
	const dim = 384
	var a, b [dim]float32
	for i := range a {
		a[i] = float32(math.Sin(float64(i * i)))
		b[i] = a[i] + float32(math.Cos(float64(3*i*i)))
	}
	cos := func(x, y []float64) float64 {
		var xy, xx, yy float64
		for i := range x {
			xy, xx, yy = xy+x[i]*y[i], xx+x[i]*x[i], yy+y[i]*y[i]
		}
		return xy / math.Sqrt(xx*yy)
	}
	wide := func(v []float32) (out []float64) {
		for _, x := range v {
			out = append(out, float64(x))
		}
		return out
	}
	bytes := func(v []float32) (out []float64) {
		for _, x := range (&Vectors{}).one(v, "int8").([]int16) {
			out = append(out, float64(x))
		}
		return out
	}
	if got, want := cos(bytes(a[:]), bytes(b[:])), cos(wide(a[:]), wide(b[:])); math.Abs(got-want) > 0.005 {
		t.Errorf("cosine of int8 vectors %v, of the vectors %v", got, want)
	}
	zero := (&Vectors{}).one(make([]float32, 8), "int8").([]int16)
	if zero[0] != 0 {
		t.Errorf("a vector of zeros: %v", zero)
	}
}
