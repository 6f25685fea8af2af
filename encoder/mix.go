package encoder

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"

	"searchd/internal/simd"
	"searchd/pooling"
)

// setLayerWeights makes the pooled states a weighted mean over layers: weights[0] is that of the embeddings, weights[n] of the states
// after layer n. It returns an error for weights that are not finite, too many or too few, or sum to nothing.
func (s *stack) setLayerWeights(weights []float32) error {
	if len(weights) != len(s.layers)+1 {
		return fmt.Errorf("%w: %d layer weights, want %d: the embeddings and %d layers", ErrConfig, len(weights), len(s.layers)+1, len(s.layers))
	}
	sum := 0.0
	for _, w := range weights {
		sum += float64(w)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) || math.Abs(sum) < 1e-6 {
		return fmt.Errorf("%w: layer weights sum to %v, want a finite sum that is not 0", ErrConfig, sum)
	}
	s.layerWeights = make([]float32, len(weights))
	for i, w := range weights {
		s.layerWeights[i] = float32(float64(w) / sum)
	}
	return nil
}

// mix adds the states of the tokens [from, to) after n layers to their weighted mean, and puts the mean in their place after the last.
func (s *stack) mix(w *workspace, n, from, to int) {
	if s.layerWeights == nil {
		return
	}
	x, sum := w.states[from*s.hidden:to*s.hidden], w.mixed[from*s.hidden:to*s.hidden]
	if n == 0 {
		clear(sum)
	}
	if weight := s.layerWeights[n]; weight != 0 {
		simd.Axpy(sum, weight, x)
	}
	if n == len(s.layers) {
		copy(x, sum)
	}
}

// readLayerPooling reads a WeightedLayerPooling module: the states of the layers from layer_start on are averaged with learned weights.
// Source: sentence-transformers, WeightedLayerPooling.
func (s *stack) readLayerPooling(fsys fs.FS, dir string) error {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	f.int("word_embedding_dimension", s.hidden, s.hidden, s.hidden)
	layers := f.int("num_hidden_layers", 12, len(s.layers), len(s.layers))
	start := f.int("layer_start", 4, 0, layers)
	if err := f.err(); err != nil {
		return err
	}
	var learned []float32
	if err := readWeights(fsys, dir, func(l *loader) { learned = l.tensor("layer_weights", layers+1-start) }); err != nil {
		return err
	}
	return s.setLayerWeights(append(make([]float32, start), learned...))
}

// received returns for each token of the rows [begin, end) the attention that it gets in the last layer, averaged over heads and
// queries: it sums to 1. It is taken from the queries and keys that a run leaves in w.
func (s *stack) received(ctx context.Context, w *workspace, begin, end int) ([]float32, error) {
	n := end - begin
	spec := s.layers[len(s.layers)-1].spec
	out, scores := make([]float32, n), make([]float32, n)
	each := 1 / float32(s.heads*n)
	for head := range s.heads {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range n {
			s.addWeights(out, scores, spec, w, head, begin, i, each)
		}
	}
	return out, nil
}

// addWeights adds to dst [L] factor times the attention weights of token i of the sequence whose rows begin at begin, under one head,
// computed the plain way from the queries and keys in w. scores [L] is overwritten.
func (s *stack) addWeights(dst, scores []float32, l *layerSpec, w *workspace, head, begin, i int, factor float32) {
	d, width := s.headSize, w.qkvWidth
	q := w.qkv[(begin+i)*width+head*d:][:d]
	keys := w.qkv[begin*width+s.heads*d+head/(s.heads/s.kvHeads)*d:]
	lo, hi := s.visible(l, i, len(dst))
	seen := scores[lo:hi]
	for j := range seen {
		seen[j] = s.alpha * simd.Dot(q, keys[(lo+j)*width:][:d])
	}
	s.bias.add(w.bias, seen, head, lo-i)
	simd.Softmax(seen)
	simd.Axpy(dst[lo:hi], factor, seen)
}

// poolSequence writes the pooled vector of one sequence, whose rows are [begin, end), to dst [modes*H].
func (m *Model) poolSequence(ctx context.Context, dst []float32, w *workspace, begin, end, skip int) error {
	hidden, modes := m.info.Hidden, m.pool.modes
	states := w.states[begin*hidden : end*hidden]
	if last := len(modes) - 1; last >= 0 && modes[last] == pooling.Attention {
		weights, err := m.stack.received(ctx, w, begin, end)
		if err != nil {
			return err
		}
		pooling.Weighted(dst[last*hidden:], states[skip*hidden:], weights[skip:], hidden)
		modes = modes[:last]
	}
	pooling.Sequence(dst[:len(modes)*hidden], states, hidden, skip, modes)
	return nil
}
