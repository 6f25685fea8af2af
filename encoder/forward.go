package encoder

import (
	"context"

	"example.com/searchd/internal/simd"
)

// batch is the input of one run: sequences one after another.
type batch struct {
	ids     []int32     // [T]
	types   []int32     // [T]; nil: all 0
	offsets []int       // [sequences+1]
	pixels  [][]float32 // [sequences][patches, C*P*P], of pictures, whose ids only count; nil: texts
	keys    []int       // [sequences]: tokens that others see, from the first on; nil: all
	caches  []*Sequence // of the sequences' tokens before these; nil: there are none, and none are kept
}

// past returns the number of tokens of sequence i that are cached.
func (b *batch) past(i int) int {
	if b.caches == nil {
		return 0
	}
	return b.caches[i].length
}

// longest returns the number of tokens of the longest sequence. With caches it is rounded up, so
// that what depends on it need not be computed anew for each token.
func (b *batch) longest() int {
	n := 0
	for i := range len(b.offsets) - 1 {
		n = max(n, b.past(i)+b.offsets[i+1]-b.offsets[i])
	}
	if b.caches != nil {
		n = (n + 255) &^ 255
	}
	return n
}

// blockRows is how many tokens at most go through the row-wise part of a layer together: enough to
// use each packed weight many times, few enough for the intermediate states to stay in the
// second-level cache. It is a multiple of the 14 rows of a tile of AVX-512 and of the 8 of NEON.
const blockRows = 56

// split divides n rows into blocks of nearly equal size, a multiple of the team where that leaves
// each at least a few rows.
func split(n int, t team) (blocks int) {
	const least = 4
	blocks = (n + blockRows - 1) / blockRows
	if size := int(t); size > 1 && blocks%size != 0 {
		blocks = max(blocks, min((blocks/size+1)*size, n/least))
	}
	return blocks
}

// forward runs the batch and leaves the states [T, H] in w.states. It passes the result of every
// layer to tap, if not nil, and returns early when ctx ends. Each layer has two parts with a
// barrier after each: attention, parallel over sequences, heads and query tiles; and the row-wise
// rest, parallel over blocks of rows, which continues into the projections of the next layer.
// Cross-attention, where there is any, divides the rest into two parts with attention between them.
func (s *stack) forward(ctx context.Context, w *workspace, b *batch, t team, tap *tap) error {
	if n := len(b.ids); t > 1 && n > 0 && n <= blockRows && tap == nil && s.layerWeights == nil && s.shares {
		return s.forwardTogether(ctx, w, b, t)
	}
	w.prepare(s, b, t)
	n := len(b.ids)
	blocks := split(n, t)
	rows := func(i int) (from, to int) { return n * i / blocks, n * (i + 1) / blocks }
	t.each(blocks, func(worker, i int) {
		from, to := rows(i)
		s.embed(w, b, worker, from, to)
		tap.states(0, w.states[from*s.hidden:to*s.hidden], from, s.hidden)
		s.mix(w, 0, from, to)
		s.project(w, b, 0, worker, from, to)
	})
	for k, l := range s.layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		tap.attention(s, k, w)
		s.attend(w, b, k, t)
		if l.cross != nil {
			t.each(blocks, func(worker, i int) {
				from, to := rows(i)
				s.merge(l, w, worker, from, to)
				s.projectCross(l, w, worker, from, to)
			})
			s.attendCross(w, b, k, t)
		}
		t.each(blocks, func(worker, i int) {
			from, to := rows(i)
			if l.cross != nil {
				s.mergeCross(l, w, from, to)
			} else {
				s.merge(l, w, worker, from, to)
			}
			s.feed(l, w, worker, from, to)
			x := w.states[from*s.hidden : to*s.hidden]
			if k == len(s.layers)-1 && s.finalNorm != nil {
				s.finalNorm.apply(x, x, to-from)
			}
			tap.states(k+1, x, from, s.hidden)
			s.mix(w, k+1, from, to)
			if k+1 < len(s.layers) {
				s.project(w, b, k+1, worker, from, to)
			}
		})
	}
	return ctx.Err()
}

// embed writes the embeddings of the tokens [from, to) to their states.
func (s *stack) embed(w *workspace, b *batch, worker, from, to int) {
	e := s.embedding
	x := w.states[from*s.hidden : to*s.hidden]
	if s.projection != nil {
		x = w.scratch[worker].embedding[:(to-from)*e]
	}
	if s.input != nil {
		s.input.write(x, b, from, to)
	}
	for i := from; i < to; i++ {
		row := x[(i-from)*e : (i-from+1)*e]
		if s.input == nil {
			copy(row, s.wordTable[int(b.ids[i])*e:])
		}
		if s.words != nil {
			s.words.add(row, int(b.ids[i]))
		}
		if s.segments != nil {
			segment := 0
			if b.types != nil && s.types > 1 {
				segment = int(b.types[i])
			}
			simd.Axpy(row, 1, s.segments[segment*e:(segment+1)*e])
		}
		if s.positionRows != nil {
			at := int(w.positions[i])
			simd.Axpy(row, 1, s.positionRows[at*e:(at+1)*e])
		}
	}
	if s.embeddingNorm != nil {
		s.embeddingNorm.apply(x, x, to-from)
	}
	if s.projection != nil {
		s.projection.mul(w.states[from*s.hidden:to*s.hidden], x, to-from, simd.Identity, nil)
	}
}

