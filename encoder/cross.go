package encoder

import "example.com/searchd/internal/simd"

// cross is the attention of a decoder's layer to the states of an encoder.
type cross struct {
	query    *linear // [A*D, H]
	keyValue *linear // [2*A*D, H], applied once to the encoder's states
	output   *linear // [H, A*D]
	norm     *norm
}

func (l *loader) cross(a *architecture, spec *layerSpec) *cross {
	c := spec.cross
	if c.query == "" {
		return nil
	}
	inner := a.heads * a.headSize
	return &cross{
		query:    l.linear(spec.root+c.query, inner, a.hidden, c.bias),
		keyValue: l.stacked([]string{spec.root + c.key, spec.root + c.value}, []int{inner, inner}, a.hidden, c.bias, func([]float32, int) {}),
		output:   l.linear(spec.root+c.output, a.hidden, inner, c.bias),
		norm:     l.norm(spec.root+c.norm, a.hidden, a.norm, a.normBias, a.eps),
	}
}

// source is the encoder's side of cross-attention for one text: keys and values of each layer.
type source struct {
	tokens int
	layers [][]float32 // [layers][S, 2*A*D]
}

func (s *source) bytes() int {
	n := 0
	for _, l := range s.layers {
		n += 4 * cap(l)
	}
	return n
}

// newSource computes keys and values from the encoder's states [S, H].
func (s *stack) newSource(states []float32) *source {
	width := 2 * s.heads * s.headSize
	src := &source{tokens: len(states) / s.hidden, layers: make([][]float32, len(s.layers))}
	for n, l := range s.layers {
		src.layers[n] = make([]float32, src.tokens*width)
		for from := 0; from < src.tokens; from += blockRows {
			to := min(src.tokens, from+blockRows)
			l.cross.keyValue.mul(src.layers[n][from*width:to*width], states[from*s.hidden:to*s.hidden], to-from, simd.Identity, nil)
		}
	}
	return src
}

// projectCross computes the queries of the tokens [from, to).
func (s *stack) projectCross(l *layer, w *workspace, worker, from, to int) {
	rows, inner := to-from, s.heads*s.headSize
	x := w.states[from*s.hidden : to*s.hidden]
	if s.preNorm {
		y := w.scratch[worker].normed[:rows*s.hidden]
		l.cross.norm.apply(y, x, rows)
		x = y
	}
	l.cross.query.mul(w.queries[from*inner:to*inner], x, rows, simd.Identity, nil)
}

// attendCross is attend for the encoder's keys: every query sees all of them.
func (s *stack) attendCross(w *workspace, b *batch, n int, t team) {
	t.each(len(w.tiles)*s.heads, func(worker, i int) {
		s.attendCrossTile(w, b, w.scratch[worker], n, w.tiles[i/s.heads], i%s.heads)
	})
}

func (s *stack) attendCrossTile(w *workspace, b *batch, sc *scratch, n int, t tile, head int) {
	d, inner := s.headSize, s.heads*s.headSize
	src := b.caches[t.sequence].source
	first := t.begin + t.query
	queries, _ := tileShape(t.end - t.begin)
	s.attendView(sc, &view{
		query: w.queries[first*inner+head*d:], queryWidth: inner,
		out: w.context[first*inner+head*d:], outWidth: inner,
		key: src.layers[n][head*d:], value: src.layers[n][inner+head*d:], width: 2 * inner,
		rows: min(queries, t.end-t.begin-t.query), length: src.tokens, head: head,
	})
}

// mergeCross adds the cross-attention of layer l to the states of the tokens [from, to) and applies
// its norm, if it comes after.
func (s *stack) mergeCross(l *layer, w *workspace, from, to int) {
	rows, inner := to-from, s.heads*s.headSize
	x := w.states[from*s.hidden : to*s.hidden]
	l.cross.output.mul(x, w.context[from*inner:to*inner], rows, simd.Identity, x)
	if !s.preNorm {
		l.cross.norm.apply(x, x, rows)
	}
}

// crossTogether is cross-attention in forwardTogether; x is this goroutine's copy of the normed
// states.
func (s *stack) crossTogether(w *workspace, b *batch, k, worker, parts int, x []float32, m *barrier) {
	l, n := s.layers[k], len(b.ids)
	states := w.states[:n*s.hidden]
	residual := x
	if s.preNorm {
		residual = states
		l.cross.norm.apply(x, states, n)
	} else {
		l.attentionNorm.apply(x, states, n)
	}
	l.cross.query.share(w.queries, x, n, worker, parts, simd.Identity, nil)
	m.wait()
	for i := worker; i < len(w.tiles)*s.heads; i += parts {
		s.attendCrossTile(w, b, w.scratch[worker], k, w.tiles[i/s.heads], i%s.heads)
	}
	m.wait()
	l.cross.output.share(states, w.context, n, worker, parts, simd.Identity, residual)
	m.wait()
	if !s.preNorm {
		l.cross.norm.apply(x, states, n)
	}
}
