// Package maxsim compares texts token by token (late interaction; Khattab and Zaharia, ColBERT,
// arXiv:2004.12832): each token of a query is held against every token of a text, and the nearest
// one counts. The vectors are those of single tokens, not of tokens in context, so that only the
// token ids of a text must be stored.
package maxsim

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"example.com/searchd/internal/simd"
)

const (
	// Window is the number of tokens of a text that are looked at together: a query should find its
	// words near each other.
	Window = 32
	// MaxQueryTokens is the number of different tokens of a query that count: of more, those of the
	// largest weight.
	MaxQueryTokens = 64
)

// Added to a small float32, toInteger leaves the nearest integer in its lowest bits.
const toInteger, toIntegerBits = 3 << 22, 0x4b400000

// Table holds the vectors of a vocabulary: unit vectors in bytes, and how much each token counts.
// It is safe for concurrent use.
type Table struct {
	dim    int
	rows   []int8    // [V, D]
	scale  []float32 // [V] of a byte; 0: a token without a direction, which is like no other
	length []float32 // [V] of the vector as it was given
	marks  sync.Pool // of *marks
}

// marks numbers the different tokens of some texts.
type marks struct {
	round uint32
	of    []mark // [V]

	// Memory of Match.
	ids     []uint32
	dots    []int32
	cosines []float32
}

// mark is the round in which a token was seen last, and its number in that round, noPlace for one
// without a direction.
type mark struct{ round, place uint32 }

const noPlace = math.MaxUint32

// NewTable asks vector for each of vocab tokens to write its vector of dim components, twice. The
// mean of all is taken off, as the vectors of a transformer's tokens have a direction in common.
// vector is called from several goroutines.
func NewTable(vocab, dim int, vector func(dst []float32, id int)) *Table {
	t := &Table{dim: dim, rows: make([]int8, vocab*dim), scale: make([]float32, vocab), length: make([]float32, vocab)}
	t.marks.New = func() any { return &marks{of: make([]mark, vocab)} }
	n := runtime.GOMAXPROCS(0)
	shares := func(do func(share, first, end int)) {
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() { do(i, vocab*i/n, vocab*(i+1)/n) })
		}
		group.Wait()
	}
	sums := make([][]float64, n)
	shares(func(share, first, end int) { sums[share] = sum(dim, first, end, vector) })
	mean := make([]float32, dim)
	for i := range mean {
		all := 0.0
		for _, s := range sums {
			all += s[i]
		}
		mean[i] = float32(all / float64(max(1, vocab)))
	}
	shares(func(_, first, end int) { t.fill(first, end, mean, vector) })
	return t
}

// sum returns the sum of the vectors of the tokens first to end-1; one that is not finite does not
// count.
func sum(dim, first, end int, vector func(dst []float32, id int)) []float64 {
	v, out := make([]float32, dim), make([]float64, dim)
	for id := first; id < end; id++ {
		vector(v, id)
		if square := float64(simd.Dot(v, v)); math.IsNaN(square) || math.IsInf(square, 0) {
			continue
		}
		for i, x := range v {
			out[i] += float64(x)
		}
	}
	return out
}

// fill sets the tokens first to end-1. A token whose vector is zero has no direction.
func (t *Table) fill(first, end int, mean []float32, vector func(dst []float32, id int)) {
	v := make([]float32, t.dim)
	for id := first; id < end; id++ {
		vector(v, id)
		if square := float64(simd.Dot(v, v)); !(square > 0) || math.IsInf(square, 0) {
			continue
		}
		var least, largest float32
		for i := range v {
			v[i] -= mean[i]
			least, largest = min(least, v[i]), max(largest, v[i])
		}
		largest = max(largest, -least)
		square := float64(simd.Dot(v, v))
		if !(square > 0) {
			continue
		}
		row := t.rows[id*t.dim : (id+1)*t.dim]
		for i, x := range v {
			row[i] = int8(math.Float32bits(x/largest*127+toInteger) - toIntegerBits)
		}
		length := float64(simd.DotInt8(row, row)) // it is the row of bytes that has length 1
		t.scale[id], t.length[id] = float32(1/math.Sqrt(length)), float32(math.Sqrt(square))
	}
}

// rarity estimates the weight of a token from its place in the vocabulary. A vocabulary of pieces
// of words has single characters first and then the pieces, the most frequent first, so that the
// place is near the rank by frequency, and the logarithm of the rank near that of the frequency.
func rarity(id int32) float64 { return math.Log(float64(max(id, 150)) / 100) }

// has reports whether id is a token with a direction.
func (t *Table) has(id int32) bool { return id >= 0 && int(id) < len(t.scale) && t.scale[id] > 0 }

// Text is the tokens of a text, without special tokens. The title precedes every window.
type Text struct{ Title, Body []int32 }

