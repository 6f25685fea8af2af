// Package maxsim compares texts token by token (late interaction; Khattab and Zaharia, ColBERT, arXiv:2004.12832): each token of a query
// is held against every token of a text, and the nearest one counts.
//
// The vectors are those of single tokens, not of tokens in their context, so that nothing need be kept of a text but its ids. On eleven
// retrieval sets with an earlier built-in checkpoint the mean nDCG@10 of the comparison alone was .598 so and .617 with states out of the
// last layer, the cosine of texts had .570, and both together .616 and .621.
package maxsim

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"searchd/internal/simd"
)

const (
	// Window is the number of tokens of a text that are looked at together: a query shall find its words near each other. Chosen on eleven retrieval sets (mean
	// nDCG@10 of hybrid search with 24: .687, 32: .687, 48: .685, 64: .686; of semantic search .641, .640, .642, .643).
	Window = 32
	// MaxQueryTokens is the number of different tokens of a query that count: of more, those of the largest weight.
	MaxQueryTokens = 64
)

// Added to a small float32, toInteger leaves the nearest integer in its lowest bits.
const toInteger, toIntegerBits = 3 << 22, 0x4b400000

// Table holds the vectors of a vocabulary: unit vectors in bytes, and how much each token counts. It is safe for concurrent use.
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
	own     []int32 // tokens of a title, and their weights
	weight  []float32
}

// mark is the round in which a token was seen last, and its number in that round, noPlace for one without a direction.
type mark struct{ round, place uint32 }

const noPlace = math.MaxUint32

// NewTable asks vector for each of vocab tokens to write its vector of dim components, not normalised: a token counts by its length and
// by how rare it is. vector is called from several goroutines.
func NewTable(vocab, dim int, vector func(dst []float32, id int)) *Table {
	t := &Table{dim: dim, rows: make([]int8, vocab*dim), scale: make([]float32, vocab), length: make([]float32, vocab)}
	t.marks.New = func() any { return &marks{of: make([]mark, vocab)} }
	var shares sync.WaitGroup
	n := runtime.GOMAXPROCS(0)
	for i := range n {
		shares.Go(func() { t.fill(vocab*i/n, vocab*(i+1)/n, vector) })
	}
	shares.Wait()
	return t
}

// fill sets the tokens first to end-1.
func (t *Table) fill(first, end int, vector func(dst []float32, id int)) {
	v := make([]float32, t.dim)
	for id := first; id < end; id++ {
		vector(v, id)
		var least, largest float32
		for _, x := range v {
			least, largest = min(least, x), max(largest, x)
		}
		largest = max(largest, -least)
		sum := float64(simd.Dot(v, v))
		if !(sum > 0) || math.IsInf(sum, 0) {
			continue
		}
		row := t.rows[id*t.dim : (id+1)*t.dim]
		for i, x := range v {
			row[i] = int8(math.Float32bits(x/largest*127+toInteger) - toIntegerBits)
		}
		length := float64(simd.DotInt8(row, row)) // it is the row of bytes that shall have length 1
		t.scale[id], t.length[id] = float32(1/math.Sqrt(length)), float32(math.Sqrt(sum))
	}
}

// rarityByPlace guesses how much a token tells from its place in the vocabulary. One of pieces of words has single characters first and then the
// pieces in the order in which they were joined, the most frequent first, so that the place is near the rank by frequency. With the logarithm
// itself semantic search was better with that checkpoint (mean nDCG@10 of eleven retrieval sets .636 instead of .628; by the lengths alone .620), with a root
// of it hybrid search is never far below the better of its legs.
func rarityByPlace(id int32) float64 {
	return math.Sqrt(math.Sqrt(math.Log(float64(max(id, 150)) / 100)))
}

// knows reports whether id is a token with a direction.
func (t *Table) knows(id int32) bool { return id >= 0 && int(id) < len(t.scale) && t.scale[id] > 0 }

// Text is the tokens of a text, those of its title apart, which stands in front of every window. Special tokens are not among them.
type Text struct{ Title, Body []int32 }

// Query is the tokens of a query with their weights. It is safe for concurrent use.
type Query struct {
	table  *Table
	ids    []int32
	weight []float32 // sum 1
	rarity func(id int32) float64
}

