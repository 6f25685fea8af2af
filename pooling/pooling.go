// Package pooling turns the token states of a sequence into one vector. The functions are pure; they follow the Pooling module of
// sentence-transformers, without its padding. An empty sequence yields the zero vector everywhere.
package pooling

import (
	"fmt"
	"math"
	"strings"
)

// Mode is one way of pooling. The order of the constants is the order in which the flags of 1_Pooling/config.json are concatenated.
type Mode uint8

// The modes of 1_Pooling/config.json.
const (
	CLS Mode = iota
	Max
	Mean
	MeanSqrtLen
	WeightedMean
	LastToken
	Attention // not of sentence-transformers: a mean by given weights, see Weighted
)

var modeNames = [...]string{"cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "attention"}

// String returns the name that 1_Pooling/config.json uses.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// ParseMode reads a name that String gives, or the shorter mean_sqrt_len.
func ParseMode(s string) (Mode, error) {
	if s == "mean_sqrt_len" {
		return MeanSqrtLen, nil
	}
	for i, name := range modeNames {
		if s == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("pooling: unknown mode %q, want one of %s", s, strings.Join(modeNames[:], ", "))
}

// Sequence pools one sequence, states [L, H], into dst [len(modes)*H], leaving its first skip tokens out. The tokens keep their
// positions: weightedmean gives the first one that counts the weight skip+1, as a mask over a prompt does (include_prompt = false).
// Attention panics, since its weights are not in the states: see Weighted.
func Sequence(dst, states []float32, hidden, skip int, modes []Mode) {
	skip = min(max(skip, 0), len(states)/max(hidden, 1))
	for i, m := range modes {
		one(dst[i*hidden:(i+1)*hidden], states[skip*hidden:], skip, m)
	}
}

// one pools the rows of states, each as long as dst; first is the number of rows left out before them.
func one(dst, states []float32, first int, m Mode) {
	n := float64(len(states) / len(dst))
	same := func(int) float64 { return 1 }
	switch m {
	case CLS:
		clear(dst)
		copy(dst, states)
	case Max:
		clear(dst)
		copy(dst, states)
		for row := len(dst); row < len(states); row += len(dst) {
			for j, v := range states[row : row+len(dst)] {
				dst[j] = max(dst[j], v)
			}
		}
	case Mean:
		sum(dst, states, same, max(1, n))
	case MeanSqrtLen:
		sum(dst, states, same, math.Sqrt(max(1, n)))
	case WeightedMean:
		total := n * (float64(first) + (n+1)/2)
		sum(dst, states, func(i int) float64 { return float64(first + i + 1) }, max(1, total))
	case LastToken:
		clear(dst)
		copy(dst, states[max(0, len(states)-len(dst)):])
	default:
		panic("pooling: " + m.String())
	}
}

// Weighted writes to dst [H] the mean of the rows of states [L, H] by weights [L], which need not sum to 1. Weights that sum to 0 give the
// zero vector. The encoder uses it with the attention that each token receives in the last layer.
func Weighted(dst, states, weights []float32, hidden int) {
	total := 0.0
	for _, w := range weights {
		total += float64(w)
	}
	if total == 0 {
		clear(dst[:hidden])
		return
	}
	sum(dst[:hidden], states, func(i int) float64 { return float64(weights[i]) }, total)
}

// sum writes the weighted sum of the rows of states to dst, divided by divisor. It adds up in float64, a run of columns at a time: thousands
// of float32 numbers of one sign would lose the last digits.
func sum(dst, states []float32, weight func(row int) float64, divisor float64) {
	var total [256]float64
	for from := 0; from < len(dst); from += len(total) {
		acc := total[:min(len(total), len(dst)-from)]
		clear(acc)
		for row := 0; row*len(dst) < len(states); row++ {
			w := weight(row)
			for j, v := range states[row*len(dst)+from : row*len(dst)+from+len(acc)] {
				acc[j] += w * float64(v)
			}
		}
		for j, v := range acc {
			dst[from+j] = float32(v / divisor)
		}
	}
}

// Normalize divides x by its length, or by 1e-12 if it is shorter, as torch.nn.functional.normalize does.
func Normalize(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	by := float32(1 / max(math.Sqrt(sum), 1e-12))
	for j := range x {
		x[j] *= by
	}
}
