package encoder

import (
	"fmt"
	"io/fs"
	"math"
	"path"

	"example.com/searchd/internal/simd"
)

// mix adds the states of the tokens [from, to) after n layers to their weighted mean, and replaces
// the last states by the mean.
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

// readLayerPooling reads a WeightedLayerPooling module: the states of the layers from layer_start
// on are averaged with learned weights. Source: sentence-transformers, WeightedLayerPooling.
func (s *stack) readLayerPooling(fsys fs.FS, dir string, dry bool) error {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	f.int("word_embedding_dimension", s.hidden, s.hidden, s.hidden)
	layers := f.int("num_hidden_layers", 12, len(s.layers), len(s.layers))
	start := f.int("layer_start", 4, 0, layers)
	if err := f.err(); err != nil || dry {
		return err
	}
	var learned []float32
	if err := readWeights(fsys, dir, func(l *loader) { learned = l.tensor("layer_weights", layers+1-start) }); err != nil {
		return err
	}
	sum := 0.0
	for _, w := range learned {
		sum += float64(w)
	}
	if math.Abs(sum) < 1e-6 {
		return fmt.Errorf("%w: layer weights sum to %v, want another sum than 0", ErrConfig, sum)
	}
	s.layerWeights = make([]float32, layers+1)
	for i, w := range learned {
		s.layerWeights[start+i] = float32(float64(w) / sum)
	}
	return nil
}
