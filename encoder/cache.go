package encoder

import "slices"

// Sequence holds what a decoder computed for the tokens of one text so far: their keys and values
// in each layer, and those of the text that an encoder read. It is not safe for concurrent use.
type Sequence struct {
	length int // tokens
	layers []cachedLayer
	source *source // shared with forks, read-only; nil: no encoder
}

// cachedLayer holds the keys and values of the last tokens: of all, or of those that a window shows
// and up to as many again.
type cachedLayer struct {
	keys, values []float32 // [capacity, K*D]
	rows         int
}

// Len returns the number of tokens.
func (q *Sequence) Len() int { return q.length }

// Bytes returns the size of the cache, in which forks share what comes from the encoder.
func (q *Sequence) Bytes() int {
	n := 0
	for i := range q.layers {
		n += 4 * (cap(q.layers[i].keys) + cap(q.layers[i].values))
	}
	if q.source != nil {
		n += q.source.bytes()
	}
	return n
}

// Fork returns a copy that can continue otherwise.
func (q *Sequence) Fork() *Sequence {
	f := &Sequence{length: q.length, layers: slices.Clone(q.layers), source: q.source}
	for i := range f.layers {
		l := &f.layers[i]
		l.keys, l.values = slices.Clone(l.keys), slices.Clone(l.values)
	}
	return f
}

// reserve makes room for n more tokens in every layer and drops rows that no window shows.
func (q *Sequence) reserve(s *stack, n int) {
	width := s.kvHeads * s.headSize
	for i := range q.layers {
		l, window := &q.layers[i], s.layers[i].spec.window
		capacity := len(l.keys) / width
		if l.rows+n <= capacity {
			continue
		}
		keep := l.rows
		if window > 0 {
			keep = min(keep, window-1)
		}
		size := capacity
		if keep+n+capacity/4 > capacity {
			size = max(keep+n, 2*capacity, 16)
			if window > 0 {
				size = keep + n + min(window, size)
			}
		}
		for _, x := range []*[]float32{&l.keys, &l.values} {
			kept := (*x)[(l.rows-keep)*width : l.rows*width]
			if size != capacity {
				*x = make([]float32, size*width)
			}
			copy(*x, kept)
		}
		l.rows = keep
	}
}

// store copies the keys and values of the tokens [from, to) in w to the caches of layer n.
func (b *batch) store(n int, w *workspace, from, to int) {
	for i, q := range b.caches {
		lo, hi := max(from, b.offsets[i]), min(to, b.offsets[i+1])
		if lo >= hi {
			continue
		}
		l := &q.layers[n]
		width := w.kvWidth
		for r := lo; r < hi; r++ {
			row := w.qkv[(r+1)*w.qkvWidth-2*width : (r+1)*w.qkvWidth]
			at := (l.rows + r - b.offsets[i]) * width
			copy(l.keys[at:at+width], row[:width])
			copy(l.values[at:at+width], row[width:])
		}
	}
}

// commit counts the tokens of the batch as cached.
func (b *batch) commit() {
	for i, q := range b.caches {
		n := b.offsets[i+1] - b.offsets[i]
		q.length += n
		for k := range q.layers {
			q.layers[k].rows += n
		}
	}
}
