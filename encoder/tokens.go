package encoder

import "context"

// TokenStates holds the states of the tokens of each text before pooling, in the order of the texts.
type TokenStates struct {
	IDs       [][]int32   // with special tokens
	States    [][]float32 // [L*H] of each text, row-major
	Truncated []bool
	Tokens    int // of all texts
}

// EncodeTokens returns the states after the last layer, before pooling and the modules behind it. Of o only Prompt counts. It returns
// ErrPrompt, ErrInspect for a static model, which has no layers, ErrNotFinite in the place of a NaN or an infinity, or the error of ctx.
func (m *Model) EncodeTokens(ctx context.Context, texts []string, o EncodeOptions) (*TokenStates, error) {
	if m.static != nil {
		return nil, errNoLayers
	}
	seqs, err := m.textSequences(ctx, texts, o.Prompt)
	if err != nil {
		return nil, err
	}
	return m.tokenStates(ctx, seqs)
}

// EncodeTokensIDs is EncodeTokens for texts that are already tokens; see EncodeIDs.
func (m *Model) EncodeTokensIDs(ctx context.Context, ids [][]int32) (*TokenStates, error) {
	if m.static != nil {
		return nil, errNoLayers
	}
	seqs, err := m.idSequences(ids)
	if err != nil {
		return nil, err
	}
	return m.tokenStates(ctx, seqs)
}

func (m *Model) tokenStates(ctx context.Context, seqs []sequence) (*TokenStates, error) {
	r := &TokenStates{IDs: make([][]int32, len(seqs)), States: make([][]float32, len(seqs)), Truncated: make([]bool, len(seqs))}
	for i, s := range seqs {
		r.IDs[i], r.Truncated[i] = s.ids, s.truncated
		r.Tokens += len(s.ids)
	}
	h := m.stack.hidden
	err := m.run(ctx, seqs, func(w *workspace, b *batch, members []int) error {
		for i, n := range members {
			r.States[n] = append([]float32(nil), w.states[b.offsets[i]*h:b.offsets[i+1]*h]...)
			if err := checkFinite(r.States[n], n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}
