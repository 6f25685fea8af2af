package encoder

import (
	"context"

	"searchd/pooling"
)

// poolSequence writes the pooled vector of one sequence, whose rows are [begin, end), to dst
// [modes*H]. skip may be more than its rows: a prompt that the pooling leaves out may have been
// cut, or have been joined with the text by the tokenizer.
func (m *Model) poolSequence(ctx context.Context, dst []float32, w *workspace, begin, end, skip int) error {
	hidden, modes := m.info.Hidden, m.pool.modes
	skip = min(skip, end-begin)
	states := w.states[begin*hidden : end*hidden]
	if last := len(modes) - 1; last >= 0 && modes[last] == pooling.AttentionMode {
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

// received returns for each token of the rows [begin, end) the attention that it gets in the last
// layer, averaged over heads and queries: it sums to 1. It is taken from the queries and keys that
// a run leaves in w.
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
