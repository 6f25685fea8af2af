package lsi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Of the subspace iteration: directions beside those that are kept, and rounds. A direction whose singular value is 0.8 of that of the last one kept has
// faded to 0.8^(2·rounds), less than a tenth.
const (
	spare  = 10
	rounds = 6

	// rounding is the share of the largest squared singular value up to which one is what rounding leaves.
	rounding = 1e-12
)

var errSingular = errors.New("lsi: the singular vectors did not converge")

// matrix is W: texts by terms, as a text's entries one after another.
type matrix struct {
	rows   [][]entry // of the texts that have a term
	column []int32   // [terms]; none: no text has it
	n      int       // columns
	rarity []float32 // [terms]
}

type entry struct {
	column int32
	weight float64
}

// newMatrix counts the terms of texts. Of more than [MaxTerms] the ones in most texts are kept.
func newMatrix(terms *Terms, texts [][]int32) *matrix {
	m := &matrix{column: make([]int32, terms.n), rarity: make([]float32, terms.n)}
	df, tf := make([]int, terms.n), make([]int, terms.n)
	for _, ids := range texts {
		var row []entry
		for _, id := range ids {
			t := terms.number(id)
			if t == none {
				continue
			}
			if tf[t]++; tf[t] == 1 {
				row = append(row, entry{column: t})
			}
		}
		for i, e := range row {
			df[e.column]++
			row[i].weight, tf[e.column] = 1+math.Log(float64(tf[e.column])), 0
		}
		if len(row) > 0 {
			m.rows = append(m.rows, row)
		}
	}
	least := leastFrequency(df)
	all := float64(len(texts))
	for t, n := range df {
		m.rarity[t] = float32(math.Log(1 + (all-float64(n)+0.5)/(float64(n)+0.5)))
		m.column[t] = none
		if n >= least {
			m.column[t] = int32(m.n)
			m.n++
		}
	}
	for i, row := range m.rows {
		sum, kept := 0.0, row[:0]
		for _, e := range row {
			if c := m.column[e.column]; c != none {
				e.weight *= float64(m.rarity[e.column])
				sum += e.weight * e.weight
				kept = append(kept, entry{c, e.weight})
			}
		}
		for j := range kept {
			kept[j].weight /= math.Sqrt(sum)
		}
		m.rows[i] = kept
	}
	return m
}

// leastFrequency returns in how many texts a term must be so that no more than [MaxTerms] are.
func leastFrequency(df []int) int {
	if len(df) <= MaxTerms {
		return 1
	}
	sorted := slices.SortedFunc(slices.Values(df), func(a, b int) int { return cmp.Compare(b, a) })
	return sorted[MaxTerms] + 1
}

// topics returns the leading right singular vectors as the rows of the columns, [n, k], k being at most most, and less where there are few texts or terms.
func (m *matrix) topics(ctx context.Context, most int) (topics []float32, k int, err error) {
	least := min(len(m.rows), m.n)
	k = max(1, min(most, least/4))
	wide := min(k+spare, least)
	random := rand.New(rand.NewPCG(1, 1))
	texts, columns := mat.NewDense(len(m.rows), wide, nil), mat.NewDense(m.n, wide, nil)
	for i := range texts.RawMatrix().Data {
		texts.RawMatrix().Data[i] = random.NormFloat64()
	}
	for range rounds {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if _, err := singular(texts); err != nil {
			return nil, 0, err
		}
		m.across(columns, texts)
		m.along(texts, columns)
	}
	if _, err := singular(texts); err != nil {
		return nil, 0, err
	}
	m.across(columns, texts)
	rank, err := singular(columns)
	if err != nil {
		return nil, 0, err
	}
	k = max(1, min(k, rank))
	topics = make([]float32, 0, m.n*k)
	for i := range m.n {
		for _, x := range columns.RawRowView(i)[:k] {
			topics = append(topics, float32(x))
		}
	}
	return topics, k, nil
}

// singular puts the left singular vectors of a tall m in the place of its columns, those of the largest singular values first, and zeros in the place of
// those that are what rounding leaves. It returns how many are not.
func singular(m *mat.Dense) (rank int, err error) {
	rows, n := m.Dims()
	squares := mat.NewSymDense(n, nil)
	squares.SymOuterK(1, m.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(squares, true) {
		return 0, errSingular
	}
	values := eigen.Values(nil) // rising
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	turn := mat.NewDense(n, n, nil)
	for j := range n {
		from := n - 1 - j
		if !(values[from] > rounding*values[n-1]) {
			break
		}
		rank++
		for i := range n {
			turn.Set(i, j, vectors.At(i, from)/math.Sqrt(values[from]))
		}
	}
	out := mat.NewDense(rows, n, nil)
	out.Mul(m, turn)
	m.Copy(out)
	return rank, nil
}

// across writes Wᵀ texts to columns.
func (m *matrix) across(columns, texts *mat.Dense) {
	columns.Zero()
	for i, row := range m.rows {
		x := vector(texts, i)
		for _, e := range row {
			blas64.Axpy(e.weight, x, vector(columns, int(e.column)))
		}
	}
}

// along writes W columns to texts.
func (m *matrix) along(texts, columns *mat.Dense) {
	texts.Zero()
	for i, row := range m.rows {
		y := vector(texts, i)
		for _, e := range row {
			blas64.Axpy(e.weight, vector(columns, int(e.column)), y)
		}
	}
}

func vector(m *mat.Dense, row int) blas64.Vector {
	x := m.RawRowView(row)
	return blas64.Vector{N: len(x), Data: x, Inc: 1}
}
