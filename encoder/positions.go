package encoder

import (
	"fmt"
	"math"

	"example.com/searchd/internal/simd"
)

// positionIndexes appends each token's row of the position table.
func (s *stack) positionIndexes(dst []int32, b *batch) []int32 {
	p := s.positions
	for i := range len(b.offsets) - 1 {
		next := int32(p.offset + b.past(i))
		for _, id := range b.ids[b.offsets[i]:b.offsets[i+1]] {
			if int(id) == p.padID { // a padding token in the text itself has no position in RoBERTa
				dst = append(dst, int32(p.offset-1))
				continue
			}
			dst = append(dst, next)
			next++
		}
	}
	return dst
}

// maxSinusoids bounds a position table that is computed, not read.
const maxSinusoids = 1 << 16

// sinusoids returns the position table [rows, width] of "Attention Is All You Need" as transformers
// stores it for DistilBERT: sines at even columns, cosines at odd ones. With halves all sines come
// first, as in Marian and Pegasus. A dry run returns nil.
func (l *loader) sinusoids(rows, width int, halves bool) []float32 {
	if l.dry {
		if rows > maxSinusoids {
			l.problems = append(l.problems, fmt.Sprintf("%d sinusoidal positions, at most %d are computed", rows, maxSinusoids))
		}
		return nil
	}
	t := make([]float32, rows*width)
	for i := range rows {
		for j := range width {
			sin, cos := math.Sincos(float64(i) / math.Pow(10000, float64(2*(j/2))/float64(width)))
			at, x := j, sin
			if j%2 == 1 {
				x = cos
			}
			if halves {
				at = j/2 + j%2*((width+1)/2)
			}
			t[i*width+at] = float32(x)
		}
	}
	return t
}

// scoreBias is added to the attention scores; it depends only on the head and on the distance key -
// query. nil: none.
type scoreBias struct {
	slopes []float32 // ALiBi: [A]
	table  []float32 // relative: [rows, A]
	relativeTable
	heads int
}

func newScoreBias(a *architecture, l *loader) *scoreBias {
	switch {
	case a.alibi:
		return &scoreBias{slopes: alibiSlopes(a.heads), heads: a.heads}
	case a.relative.name != "":
		return &scoreBias{table: l.tensor(a.relative.name, a.relative.rows, a.heads), relativeTable: a.relative, heads: a.heads}
	}
	return nil
}

// prepare writes the bias of each head for the distances -(longest-1) .. longest-1 to dst [A,
// 2*longest-1].
func (s *scoreBias) prepare(dst []float32, longest int) []float32 {
	if s == nil || longest == 0 {
		return nil
	}
	n := 2*longest - 1
	dst = grown(dst, s.heads*n)
	for i := range n {
		distance := i - (longest - 1)
		if s.slopes != nil {
			for h, slope := range s.slopes {
				dst[h*n+i] = -slope * float32(max(distance, -distance))
			}
			continue
		}
		row := s.table[s.bucket(distance)*s.heads:]
		for h := range s.heads {
			dst[h*n+i] = row[h]
		}
	}
	return dst
}

// add adds to the scores of consecutive keys the prepared bias; distance is that of the first key.
func (s *scoreBias) add(prepared, scores []float32, head, distance int) {
	if s == nil {
		return
	}
	n := len(prepared) / s.heads
	bias := prepared[head*n+distance+n/2:]
	simd.Axpy(scores, 1, bias[:len(scores)])
}

// alibiSlopes returns the slopes of ALiBi: a geometric sequence from 2^(-8/n) for n a power of two;
// otherwise those of the power below, then every other one of the power above. Source:
// arXiv:2108.12409 and its reference code.
func alibiSlopes(heads int) []float32 {
	power := func(n int) []float32 {
		slopes := make([]float32, n)
		start := math.Pow(2, -math.Pow(2, -(math.Log2(float64(n))-3)))
		for i := range slopes {
			slopes[i] = float32(start * math.Pow(start, float64(i)))
		}
		return slopes
	}
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	slopes := power(n)
	if n < heads {
		more := power(2 * n)
		for i := 0; len(slopes) < heads; i += 2 {
			slopes = append(slopes, more[i])
		}
	}
	return slopes
}

// bucket returns the row for distance = key - query.
func (r *relativeTable) bucket(distance int) int {
	if r.past { // one side of a table that is twice as large
		return bucket(min(distance, 0), 2*r.buckets, r.maxDistance)
	}
	return bucket(distance, r.buckets, r.maxDistance)
}

// bucket returns the row of a relative table for distance = key - query: half of the buckets for
// keys after the query; in each half, one bucket per distance up to a quarter of all, then wider
// and wider ones up to maxDistance. Source: transformers T5Attention._relative_position_bucket,
// bidirectional, in its float32 arithmetic.
func bucket(distance, buckets, maxDistance int) int {
	half := buckets / 2
	at := 0
	if distance > 0 {
		at = half
	} else {
		distance = -distance
	}
	exact := half / 2
	if distance < exact {
		return at + distance
	}
	log := float32(math.Log(float64(float32(distance) / float32(exact))))
	span := float32(math.Log(float64(maxDistance) / float64(exact)))
	wide := exact + int(log/span*float32(half-exact))
	return at + min(wide, half-1)
}