// Query prepares ids, whose weights are the lengths of their vectors times what rarity says of them, at least 0; nil: what their places in the vocabulary
// say, or where all have 0. It returns nil where none of them has a direction.
func (t *Table) Query(ids []int32, rarity func(id int32) float64) *Query {
	if rarity == nil {
		return t.query(ids, rarityByPlace)
	}
	if q := t.query(ids, rarity); q != nil {
		return q
	}
	return t.query(ids, rarityByPlace)
}

func (t *Table) query(ids []int32, rarity func(id int32) float64) *Query {
	q := &Query{table: t, rarity: rarity}
	sum := map[int32]float32{}
	for _, id := range ids {
		if !t.knows(id) {
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

// Breadth is how many tokens the weights are spread over: 1 over the sum of their squares, the number of tokens where all count the same. The mean of so
// many cosines is that much less a matter of chance.
func (q *Query) Breadth() float64 {
	squares := 0.0
	for _, w := range q.weight {
		squares += float64(w) * float64(w)
	}
	return 1 / squares
}

// Likeness is how much a text is like a query.
type Likeness struct {
	// Match is the largest value of the text's windows: the weighted mean, over the tokens of the query, of the largest cosine with a token of the window. It is
	// in [-1, 1]; 0 for a text without tokens.
	Match float64
	// Title is the cosine of the weighted means of the title's and the query's tokens, so that all of a title counts. It is in [-1, 1].
	Title float64
	// Titled reports whether there is a Title: a mean without a direction has none.
	Titled bool
}

// Match compares texts with the query.
func (q *Query) Match(texts []Text) []Likeness {
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
	out, title, best := make([]Likeness, len(texts)), make([]float32, n), make([]float32, n)
	length := sync.OnceValue(func() float64 { return t.meanLength(q.ids, q.weight) })
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
			if s := inRange(q.mean(best)); !found || s > out[i].Match {
				out[i].Match, found = s, true
			}
		}
		if titled && length() > 0 {
			out[i].Title, out[i].Titled = q.title(m, cosines, x.Title, length())
		}
	}
	return out
}

// title returns the cosine of the means of a title and of the query, whose mean has the given length, out of the cosines of their tokens.
func (q *Query) title(m *marks, cosines []float32, tokens []int32, length float64) (cosine float64, ok bool) {
	n, sum := len(q.ids), 0.0
	m.own, m.weight = m.own[:0], m.weight[:0]
	for _, id := range tokens {
		if uint32(id) >= uint32(len(m.of)) || m.of[id].place == noPlace {
			continue
		}
		weight := q.table.length[id] * float32(q.rarity(id))
		m.own, m.weight = append(m.own, id), append(m.weight, weight)
		at := int(m.of[id].place) * n
		sum += float64(weight) * q.mean(cosines[at:at+n])
	}
	own := q.table.meanLength(m.own, m.weight)
	if own == 0 {
		return 0, false
	}
	return inRange(sum / (own * length)), true
}

// inRange takes off what rounding adds to a cosine beyond 1 or -1.
func inRange(cosine float64) float64 { return min(1, max(-1, cosine)) }

// meanLength returns the length of the sum of the unit vectors of tokens times their weights; 0 where rounding is all that is left of it.
func (t *Table) meanLength(ids []int32, weight []float32) float64 {
	squares, products := 0.0, 0.0
	for k, id := range ids {
		row := t.rows[int(id)*t.dim : (int(id)+1)*t.dim]
		squares += float64(weight[k]) * float64(weight[k])
		for j, other := range ids[:k] {
			dot := float64(simd.DotInt8(row, t.rows[int(other)*t.dim:(int(other)+1)*t.dim])) * float64(t.scale[id]) * float64(t.scale[other])
			products += 2 * float64(weight[k]) * float64(weight[j]) * dot
		}
	}
	if !(squares+products > 1e-6*squares) {
		return 0
	}
	return math.Sqrt(squares + products)
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
		if !t.knows(id) {
			m.of[id] = mark{m.round, noPlace}
			continue
		}
		m.of[id] = mark{m.round, uint32(len(ids))}
		ids = append(ids, uint32(id))
	}
	return ids
}

// cosines returns the cosine of each token of m.ids with each of the query, [len(m.ids), len(q.ids)], in the memory of m.
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

// reach raises best, by the marks of this round, to what each token of the query has with the nearest of tokens. It reports whether one of them has a direction.
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
