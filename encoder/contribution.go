package encoder

import (
	"context"
	"fmt"
	"math"

	"example.com/searchd/pooling"
)

// Contribution holds what each token of two texts adds to the cosine of their vectors.
type Contribution struct {
	Cosine float64
	Texts  [2]TokenShares
}

// TokenShares are the tokens of one text with their shares, which sum to the cosine.
type TokenShares struct {
	TokenizedText
	Shares []float64 // [L]; 0 for tokens that the pooling leaves out
}

// Contributions splits the cosine of two texts into a share for each token. With u = Σ w_i·h_i, the
// pooled states of a text, and v those of the other, the share of token i is w_i·(h_i·v)/(|u|·|v|);
// with max pooling each dimension goes to the token that has the maximum. This is exact only if no
// module but Normalize follows the pooling: ErrInspect otherwise, and for static models. The
// prompts are names as in EncodeOptions.
func (m *Model) Contributions(ctx context.Context, texts, promptNames [2]string) (*Contribution, error) {
	if err := m.checkContributions(); err != nil {
		return nil, err
	}
	c := &Contribution{}
	seqs := make([]sequence, 2)
	for i, text := range texts {
		var err error
		if c.Texts[i].TokenizedText, seqs[i], err = m.tokenizeText(text, promptNames[i], m.limit(promptNames[i])); err != nil {
			return nil, err
		}
	}
	states, err := m.tokenStates(ctx, seqs)
	if err != nil {
		return nil, err
	}
	h := m.stack.hidden
	var pooled [2][]float32
	for i := range pooled {
		pooled[i] = make([]float32, h*len(m.pool.modes))
		pooling.Sequence(pooled[i], states.States[i], h, seqs[i].skip, m.pool.modes)
		if err := checkFinite(pooled[i], i); err != nil {
			return nil, err
		}
	}
	scale := math.Sqrt(dot64(pooled[0], pooled[0]) * dot64(pooled[1], pooled[1]))
	if scale == 0 {
		scale = 1
	}
	c.Cosine = dot64(pooled[0], pooled[1]) / scale
	for i := range c.Texts {
		c.Texts[i].Shares = make([]float64, len(c.Texts[i].IDs))
		for n, mode := range m.pool.modes {
			addShares(c.Texts[i].Shares, mode, states.States[i], pooled[1-i][n*h:(n+1)*h], seqs[i].skip, scale)
		}
	}
	return c, nil
}

func (m *Model) checkContributions() error {
	switch {
	case m.tok == nil:
		return ErrNoTexts
	case m.static != nil:
		return errNoLayers
	case len(m.pool.modes) == 0:
		return ErrNotDense
	}
	for _, mod := range m.after {
		if _, ok := mod.(normalize); !ok {
			return fmt.Errorf("%w: contributions are exact only if no module but Normalize follows the pooling, got %T", ErrInspect, mod)
		}
	}
	return nil
}

// addShares adds to shares [L] those of the states [L, H] under one mode of pooling, towards the
// other text's vector [H].
func addShares(shares []float64, mode pooling.Mode, states, other []float32, skip int, scale float64) {
	h := len(other)
	if skip = min(skip, len(shares)); skip == len(shares) {
		return
	}
	if mode == pooling.MaxMode {
		for j, v := range other {
			best := skip
			for i := skip + 1; i < len(shares); i++ {
				if states[i*h+j] > states[best*h+j] {
					best = i
				}
			}
			shares[best] += float64(states[best*h+j]) * float64(v) / scale
		}
		return
	}
	n := float64(len(shares) - skip)
	for i := skip; i < len(shares); i++ {
		var w float64
		switch mode {
		case pooling.MeanMode:
			w = 1 / n
		case pooling.MeanSqrtLenMode:
			w = 1 / math.Sqrt(n)
		case pooling.WeightedMeanMode:
			w = float64(i+1) / (n * (float64(skip) + (n+1)/2))
		case pooling.CLSMode:
			if i == skip {
				w = 1
			}
		case pooling.LastTokenMode:
			if i == len(shares)-1 {
				w = 1
			}
		}
		if w != 0 {
			shares[i] += w * dot64(states[i*h:(i+1)*h], other) / scale
		}
	}
}

func dot64(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}
