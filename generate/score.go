package generate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"example.com/searchd/encoder"
)

// Pair is a text and what comes before it: the prompt, or with an encoder what it reads.
type Pair struct{ Context, Text string }

// Likelihood is how likely a text is after its context, token by token.
type Likelihood struct {
	LogProb float64 // the sum over the tokens of the text
	IDs     []int32
	Tokens  []float32 // the log-probability of each of IDs
}

// scorePart is how many pairs are scored as one batch.
const scorePart = 32

// Score returns how likely each text is after its context (teacher forcing). The end token that the
// tokenizer adds after a text counts with an encoder. Where nothing comes before a text, its first
// token does not count. It returns ErrTooLong, ErrOptions for an empty text, encoder.ErrNotFinite,
// or the error of ctx.
func (m *Model) Score(ctx context.Context, pairs []Pair) ([]Likelihood, error) {
	out := make([]Likelihood, len(pairs))
	for from := 0; from < len(pairs); from += scorePart {
		to := min(len(pairs), from+scorePart)
		if err := m.scorePart(ctx, pairs[from:to], out[from:to], from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *Model) scorePart(ctx context.Context, pairs []Pair, out []Likelihood, first int) error {
	var sources, all [][]int32
	before := make([]int, len(pairs)) // tokens that do not count
	for i, p := range pairs {
		var ids []int32
		if m.Rewrites() {
			sources = append(sources, m.Tokenizer().Encode(p.Context, 0).IDs)
			ids = slices.Concat(m.start, m.Tokenizer().Encode(p.Text, 0).IDs)
			before[i] = len(m.start)
		} else {
			ids = m.Tokenizer().Encode(p.Context, 0).IDs
			before[i] = max(1, len(ids))
			ids = append(ids, m.Tokenizer().EncodeBare(p.Text).IDs...)
		}
		if len(ids) <= before[i] {
			return fmt.Errorf("%w: pair %d: the text has no token that can be scored", ErrOptions, first+i)
		}
		if len(ids) > m.MaxTokens() || m.Rewrites() && len(sources[i]) > m.decoder.MaxSource() {
			return fmt.Errorf("%w: pair %d has %d tokens, the model takes %d", ErrTooLong, first+i, len(ids), m.MaxTokens())
		}
		all = append(all, ids)
		out[i].IDs = ids[before[i]:]
		out[i].Tokens = make([]float32, len(out[i].IDs))
	}
	seqs := make([]*encoder.Sequence, len(pairs))
	if m.Rewrites() {
		var err error
		if seqs, err = m.decoder.Read(ctx, sources); err != nil {
			return err
		}
	} else {
		for i := range seqs {
			seqs[i] = m.decoder.Start()
		}
	}
	return m.decoder.Step(ctx, seqs, all, true, func(i, at int, logits []float32) error {
		k := at + 1 - before[i] // of the text, the token that these logits predict
		if k < 0 || k >= len(out[i].IDs) {
			return nil
		}
		logSoftmax(logits)
		x := logits[out[i].IDs[k]]
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("%w: pair %d, token %d has %v", encoder.ErrNotFinite, first+i, k, x)
		}
		out[i].Tokens[k] = x
		out[i].LogProb += float64(x)
		return nil
	})
}
