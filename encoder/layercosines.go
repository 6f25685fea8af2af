package encoder

import (
	"context"
	"fmt"
	"math"
	"slices"

	"searchd/pooling"
)

// LayerCosines shows how the similarity of two texts develops: it pools the states after each layer
// as the model pools the last, and returns the cosine of the two vectors [layers+1], of the
// embeddings first. What comes after the pooling is left out, so the last is the cosine of the
// model's vectors where that is Normalize alone. Texts are cut at MaxInspectTokens; the prompts are
// names as in EncodeOptions. Static models have no layers, and pooling by attention is defined for
// the last alone: ErrInspect.
func (m *Model) LayerCosines(ctx context.Context, texts, promptNames [2]string) ([]float64, error) {
	if slices.Contains(m.pool.modes, pooling.AttentionMode) {
		return nil, fmt.Errorf("%w: pooling by the attention of the last layer says nothing of the others", ErrInspect)
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
		prompt, err := m.prompts.text(promptNames[i])
		if err != nil {
			return nil, err
		}
		skip := m.skipped(prompt)
		h := m.stack.hidden
		for _, states := range in.States {
			v := make([]float32, h*len(m.pool.modes))
			pooling.Sequence(v, states, h, skip, m.pool.modes)
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
