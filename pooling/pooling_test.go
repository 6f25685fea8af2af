package pooling_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"searchd/pooling"
)

func TestModes(t *testing.T) {
	r3 := float32(math.Sqrt(3))
	states := []float32{1, 2, 3, -4, 5, 0}
	tests := []struct {
		mode string
		want []float32 // of the three tokens, and of the last one
	}{
		{"cls", []float32{1, 2, 5, 0}},
		{"max", []float32{5, 2, 5, 0}},
		{"mean", []float32{3, -2. / 3, 5, 0}},
		{"mean_sqrt_len_tokens", []float32{9 / r3, -2 / r3, 5, 0}},
		{"weightedmean", []float32{22. / 6, -6. / 6, 5, 0}},
		{"lasttoken", []float32{5, 0, 5, 0}},
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
			modes := []pooling.Mode{mode}
			got := []float32{9, 9, 9, 9, 9, 9} // what was there must not shine through
			pooling.Sequence(got[:2], states, 2, 0, modes)
			pooling.Sequence(got[2:4], states[4:], 2, 0, modes)
			pooling.Sequence(got[4:], nil, 2, 0, modes)
			equal(t, "Sequence", got, append(test.want, 0, 0))
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
	all := []pooling.Mode{pooling.CLS, pooling.Max, pooling.Mean, pooling.MeanSqrtLen, pooling.WeightedMean, pooling.LastToken}
	for skip := range tokens + 2 {
		want := masked(x, hidden, skip)
		got := make([]float32, len(all)*hidden)
		pooling.Sequence(got, x, hidden, skip, all)
		equal(t, fmt.Sprint("skip ", skip), got, want)
	}
}

// masked is the slow twin of Sequence with all modes: sums over mask times state, in float64.
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
	pooling.Sequence(dst, states, 2, 0, []pooling.Mode{pooling.CLS, pooling.Max})
	fmt.Println(dst)
	// Output: [1 2 5 2]
}
