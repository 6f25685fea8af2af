package encoder

import (
	"math"

	"searchd/internal/simd"
)

// Attention works on tiles of queries and, for each, on tiles of keys, so that the scores of only queryTile x keyTile pairs exist at any
// time in a goroutine. A sequence of up to keyTile tokens takes a single tile of keys and an ordinary softmax.
const (
	queryTile = 64
	keyTile   = 512
)

// attend computes softmax(alpha·Q·Kᵀ + bias)·V of layer n for every sequence and head, from w.qkv into w.context.
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

// attendTile computes one head for one tile of queries. With several tiles of keys it keeps, for each query, the weighted mean of the
// values so far, the greatest score m and the sum of exp(score - m); a further tile is averaged in by the weights of both sums.
// (Online softmax, arXiv:1805.02867; tiling as in arXiv:2205.14135.)
func (s *stack) attendTile(w *workspace, sc *scratch, l *layerSpec, t tile, head int) {
	d, inner, width := s.headSize, s.heads*s.headSize, w.qkvWidth
	length := t.end - t.begin
	rows := min(queryTile, length-t.query)
	kvHead := head / (s.heads / s.kvHeads)
	first := t.begin + t.query
	query := w.qkv[first*width+head*d:]
	key := w.qkv[t.begin*width+inner+kvHead*d:]
	value := w.qkv[t.begin*width+inner+(s.kvHeads+kvHead)*d:]
	out := w.context[first*inner+head*d:]
	if length <= keyTile && l.window == 0 && !s.causal && s.bias == nil { // the common case: every query sees every key
		simd.MulNT(sc.scores, length, query, width, key, width, rows, length, d, s.alpha)
		simd.SoftmaxRows(sc.scores, length, rows, length)
		simd.MulNNStore(out, inner, sc.scores, length, value, width, rows, d, length)
		return
	}
	for i := range rows {
		clear(out[i*inner : i*inner+d])
		sc.weight[i] = 0
	}
	from, _ := s.visible(l, t.query, length)
	_, to := s.visible(l, t.query+rows-1, length)
	single := to-from <= keyTile
	for k := from; k < to; k += keyTile {
		keys := min(keyTile, to-k)
		simd.MulNT(sc.scores, keys, query, width, key[k*width:], width, rows, keys, d, s.alpha)
		for i := range rows {
			row := sc.scores[i*keys : (i+1)*keys]
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
				continue
			}
			scale(out[i*inner:i*inner+d], sc.merge(i, seen))
		}
		simd.MulNN(out, inner, sc.scores, keys, value[k*width:], width, rows, d, keys)
	}
}

// merge turns the scores of query i for another tile of keys into weights that count beside the mean so far; it returns the factor of
// that mean.
func (sc *scratch) merge(i int, scores []float32) (keep float32) {
	m := maximum(scores)
	simd.Softmax(scores)
	sum := 1 / maximum(scores) // the greatest score has the weight exp(0)/sum
	if sc.weight[i] == 0 {
		sc.heaviest[i], sc.weight[i] = m, sum
		return 0
	}
	top := max(m, sc.heaviest[i])
	old := sc.weight[i] * exp(sc.heaviest[i]-top)
	add := sum * exp(m-top)
	sc.heaviest[i], sc.weight[i] = top, old+add
	scale(scores, add/(old+add))
	return old / (old + add)
}

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

func maximum(x []float32) float32 {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}
