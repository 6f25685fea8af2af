package encoder

import (
	"context"
	"math"

	"example.com/searchd/pooling"
)

// LayerCosines shows how the similarity of two texts develops from layer to layer: it pools the
// states after each layer as the model pools the last, and returns the cosines [layers+1] of the
// two vectors, that of the embeddings first. Modules after the pooling are not applied. Texts are
// cut at MaxInspectTokens; the prompts are names as in EncodeOptions. It returns ErrInspect for
// static models.
func (m *Model) LayerCosines(ctx context.Context, texts, promptNames [2]string) ([]float64, error) {
	if m.tok == nil {
		return nil, ErrNoTexts
	}
	if m.static == nil && len(m.pool.modes) == 0 {
		return nil, ErrNotDense
	}
	var pooled [2][][]float32
	for i, text := range texts {
		in, err := m.Inspect(ctx, text, InspectOptions{Prompt: promptNames[i], States: true})
		if err != nil {
			return nil, err
		}
		h := m.stack.hidden
		for _, states := range in.States {
			v := make([]float32, h*len(m.pool.modes))
			pooling.Sequence(v, states, h, in.skip, m.pool.modes)
			if err := checkFinite(v, i); err != nil {
				return nil, err
			}
			pooled[i] = append(pooled[i], v)
		}
	}
	out := make([]float64, len(pooled[0]))
	for n := range out {
		u, v := pooled[0][n], pooled[1][n]
		if scale := math.Sqrt(dot64(u, u) * dot64(v, v)); scale > 0 {
			out[n] = dot64(u, v) / scale
		}
	}
	return out, nil
}
