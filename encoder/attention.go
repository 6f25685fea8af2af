package encoder

import (
	"math"

	"example.com/searchd/internal/simd"
)

// Attention works on tiles of queries and, for each, on tiles of keys, so that a goroutine holds
// only tileScores scores at any time. A sequence of up to keyTile tokens takes one tile of keys and
// an ordinary softmax. For longer ones larger tiles of queries are faster, because more queries
// share the work per tile of keys.
const (
	queryTile, keyTile         = 64, 512
	longQueryTile, longKeyTile = 128, 256
	tileScores                 = queryTile * keyTile
)

// tileShape returns the queries and keys of a tile for a sequence of n tokens; their product is at
// most tileScores.
func tileShape(n int) (queries, keys int) {
	if n <= keyTile {
		return queryTile, keyTile
	}
	return longQueryTile, longKeyTile
}

// attend computes softmax(alpha·Q·Kᵀ + bias)·V of layer n for every sequence and head, from w.qkv
// into w.context.
func (s *stack) attend(w *workspace, n int, t team) {
	spec := s.layers[n].spec
	t.each(len(w.tiles)*s.heads, func(worker, i int) {
		s.attendTile(w, w.scratch[worker], spec, w.tiles[i/s.heads], i%s.heads)
	})
}

// visible returns the keys [lo, hi) that query i of a sequence of n tokens sees.
func (s *stack) visible(l *layerSpec, i, n int) (lo, hi int) {
	lo, hi = 0, n
	if l.window > 0 {
		lo, hi = max(0, i-l.window+1), min(n, i+l.window)
	}
	if s.causal {
		hi = i + 1
	}
	return lo, hi
}

// attendTile computes one head for one tile of queries. With several tiles of keys the context of a
// query is a sum of values weighted by exp(score - m), where m is the greatest score so far; a tile
// with a greater score first scales the sum down. In the end the sum of the weights divides it.
// (Online softmax, arXiv:1805.02867; tiling as in arXiv:2205.14135.)
func (s *stack) attendTile(w *workspace, sc *scratch, l *layerSpec, t tile, head int) {
	d, inner, width := s.headSize, s.heads*s.headSize, w.qkvWidth
	length := t.end - t.begin
	queries, most := tileShape(length)
	rows := min(queries, length-t.query)
	kvHead := head / (s.heads / s.kvHeads)
	first := t.begin + t.query
	query := w.qkv[first*width+head*d:]
	key := w.qkv[t.begin*width+inner+kvHead*d:]
	value := w.qkv[t.begin*width+inner+(s.kvHeads+kvHead)*d:]
	out := w.context[first*inner+head*d:]
	if length <= keyTile && l.window == 0 && !s.causal && s.bias == nil { // the common case: every query sees every key
		ld := scoreStride(length)
		simd.MulNT(sc.scores, ld, query, width, key, width, rows, length, d, s.alpha)
		simd.SoftmaxRows(sc.scores, ld, rows, length)
		simd.MulNN(out, inner, sc.scores, ld, value, width, rows, d, length, false)
		return
	}
	for i := range rows {
		clear(out[i*inner : i*inner+d])
		sc.weight[i] = 0
	}
	from, _ := s.visible(l, t.query, length)
	_, to := s.visible(l, t.query+rows-1, length)
	single := to-from <= most
	for k := from; k < to; k += most {
		keys := min(most, to-k)
		ld := scoreStride(keys)
		simd.MulNT(sc.scores, ld, query, width, key[k*width:], width, rows, keys, d, s.alpha)
		for i := range rows {
			row := sc.scores[i*ld : i*ld+keys]
			lo, hi := s.visible(l, t.query+i, length)
			lo, hi = max(lo-k, 0), min(hi-k, keys)
			if lo >= hi {
				clear(row)
				continue
			}
			clear(row[:lo])
			clear(row[hi:])
			seen := row[lo:hi]
			s.bias.add(w.bias, seen, head, k+lo-(t.query+i))
			if single {
				simd.Softmax(seen)
			} else if keep := sc.weigh(i, seen); keep != 1 {
				simd.Scale(out[i*inner:i*inner+d], keep)
			}
		}
		simd.MulNN(out, inner, sc.scores, ld, value[k*width:], width, rows, d, keys, true)
	}
	if !single {
		for i := range rows {
			simd.Scale(out[i*inner:i*inner+d], 1/sc.weight[i])
		}
	}
}

// scoreStride is the distance of two rows of scores, in whole vectors: a row that began within the
// last vector of the row before would wait for that store.
func scoreStride(keys int) int { return (keys + 15) &^ 15 }

// weigh turns the scores of query i for one tile of keys into weights, and returns the factor by
// which the previous sum must be scaled.
func (sc *scratch) weigh(i int, scores []float32) (keep float32) {
	top := simd.Largest(scores)
	keep = 1
	if sc.weight[i] != 0 {
		top = max(top, sc.heaviest[i])
		if top != sc.heaviest[i] {
			keep = float32(math.Exp(float64(sc.heaviest[i] - top)))
		}
	}
	sc.heaviest[i] = top
	sc.weight[i] = sc.weight[i]*keep + simd.ExpSum(scores, top)
	return keep
}
