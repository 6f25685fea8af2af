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
func (s *stack) attend(w *workspace, b *batch, n int, t team) {
	t.each(len(w.tiles)*s.heads, func(worker, i int) {
		s.attendTile(w, b, w.scratch[worker], n, w.tiles[i/s.heads], i%s.heads)
	})
}

// visible returns the keys [lo, hi) that query i of a sequence of n tokens sees in layer l.
func (s *stack) visible(l *layerSpec, i, n int) (lo, hi int) {
	return visible(i, n, l.window, s.causal)
}

func visible(i, n, window int, causal bool) (lo, hi int) {
	lo, hi = 0, n
	if window > 0 {
		lo, hi = max(0, i-window+1), min(n, i+window)
	}
	if causal {
		hi = i + 1
	}
	return lo, hi
}

// attendTile computes one head of layer n for one tile of queries. The keys are in w.qkv, or in the
// cache of the sequence.
func (s *stack) attendTile(w *workspace, b *batch, sc *scratch, n int, t tile, head int) {
	d, inner, width := s.headSize, s.heads*s.headSize, w.qkvWidth
	first := t.begin + t.query
	kvHead := head / (s.heads / s.kvHeads)
	v := view{
		window: s.layers[n].spec.window, causal: s.causal, bias: s.bias, prepared: w.bias, head: head,
		query: w.qkv[first*width+head*d:], queryWidth: width,
		out: w.context[first*inner+head*d:], outWidth: inner,
		at: t.query,
	}
	if b.caches != nil {
		c := &b.caches[t.sequence].layers[n]
		v.key, v.value, v.width = c.keys[kvHead*d:], c.values[kvHead*d:], s.kvHeads*d
		v.at += c.rows
		v.length = c.rows + t.end - t.begin
	} else {
		v.key, v.value, v.width = w.qkv[t.begin*width+inner+kvHead*d:], w.qkv[t.begin*width+inner+(s.kvHeads+kvHead)*d:], width
		v.length = t.end - t.begin
		if b.keys != nil {
			v.length = min(v.length, b.keys[t.sequence])
		}
	}
	queries, _ := tileShape(t.end - t.begin)
	v.rows = min(queries, t.end-t.begin-t.query)
	s.attendView(sc, &v)
}

// view is a tile of queries of one head with the keys and values of its sequence. Rows of a slice
// are width apart.
type view struct {
	query, out           []float32
	queryWidth, outWidth int
	key, value           []float32
	width                int
	rows                 int // queries
	length               int // keys
	at                   int // the key at the place of the first query
	window               int
	causal               bool
	bias                 *scoreBias
	prepared             []float32 // see scoreBias
	head                 int
}

// visible returns the keys [lo, hi) that query i of the tile sees.
func (v *view) visible(i int) (lo, hi int) { return visible(v.at+i, v.length, v.window, v.causal) }

// attendView computes attention for one view. With several tiles of keys the context of a
// query is a sum of values weighted by exp(score - m), where m is the greatest score so far; a tile
// with a greater score first scales the sum down. In the end the sum of the weights divides it.
// (Online softmax, arXiv:1805.02867; tiling as in arXiv:2205.14135.)
func (s *stack) attendView(sc *scratch, v *view) {
	d, rows, length := s.headSize, v.rows, v.length
	if length <= keyTile && rows <= queryTile && v.window == 0 && !v.causal && v.bias == nil { // the common case: every query sees every key
		ld := scoreStride(length)
		simd.MulNT(sc.scores, ld, v.query, v.queryWidth, v.key, v.width, rows, length, d, s.alpha)
		simd.SoftmaxRows(sc.scores, ld, rows, length)
		simd.MulNN(v.out, v.outWidth, sc.scores, ld, v.value, v.width, rows, d, length, false)
		return
	}
	most := tileScores / longQueryTile
	if rows <= queryTile {
		most = keyTile
	}
	for i := range rows {
		clear(v.out[i*v.outWidth : i*v.outWidth+d])
		sc.weight[i] = 0
	}
	from, _ := v.visible(0)
	_, to := v.visible(rows - 1)
	single := to-from <= most
	for k := from; k < to; k += most {
		keys := min(most, to-k)
		ld := scoreStride(keys)
		simd.MulNT(sc.scores, ld, v.query, v.queryWidth, v.key[k*v.width:], v.width, rows, keys, d, s.alpha)
		for i := range rows {
			row := sc.scores[i*ld : i*ld+keys]
			lo, hi := v.visible(i)
			lo, hi = max(lo-k, 0), min(hi-k, keys)
			if lo >= hi {
				clear(row)
				continue
			}
			clear(row[:lo])
			clear(row[hi:])
			seen := row[lo:hi]
			v.bias.add(v.prepared, seen, v.head, k+lo-(v.at+i))
			if single {
				simd.Softmax(seen)
			} else if keep := sc.weigh(i, seen); keep != 1 {
				simd.Scale(v.out[i*v.outWidth:i*v.outWidth+d], keep)
			}
		}
		simd.MulNN(v.out, v.outWidth, sc.scores, ld, v.value[k*v.width:], v.width, rows, d, keys, true)
	}
	if !single {
		for i := range rows {
			simd.Scale(v.out[i*v.outWidth:i*v.outWidth+d], 1/sc.weight[i])
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
