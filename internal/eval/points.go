package eval

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Points are vectors of unit length, or zero, with the operations that centres [Dim] need.
type Points interface {
	Len() int
	Dim() int
	Dot(i int, centre []float64) float64
	AddTo(centre []float64, i int)
}

// Dense are points with every component.
type Dense [][]float32

// Unit returns vectors scaled to unit length; the zero vector stays.
func Unit(vectors [][]float32) Dense {
	out := make(Dense, len(vectors))
	for i, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		out[i] = make([]float32, len(v))
		for j, x := range v {
			if sum > 0 {
				out[i][j] = float32(float64(x) / math.Sqrt(sum))
			}
		}
	}
	return out
}

func (d Dense) Len() int { return len(d) }

func (d Dense) Dim() int {
	if len(d) == 0 {
		return 0
	}
	return len(d[0])
}

func (d Dense) Dot(i int, centre []float64) float64 {
	var sum float64
	for j, x := range d[i] {
		sum += float64(x) * centre[j]
	}
	return sum
}

func (d Dense) AddTo(centre []float64, i int) {
	for j, x := range d[i] {
		centre[j] += float64(x)
	}
}

// Bags are texts as bags of words, weighted by log frequency and inverse document frequency: the
// baseline for vectors.
type Bags struct {
	rows  [][]wordWeight
	words int
}

type wordWeight struct {
	word   int
	weight float64
}

// NewBags counts the words of the texts, runs of letters and digits in lower case.
func NewBags(texts []string) *Bags {
	ids, df := map[string]int{}, []int(nil)
	counts := make([]map[int]int, len(texts))
	for i, text := range texts {
		counts[i] = map[int]int{}
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			id, ok := ids[w]
			if !ok {
				id = len(ids)
				ids[w], df = id, append(df, 0)
			}
			if counts[i][id]++; counts[i][id] == 1 {
				df[id]++
			}
		}
	}
	b := &Bags{rows: make([][]wordWeight, len(texts)), words: len(ids)}
	for i, c := range counts {
		var sum float64
		for _, id := range slices.Sorted(maps.Keys(c)) { // in order, so that sums come out alike
			w := (1 + math.Log(float64(c[id]))) * math.Log(float64(1+len(texts))/float64(df[id]))
			b.rows[i] = append(b.rows[i], wordWeight{id, w})
			sum += w * w
		}
		for j := range b.rows[i] {
			b.rows[i][j].weight /= math.Sqrt(sum)
		}
	}
	return b
}

func (b *Bags) Len() int { return len(b.rows) }
func (b *Bags) Dim() int { return b.words }

func (b *Bags) Dot(i int, centre []float64) float64 {
	var sum float64
	for _, w := range b.rows[i] {
		sum += w.weight * centre[w.word]
	}
	return sum
}

func (b *Bags) AddTo(centre []float64, i int) {
	for _, w := range b.rows[i] {
		centre[w.word] += w.weight
	}
}
