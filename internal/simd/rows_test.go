package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func activation64(x float64, act Activation) float64 {
	switch act {
	case GELU:
		return x * 0.5 * math.Erfc(-x/math.Sqrt2)
	case GELUTanh:
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case ReLU:
		return max(x, 0)
	case SiLU:
		return x / (1 + math.Exp(-x))
	case Tanh:
		return math.Tanh(x)
	}
	return x
}

// activate applies act to x by way of a product: zeros with x as the bias.
func activate(x []float32, act Activation) {
	Pack(make([]float32, len(x)), len(x), 1).Mul(x, []float32{0}, 1, Epilogue{Bias: slices.Clone(x), Act: act})
}

func TestActivate(t *testing.T) { eachBackend(t, testActivate) }

func testActivate(t *testing.T) {
	for act := Identity; act < numActivations; act++ {
		t.Run(act.String(), func(t *testing.T) {
			var x []float32
			for v := -20.0; v <= 20; v += 1.0 / 256 {
				x = append(x, float32(v))
			}
			x = append(x, -1e30, 1e30, -100, 100, -88, 88, 1e-30, -1e-30, 0)
			got, check := guarded(t, len(x))
			copy(got, x)
			activate(got, act)
			check()
			for i, v := range x {
				want := activation64(float64(v), act)
				if got := got[i]; far(got, want, math.Abs(want), 1e-6) {
					t.Fatalf("%v(%v) = %v, want %v", act, v, got, want)
				}
			}
			nan := float32(math.NaN())
			for n := 1; n < 40; n++ {
				y, check := guarded(t, n)
				for i := range y {
					y[i] = 1
				}
				y[n/2] = nan
				activate(y, act)
				check()
				for i, v := range y {
					if (v != v) != (i == n/2) {
						t.Fatalf("%v with NaN at %d of %d: element %d is %v", act, n/2, n, i, v)
					}
				}
			}
		})
	}
}

func TestNorms(t *testing.T) { eachBackend(t, testNorms) }

func testNorms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for hidden := 1; hidden <= 513; hidden += 1 + hidden/9 {
		const rows, eps = 3, 1e-6
		x, gamma, beta := random(r, rows*hidden), random(r, hidden), random(r, hidden)
		for i := range x {
			x[i] += 3
		}
		for _, b := range [][]float32{nil, beta} {
			ln, check := guarded(t, rows*hidden)
			copy(ln, x)
			LayerNorm(ln, ln, gamma, b, rows, hidden, eps)
			check()
			rms, check := guarded(t, rows*hidden)
			RMSNorm(rms, x, gamma, rows, hidden, eps)
			check()
			for i := range rows {
				var sum, sq, dev float64
				row := x[i*hidden : (i+1)*hidden]
				for _, v := range row {
					sum += float64(v)
					sq += float64(v) * float64(v)
				}
				mean := sum / float64(hidden)
				for _, v := range row {
					dev += (float64(v) - mean) * (float64(v) - mean)
				}
				for j, v := range row {
					want := (float64(v) - mean) / math.Sqrt(dev/float64(hidden)+eps) * float64(gamma[j])
					if b != nil {
						want += float64(b[j])
					}
					if hidden > 1 { // with one element rounding of the mean is all that is left
						if got := ln[i*hidden+j]; far(got, want, math.Abs(want), 2e-5) {
							t.Fatalf("LayerNorm hidden=%d [%d,%d] = %v, want %v", hidden, i, j, got, want)
						}
					}
					want = float64(v) / math.Sqrt(sq/float64(hidden)+eps) * float64(gamma[j])
					if got := rms[i*hidden+j]; far(got, want, math.Abs(want), 2e-6) {
						t.Fatalf("RMSNorm hidden=%d [%d,%d] = %v, want %v", hidden, i, j, got, want)
					}
				}
			}
		}
	}
}

func TestSoftmaxRows(t *testing.T) { eachBackend(t, testSoftmaxRows) }

func testSoftmaxRows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 8))
	for _, n := range []int{1, 15, 16, 40, 513} {
		for _, rows := range []int{0, 1, 2, 70} {
			ld := n + r.IntN(5)
			got, check := guarded(t, strided(rows, n, ld))
			copy(got, random(r, len(got)))
			want := append([]float32(nil), got...)
			SoftmaxRows(got, ld, rows, n)
			check()
			for i := range rows {
				Softmax(want[i*ld:][:n])
			}
			for i, v := range got { // between the rows too
				if v != want[i] {
					t.Fatalf("SoftmaxRows n=%d rows=%d [%d] = %v, want %v", n, rows, i, v, want[i])
				}
			}
		}
	}
}