// project computes query, key and value of layer n for the tokens [from, to).
func (s *stack) project(w *workspace, b *batch, n, worker, from, to int) {
	l, rows := s.layers[n], to-from
	x := w.states[from*s.hidden : to*s.hidden]
	if s.preNorm && l.attentionNorm != nil {
		y := w.scratch[worker].normed[:rows*s.hidden]
		l.attentionNorm.apply(y, x, rows)
		x = y
	}
	if l.squares != nil {
		addSquares(l.squares.qkv, x)
	}
	x = divide(w.scratch[worker].divided, x, l.smoothing.qkv)
	l.qkv.mul(w.qkv[from*w.qkvWidth:to*w.qkvWidth], x, rows, simd.Identity, nil)
	s.rotate(l, w, b, from, to)
	b.store(n, w, from, to)
}

// rotate applies the norms of the heads and the rotation of layer l to queries and keys of the
// tokens [from, to).
func (s *stack) rotate(l *layer, w *workspace, b *batch, from, to int) {
	if l.queryNorm == nil && l.keyNorm == nil && l.spec.rope == nil {
		return
	}
	width, rows := w.qkvWidth, to-from
	qkv := w.qkv[from*width : to*width]
	q, k := s.heads*s.headSize, s.kvHeads*s.headSize
	for i := range rows {
		row := qkv[i*width:]
		if l.queryNorm != nil {
			l.queryNorm.apply(row[:q], row[:q], s.heads)
		}
		if l.keyNorm != nil {
			l.keyNorm.apply(row[q:q+k], row[q:q+k], s.kvHeads)
		}
	}
	if l.spec.rope != nil {
		l.spec.rope.rotate(qkv, width, s.headSize, s.heads+s.kvHeads, b, from, to)
	}
}

// merge adds the attention of layer l to the states of the tokens [from, to) and applies the norm,
// if it comes after. Where attention and feed-forward are parallel, the input of the latter is left
// in the worker's scratch.
func (s *stack) merge(l *layer, w *workspace, worker, from, to int) {
	rows, inner := to-from, s.heads*s.headSize
	x := w.states[from*s.hidden : to*s.hidden]
	if s.parallel {
		l.feedForwardNorm.apply(w.scratch[worker].normed[:rows*s.hidden], x, rows)
	}
	s.addTo(x, l.output, l.outputNorm, w.context[from*inner:to*inner], w.scratch[worker], rows)
	if !s.preNorm {
		l.attentionNorm.apply(x, x, rows)
	}
}

// feed applies the feed-forward part of layer l with its norm to the tokens [from, to).
func (s *stack) feed(l *layer, w *workspace, worker, from, to int) {
	rows := to - from
	x := w.states[from*s.hidden : to*s.hidden]
	sc := w.scratch[worker]
	in := x
	if s.preNorm {
		in = sc.normed[:rows*s.hidden]
		if !s.parallel {
			l.feedForwardNorm.apply(in, x, rows)
		}
	}
	if l.squares != nil {
		addSquares(l.squares.up, in)
	}
	divided := divide(sc.divided, in, l.smoothing.up)
	if l.experts != nil {
		if !s.preNorm { // the states are both the input and what is added to
			in = sc.normed[:rows*s.hidden]
			copy(in, x)
			if l.smoothing.up == nil {
				divided = in
			}
		}
		l.experts.add(s, sc, x, in, divided, rows)
	} else {
		s.addTo(x, l.down, l.downNorm, s.widen(l, sc, divided, rows, 0, 1), sc, rows)
	}
	if !s.preNorm {
		l.feedForwardNorm.apply(x, x, rows)
	}
}

// addTo adds the product of in and l, after a norm if there is one, to the states x [rows, H].
func (s *stack) addTo(x []float32, l *linear, n *norm, in []float32, sc *scratch, rows int) {
	if n == nil {
		l.mul(x, in, rows, simd.Identity, x)
		return
	}
	y := sc.part[:rows*s.hidden]
	l.mul(y, in, rows, simd.Identity, nil)
	n.apply(y, y, rows)
	simd.Axpy(x, 1, y)
}
