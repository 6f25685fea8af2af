package encoder

import (
	"context"
	"slices"
	"time"
)

// TokenStates holds the states of the tokens of each text before pooling, in the order of the
// texts.
type TokenStates struct {
	IDs       [][]int32   // with special tokens
	States    [][]float32 // [L*H] of each text, row-major
	Truncated []bool
	Tokens    int // of all texts

	Tokenization time.Duration // as in Result
}

// EncodeTokens returns the states after the last layer, before pooling and later modules. Of o only
// Prompt and Truncate count. It returns ErrPrompt, ErrNotFinite, ErrInspect for a static model,
// which has no layers, or the error of ctx.
func (m *Model) EncodeTokens(ctx context.Context, texts []string, o EncodeOptions) (*TokenStates, error) {
	if m.static != nil {
		return nil, errNoLayers
	}
	began := time.Now()
	seqs, err := m.textSequences(ctx, texts, o)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	r, err := m.tokenStates(ctx, seqs)
	if err != nil {
		return nil, err
	}
	r.Tokenization = took
	return r, nil
}

// EncodeTokensIDs is EncodeTokens for token ids; see EncodeIDs. Of o only Truncate counts.
func (m *Model) EncodeTokensIDs(ctx context.Context, ids [][]int32, o EncodeOptions) (*TokenStates, error) {
	if m.static != nil {
		return nil, errNoLayers
	}
	seqs, err := m.idSequences(ids, o.Truncate)
	if err != nil {
		return nil, err
	}
	return m.tokenStates(ctx, seqs)
}

func (m *Model) tokenStates(ctx context.Context, seqs []sequence) (*TokenStates, error) {
	r := &TokenStates{IDs: make([][]int32, len(seqs)), States: make([][]float32, len(seqs))}
	r.Truncated, r.Tokens = lengths(seqs)
	for i, s := range seqs {
		r.IDs[i] = s.ids
	}
	err := m.eachText(ctx, seqs, func(n int, states []float32) error {
		r.States[n] = slices.Clone(states)
		return checkFinite(states, n)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}