func TestSoftmax(t *testing.T) { eachBackend(t, testSoftmax) }

func testSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	inf := float32(math.Inf(1))
	for n := 0; n <= 513; n++ {
		x := random(r, n)
		for i := range x {
			x[i] *= 20
		}
		if n > 3 {
			x[n-1] = -inf
		}
		got, check := guarded(t, n)
		copy(got, x)
		Softmax(got)
		check()
		largest, sum := math.Inf(-1), 0.0
		for _, v := range x {
			largest = max(largest, float64(v))
		}
		for _, v := range x {
			sum += math.Exp(float64(v) - largest)
		}
		for i, v := range x {
			if got := got[i]; far(got, math.Exp(float64(v)-largest)/sum, 0, 1e-6) {
				t.Fatalf("Softmax n=%d [%d] = %v, want %v", n, i, got, math.Exp(float64(v)-largest)/sum)
			}
		}
	}
	for _, row := range [][]float32{{-inf, -inf}, {1, inf, 2}, {float32(math.NaN()), 1, 2}} {
		Softmax(row)
		if row[0] == row[0] && row[1] == row[1] {
			t.Errorf("Softmax of a row without a sum = %v, want NaN", row)
		}
	}
}

func TestSoftmaxInParts(t *testing.T) { eachBackend(t, testSoftmaxInParts) }

// testSoftmaxInParts puts a softmax together from Largest, ExpSum and Scale over parts of a row.
func testSoftmaxInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, n := range []int{1, 2, 15, 16, 17, 31, 64, 100, 129, 513} {
		for _, part := range []int{1, 7, 16, 50, 513} {
			x := random(r, n)
			for i := range x {
				x[i] *= 10
			}
			want := append([]float32(nil), x...)
			softmaxGo(want)
			var top, sum float32
			got, check := guarded(t, n)
			copy(got, x)
			for from := 0; from < n; from += part {
				seen := got[from:min(n, from+part)]
				most := Largest(seen)
				if want := largestGo(seen); most != want {
					t.Fatalf("Largest of %d = %v, want %v", len(seen), most, want)
				}
				if from > 0 {
					most = max(most, top)
					keep := float32(math.Exp(float64(top - most)))
					Scale(got[:from], keep)
					sum *= keep
				}
				top = most
				sum += ExpSum(seen, top)
			}
			Scale(got, 1/sum)
			check()
			for i := range got {
				if far(got[i], float64(want[i]), 0, 1e-6) {
					t.Fatalf("n=%d part=%d [%d] = %v, want %v", n, part, i, got[i], want[i])
				}
			}
		}
	}
	nan := float32(math.NaN())
	for n := 1; n < 40; n++ {
		x := make([]float32, n)
		x[n/2] = nan
		if sum := ExpSum(x, 0); sum == sum {
			t.Fatalf("ExpSum of %d elements with NaN = %v", n, sum)
		}
	}
	for n := 1; n < 70; n++ { // nothing is subnormal, which would be slow
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = -59.9
			if i%2 == 1 {
				x[i] = -60.1 - 2*float32(i)
			}
		}
		copy(y, x)
		y[0] = 0
		ExpSum(x, 0)
		Softmax(y)
		for i := range x {
			if (x[i] == 0) != (i%2 == 1) || (y[i] == 0) != (i%2 == 1) {
				t.Fatalf("element %d of %d: ExpSum %v, Softmax %v", i, n, x[i], y[i])
			}
		}
	}
	if got := ExpSum(nil, 1); got != 0 {
		t.Errorf("ExpSum of nothing = %v", got)
	}
}

// TestActivateRow wants the same from Activate.
func TestActivateRow(t *testing.T) {
	eachBackend(t, func(t *testing.T) {
		for act := range numActivations {
			for _, n := range []int{0, 1, 7, 33, 200} {
				x, want := make([]float32, n), make([]float32, n)
				for i := range x {
					x[i] = float32(i)/16 - 6
					want[i] = x[i]
				}
				activateGo(want, act)
				Activate(x, act)
				for i := range x {
					if d := x[i] - want[i]; d > 1e-5 || d < -1e-5 {
						t.Errorf("%v of %d: element %d is %v, want %v", act, n, i, x[i], want[i])
					}
				}
			}
		}
	})
}
