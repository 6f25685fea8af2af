package eval

import (
	"math"
	"testing"
)

func TestCalibrationError(t *testing.T) {
	for _, tc := range []struct {
		name  string
		p     []float64
		truth []bool
		want  float64
	}{
		{"none", nil, nil, 0},
		{"right", []float64{1, 1, 0}, []bool{true, true, false}, 0},
		{"wrong", []float64{1, 0}, []bool{false, true}, 1},
		{"half of a bin", []float64{0.5, 0.5}, []bool{true, false}, 0},
		{"two bins", []float64{0.9, 0.9, 0.2, 0.2}, []bool{true, false, false, false}, (0.8 + 0.4) / 4},
	} {
		if got := CalibrationError(tc.p, tc.truth); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
