package projection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// TestPrincipal compares the axes with what they must be: orthonormal, uncorrelated, in the order
// of their variance; and finds a direction that was put in.
func TestPrincipal(t *testing.T) {
	const n, d = 200, 12
	r := rand.New(rand.NewPCG(1, 2))
	vectors := make([][]float32, n)
	for i := range vectors {
		v := make([]float32, d)
		for j := range v {
			v[j] = float32(r.NormFloat64() * 0.1)
		}
		along := float32(r.NormFloat64())
		v[3] += 3 + 2*along
		v[5] -= along
		vectors[i] = v
	}
	p := New(vectors, 5)
	for a := range p.Axes {
		for b := range p.Axes {
			dot := 0.0
			for j := range p.Axes[a] {
				dot += p.Axes[a][j] * p.Axes[b][j]
			}
			want := 0.0
			if a == b {
				want = 1
			}
			if math.Abs(dot-want) > 1e-9 {
				t.Errorf("axes %d and %d have the product %v", a, b, dot)
			}
		}
	}
	if first := p.Axes[0]; math.Abs(first[3]-2/math.Sqrt(5)) > 0.02 || math.Abs(first[5]+1/math.Sqrt(5)) > 0.02 || p.Variance[0] < 0.9 {
		t.Errorf("first axis %v with %v of the variance", first, p.Variance[0])
	}
	exact := exactVariances(vectors)
	for k, share := range p.Variance {
		if math.Abs(share-exact[k]) > 1e-3 {
			t.Errorf("axis %d has %v of the variance, the eigenvalue says %v", k, share, exact[k])
		}
	}
	sums, squares := make([]float64, 5), make([]float64, 5)
	cross := 0.0
	for _, v := range vectors {
		at := p.Project(v)
		for k, x := range at {
			sums[k] += float64(x) / n
			squares[k] += float64(x) * float64(x) / n
		}
		cross += float64(at[0]) * float64(at[1]) / n
	}
	for k := range sums {
		if math.Abs(sums[k]) > 1e-4 || k > 0 && squares[k] > squares[k-1]+1e-9 {
			t.Errorf("coordinate %d has the mean %v, variances %v", k, sums[k], squares)
		}
	}
	if math.Abs(cross) > 1e-4 {
		t.Errorf("the first two coordinates correlate: %v", cross)
	}
}

// exactVariances returns the shares of variance along all principal components, from the
// eigenvalues of the covariance.
func exactVariances(vectors [][]float32) []float64 {
	data := mat.NewDense(len(vectors), len(vectors[0]), nil)
	for i, v := range vectors {
		for j, x := range v {
			data.Set(i, j, float64(x))
		}
	}
	var pc stat.PC
	pc.PrincipalComponents(data, nil)
	values := pc.VarsTo(nil)
	total := 0.0
	for _, v := range values {
		total += v
	}
	for i := range values {
		values[i] /= total
	}
	return values
}

func BenchmarkPrincipal(b *testing.B) {
	for _, size := range [][2]int{{1000, 256}, {1000, 384}, {5000, 384}, {2048, 1024}} {
		b.Run(fmt.Sprintf("n=%d/dim=%d", size[0], size[1]), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			vectors := make([][]float32, size[0])
			for i := range vectors {
				vectors[i] = make([]float32, size[1])
				for j := range vectors[i] {
					vectors[i][j] = float32(r.NormFloat64())
				}
			}
			for b.Loop() {
				New(vectors, 3)
			}
		})
	}
}
