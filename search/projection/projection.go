// Package projection draws vectors as points: it computes principal components.
package projection

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Principal holds the principal components of some vectors.
type Principal struct {
	mean     []float64   // [D]
	Axes     [][]float64 // [components][D], orthonormal, the one of the largest variance first
	Variance []float64   // share of all variance along each axis
}

// Of the subspace iteration in New: axes beside those that are wanted, and rounds. An axis whose
// variance is 0.8 of that of the last one kept has faded to 0.8^(2·rounds), less than a hundredth.
const (
	spareAxes       = 8
	principalRounds = 12
)

// New computes the first principal components of vectors [n][D], those of the largest variance, by
// subspace iteration: a few directions, drawn with a fixed seed, are multiplied by the covariance
// again and again and kept orthonormal, and turned at the end so that their coordinates do not
// correlate. It costs n·D·components per round, where all components would cost D³. The sign of an
// axis is chosen so that its largest entry is positive. The result is the same on every run.
func New(vectors [][]float32, components int) Principal {
	n, d := len(vectors), len(vectors[0])
	p := Principal{mean: make([]float64, d)}
	for _, v := range vectors {
		for j, x := range v {
			p.mean[j] += float64(x) / float64(n)
		}
	}
	centred, total := mat.NewDense(n, d, nil), 0.0
	for i, v := range vectors {
		row := centred.RawRowView(i)
		for j, x := range v {
			row[j] = float64(x) - p.mean[j]
			total += row[j] * row[j] / float64(n)
		}
	}
	components = min(components, d)
	axes := randomAxes(min(components+spareAxes, d), d)
	var along, next mat.Dense
	for range principalRounds {
		along.Mul(centred, axes.T()) // [n, axes]
		next.Mul(along.T(), centred) // [axes, D]
		axes.Copy(&next)
		orthonormalize(axes)
	}
	along.Mul(centred, axes.T())
	values, turn := turned(&along)
	axes.Mul(turn.T(), mat.DenseCopyOf(axes))
	for k := range components {
		axis := mat.Row(nil, k, axes)
		positive(axis)
		p.Axes = append(p.Axes, axis)
		share := 0.0
		if total > 0 {
			share = max(0, values[k]) / total
		}
		p.Variance = append(p.Variance, share)
	}
	return p
}

// randomAxes returns k orthonormal rows of length d.
func randomAxes(k, d int) *mat.Dense {
	r := rand.New(rand.NewPCG(1, 1))
	m := mat.NewDense(k, d, nil)
	for i := range k {
		row := m.RawRowView(i)
		for j := range row {
			row[j] = r.NormFloat64()
		}
	}
	orthonormalize(m)
	return m
}

// orthonormalize makes the rows of m orthonormal by Gram and Schmidt, twice for the digits that the
// first time loses. A row that depends on those before it becomes zero.
func orthonormalize(m *mat.Dense) {
	k, _ := m.Dims()
	for i := range k {
		row := mat.VecDenseCopyOf(m.RowView(i))
		before := row.Norm(2)
		for range 2 {
			for j := range i {
				row.AddScaledVec(row, -mat.Dot(row, m.RowView(j)), m.RowView(j))
			}
		}
		if norm := row.Norm(2); norm > 1e-10*before && norm > 1e-150 {
			row.ScaleVec(1/norm, row)
		} else {
			row.Zero()
		}
		m.SetRow(i, row.RawVector().Data)
	}
}

// turned returns the variances of coordinates [n, k] after they have been turned so that they do
// not correlate, largest first, and the turn [k, k], whose columns are the new directions.
func turned(along *mat.Dense) (variances []float64, turn *mat.Dense) {
	n, k := along.Dims()
	covariance := mat.NewSymDense(k, nil)
	covariance.SymOuterK(1/float64(n), along.T())
	var eigen mat.EigenSym
	var ascending mat.Dense
	variances, turn = make([]float64, k), mat.NewDense(k, k, nil)
	if !eigen.Factorize(covariance, true) {
		for i := range k {
			variances[i] = covariance.At(i, i)
			turn.Set(i, i, 1)
		}
		return variances, turn
	}
	eigen.VectorsTo(&ascending)
	values := eigen.Values(nil)
	for i := range k {
		variances[i] = values[k-1-i]
		turn.SetCol(i, mat.Col(nil, k-1-i, &ascending))
	}
	return variances, turn
}

// positive turns an axis so that its largest entry is positive.
func positive(axis []float64) {
	largest := 0
	for j, x := range axis {
		if math.Abs(x) > math.Abs(axis[largest])+1e-12 {
			largest = j
		}
	}
	if axis[largest] < 0 {
		for j := range axis {
			axis[j] = -axis[j]
		}
	}
}

// Project returns the coordinates of v along the axes, to five decimals.
func (p Principal) Project(v []float32) []float32 {
	out := make([]float32, len(p.Axes))
	for k, axis := range p.Axes {
		sum := 0.0
		for j, x := range v {
			sum += (float64(x) - p.mean[j]) * axis[j]
		}
		out[k] = float32(math.Round(sum*1e5) / 1e5)
	}
	return out
}
