package encoder

import (
	"fmt"

	"example.com/searchd/encoder/position"
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

// sinusoids returns position.Sinusoids. A dry run returns nil.
func (l *loader) sinusoids(rows, width int, halves bool) []float32 {
	if l.dry {
		if rows > maxSinusoids {
			l.problems = append(l.problems, fmt.Sprintf("%d sinusoidal positions, at most %d are computed", rows, maxSinusoids))
		}
		return nil
	}
	return position.Sinusoids(rows, width, halves)
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
		return &scoreBias{slopes: position.AlibiSlopes(a.heads), heads: a.heads}
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

// bucket returns the row for distance = key - query.
func (r *relativeTable) bucket(distance int) int {
	if r.past { // one side of a table that is twice as large
		return position.Bucket(min(distance, 0), 2*r.buckets, r.maxDistance)
	}
	return position.Bucket(distance, r.buckets, r.maxDistance)
}
