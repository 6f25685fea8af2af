package pooling_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/searchd/pooling"
)

// Two sequences of two columns: rows (1,2) (3,-4) (5,0), then (-1,7); between them an empty one.
var (
	states  = []float32{1, 2, 3, -4, 5, 0, -1, 7}
	offsets = []int{0, 3, 3, 4}
)

func TestModes(t *testing.T) {
	r3 := float32(math.Sqrt(3))
	tests := []struct {
		mode string
		want []float32 // three sequences
	}{
		{"cls", []float32{1, 2, 0, 0, -1, 7}},
		{"max", []float32{5, 2, 0, 0, -1, 7}},
		{"mean", []float32{3, -2. / 3, 0, 0, -1, 7}},
		{"mean_sqrt_len_tokens", []float32{9 / r3, -2 / r3, 0, 0, -1, 7}},
		{"weightedmean", []float32{22. / 6, -6. / 6, 0, 0, -1, 7}},
		{"lasttoken", []float32{5, 0, 0, 0, -1, 7}},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			mode, err := pooling.ParseMode(test.mode)
			if err != nil {
				t.Fatal(err)
			}
			if got := mode.String(); got != test.mode {
				t.Errorf("String() = %q, want %q", got, test.mode)
			}
			got := []float32{9, 9, 9, 9, 9, 9} // must be overwritten
			for i := range 3 {
				pooling.Sequence(got[2*i:2*i+2], states[2*offsets[i]:2*offsets[i+1]], 2, 0, []pooling.Mode{mode})
			}
			equal(t, "Sequence", got, test.want)
		})
	}
}

// TestSkip compares leaving tokens out with a mask, written as sentence-transformers writes it.
func TestSkip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const hidden, tokens = 5, 9
	x := make([]float32, hidden*tokens)
	for i := range x {
		x[i] = rng.Float32()*2 - 1
	}
	all := []pooling.Mode{pooling.CLSMode, pooling.MaxMode, pooling.MeanMode, pooling.MeanSqrtLenMode, pooling.WeightedMeanMode, pooling.LastTokenMode}
	for skip := range tokens + 2 {
		want := masked(x, hidden, skip)
		got := make([]float32, len(all)*hidden)
		pooling.Sequence(got, x, hidden, skip, all)
		equal(t, fmt.Sprint("skip ", skip), got, want)
	}
}

// masked is a slow version of Sequence with all modes: sums over mask times state, in float64.
func masked(x []float32, hidden, skip int) []float32 {
	n := len(x) / hidden
	out := make([]float32, 6*hidden)
	for j := range hidden {
		sum, count, wsum, weights, top := 0.0, 0.0, 0.0, 0.0, math.Inf(-1)
		first, last := 0.0, 0.0
		for i := range n {
			if i < skip {
				continue
			}
			v := float64(x[i*hidden+j])
			if count == 0 {
				first = v
			}
			last = v
			sum, count = sum+v, count+1
			wsum, weights = wsum+float64(i+1)*v, weights+float64(i+1)
			top = math.Max(top, v)
		}
		if count == 0 {
			continue
		}
		for k, v := range []float64{first, top, sum / count, sum / math.Sqrt(count), wsum / weights, last} {
			out[k*hidden+j] = float32(v)
		}
	}
	return out
}

func TestParseModeUnknown(t *testing.T) {
	if _, err := pooling.ParseMode("Mean"); err == nil {
		t.Error("ParseMode(\"Mean\") gave no error; names are in lower case")
	}
}

func TestNormalize(t *testing.T) {
	x := []float32{3, 4}
	pooling.Normalize(x)
	equal(t, "Normalize", x, []float32{0.6, 0.8})
	zero := []float32{0, 0}
	pooling.Normalize(zero)
	equal(t, "Normalize", zero, []float32{0, 0})
}

func equal(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 || got[i] != got[i] {
			t.Errorf("%s: element %d: got %v, want %v", what, i, got, want)
			return
		}
	}
}

func ExampleSequence() {
	states := []float32{1, 2, 3, -4, 5, 0} // three tokens of two numbers
	dst := make([]float32, 4)
	pooling.Sequence(dst, states, 2, 0, []pooling.Mode{pooling.CLSMode, pooling.MaxMode})
	fmt.Println(dst)
	// Output: [1 2 5 2]
}
