package pooling

import (
	"slices"
	"testing"
)

func TestWeighted(t *testing.T) {
	states := []float32{1, 10, 2, 20, 4, 40}
	for _, tc := range []struct {
		name          string
		weights, want []float32
	}{
		{"equal weights are the mean", []float32{1, 1, 1}, []float32{7.0 / 3, 70.0 / 3}},
		{"weights need not sum to 1", []float32{2, 0, 6}, []float32{3.25, 32.5}},
		{"one token", []float32{0, 1, 0}, []float32{2, 20}},
		{"no weight", []float32{0, 0, 0}, []float32{0, 0}},
	} {
		got := []float32{99, 99}
		Weighted(got, states, tc.weights, 2)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestParseModeShort(t *testing.T) {
	if m, err := ParseMode("mean_sqrt_len"); err != nil || m != MeanSqrtLenMode {
		t.Errorf("ParseMode(mean_sqrt_len) = %v, %v", m, err)
	}
}