// Query is the tokens of a query with their weights. It is safe for concurrent use.
type Query struct {
	table  *Table
	ids    []int32
	weight []float32 // sum 1
}

// Query prepares ids. A token counts by the length of its vector and by its place in the
// vocabulary. It returns nil where none has a direction.
func (t *Table) Query(ids []int32) *Query {
	q := &Query{table: t}
	sum := map[int32]float32{}
	for _, id := range ids {
		if !t.has(id) {
			continue
		}
		weight := t.length[id] * float32(rarity(id))
		if !(weight > 0) {
			continue
		}
		if sum[id] == 0 {
			q.ids = append(q.ids, id)
		}
		sum[id] += weight
	}
	if len(q.ids) > MaxQueryTokens {
		slices.SortStableFunc(q.ids, func(a, b int32) int { return cmp.Compare(sum[b], sum[a]) })
		q.ids = q.ids[:MaxQueryTokens]
	}
	total := float32(0)
	for _, id := range q.ids {
		total += sum[id]
	}
	for _, id := range q.ids {
		q.weight = append(q.weight, sum[id]/total)
	}
	if len(q.ids) == 0 {
		return nil
	}
	return q
}

// Match returns for each text the largest value of its windows: the weighted mean, over the tokens
// of the query, of the largest cosine with a token of the window. It is in [-1, 1]; 0 for a text
// without tokens.
func (q *Query) Match(texts []Text) []float64 {
	t, n := q.table, len(q.ids)
	m := t.marks.Get().(*marks)
	defer t.marks.Put(m)
	m.next()
	m.ids = m.ids[:0] // the different tokens of all texts
	for _, x := range texts {
		m.ids = t.number(m, m.ids, x.Title)
		m.ids = t.number(m, m.ids, x.Body)
	}
	cosines := q.cosines(m)
	out, title, best := make([]float64, len(texts)), make([]float32, n), make([]float32, n)
	for i, x := range texts {
		for k := range title {
			title[k] = -1
		}
		titled, found := m.reach(title, cosines, x.Title), false
		for from, step := 0, windowStep(len(x.Body)); from == 0 || from < len(x.Body); from += step {
			copy(best, title)
			some := m.reach(best, cosines, x.Body[from:min(from+step, len(x.Body))])
			if !some && !titled {
				continue
			}
			if s := min(1, max(-1, q.mean(best))); !found || s > out[i] { // rounding may exceed 1
				out[i], found = s, true
			}
		}
	}
	return out
}

// windowStep cuts n tokens into windows of equal length, none longer than Window.
func windowStep(n int) int {
	parts := max(1, (n+Window-1)/Window)
	return max(1, (n+parts-1)/parts)
}

// next begins a round.
func (m *marks) next() {
	if m.round++; m.round == 0 {
		clear(m.of)
		m.round = 1
	}
}

// number gives those of tokens that are new in this round their numbers, and appends them to ids.
func (t *Table) number(m *marks, ids []uint32, tokens []int32) []uint32 {
	for _, id := range tokens {
		if uint32(id) >= uint32(len(m.of)) || m.of[id].round == m.round {
			continue
		}
		if !t.has(id) {
			m.of[id] = mark{m.round, noPlace}
			continue
		}
		m.of[id] = mark{m.round, uint32(len(ids))}
		ids = append(ids, uint32(id))
	}
	return ids
}

// cosines returns the cosine of each token of m.ids with each of the query, [len(m.ids),
// len(q.ids)], in the memory of m.
func (q *Query) cosines(m *marks) []float32 {
	t, n, ids := q.table, len(q.ids), m.ids
	m.cosines, m.dots = slices.Grow(m.cosines[:0], len(ids)*n)[:len(ids)*n], slices.Grow(m.dots[:0], len(ids))[:len(ids)]
	out, dots := m.cosines, m.dots
	for k, own := range q.ids {
		simd.DotRowsInt8(dots, t.rows[int(own)*t.dim:(int(own)+1)*t.dim], t.rows, ids)
		for i, id := range ids {
			out[i*n+k] = float32(dots[i]) * t.scale[own] * t.scale[id]
		}
	}
	return out
}

// reach raises best, by the marks of this round, to what each token of the query has with the
// nearest of tokens. It reports whether one of them has a direction.
func (m *marks) reach(best, cosines []float32, tokens []int32) (some bool) {
	n := len(best)
	for _, id := range tokens {
		if uint32(id) >= uint32(len(m.of)) || m.of[id].place == noPlace {
			continue
		}
		some = true
		at := int(m.of[id].place) * n
		for k, c := range cosines[at : at+n] {
			if c > best[k] {
				best[k] = c
			}
		}
	}
	return some
}

func (q *Query) mean(best []float32) (sum float64) {
	for k, c := range best {
		sum += float64(q.weight[k]) * float64(c)
	}
	return sum
}
