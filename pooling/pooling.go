// Package pooling turns the token states of a sequence into one vector. The functions are pure;
// they follow the Pooling module of sentence-transformers, without its padding: states [tokens, H]
// holds the sequences of a batch one after another, and offsets [batch+1] says where each begins,
// so that sequence i is the rows [offsets[i], offsets[i+1]). An empty sequence yields the zero
// vector everywhere.
package pooling

import (
	"fmt"
	"math"
	"strings"
)

// Mode is one way of pooling. The order of the constants is the order in which the flags of
// 1_Pooling/config.json are concatenated.
type Mode uint8

// The modes of 1_Pooling/config.json.
const (
	CLSMode Mode = iota
	MaxMode
	MeanMode
	MeanSqrtLenMode
	WeightedMeanMode
	LastTokenMode
	AttentionMode // not of sentence-transformers: a mean by given weights, see Weighted
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
		return MeanSqrtLenMode, nil
	}
	for i, name := range modeNames {
		if s == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("pooling: unknown mode %q, want one of %s", s, strings.Join(modeNames[:], ", "))
}

// CLS writes to dst [batch, H] the state of the first token of each sequence.
func CLS(dst, states []float32, offsets []int, hidden int) {
	each(dst, states, offsets, hidden, cls)
}

// Max writes to dst [batch, H] the largest value of each column of each sequence.
func Max(dst, states []float32, offsets []int, hidden int) {
	each(dst, states, offsets, hidden, maximum)
}

// Mean writes to dst [batch, H] the average of the token states of each sequence.
// Source: sentence-transformers Pooling, pooling_mode_mean_tokens.
func Mean(dst, states []float32, offsets []int, hidden int) {
	each(dst, states, offsets, hidden, mean)
}

// MeanSqrtLen writes to dst [batch, H] the sum of the token states of each sequence divided by the
// square root of their number.
func MeanSqrtLen(dst, states []float32, offsets []int, hidden int) {
	each(dst, states, offsets, hidden, meanSqrtLen)
}

// WeightedMean writes to dst [batch, H] the average of the token states weighted by their positions
// 1, 2, ..., L.
func WeightedMean(dst, states []float32, offsets []int, hidden int) {
	each(dst, states, offsets, hidden, weightedMean)
}

// LastToken writes to dst [batch, H] the state of the last token of each sequence.
func LastToken(dst, states []float32, offsets []int, hidden int) {
	each(dst, states, offsets, hidden, lastToken)
}

// Weighted writes to dst [H] the mean of the rows of states [L, H] by weights [L], which need not
// sum to 1. Weights that sum to 0 give the zero vector. The encoder uses it with the attention that
// each token receives in the last layer.
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

// Pool writes to dst [batch, len(modes)*H] the given poolings of each sequence, side by side in the
// order of modes. AttentionMode is none of them, since its weights are not in the states: Pool and
// Sequence panic, see Weighted.
func Pool(dst, states []float32, offsets []int, hidden int, modes []Mode) {
	width := len(modes) * hidden
	for i := range len(offsets) - 1 {
		Sequence(dst[i*width:(i+1)*width], states[offsets[i]*hidden:offsets[i+1]*hidden], hidden, 0, modes)
	}
}

// Sequence pools one sequence, states [L, H], into dst [len(modes)*H], leaving its first skip
// tokens out. The tokens keep their positions: weightedmean gives the first one that counts the
// weight skip+1, as a mask over a prompt does (include_prompt = false).
func Sequence(dst, states []float32, hidden, skip int, modes []Mode) {
	skip = min(max(skip, 0), len(states)/max(hidden, 1))
	for i, m := range modes {
		one(m)(dst[i*hidden:(i+1)*hidden], states[skip*hidden:], skip)
	}
}

// single pools the rows of states, each as long as dst; first is the number of rows left out before
// them.
type single func(dst, states []float32, first int)

func one(m Mode) single {
	switch m {
	case CLSMode:
		return cls
	case MaxMode:
		return maximum
	case MeanMode:
		return mean
	case MeanSqrtLenMode:
		return meanSqrtLen
	case WeightedMeanMode:
		return weightedMean
	case LastTokenMode:
		return lastToken
	}
	panic("pooling: " + m.String())
}

func each(dst, states []float32, offsets []int, hidden int, f single) {
	for i := range len(offsets) - 1 {
		f(dst[i*hidden:(i+1)*hidden], states[offsets[i]*hidden:offsets[i+1]*hidden], 0)
	}
}

func cls(dst, states []float32, _ int) {
	clear(dst)
	copy(dst, states)
}

func lastToken(dst, states []float32, _ int) {
	clear(dst)
	copy(dst, states[max(0, len(states)-len(dst)):])
}

func maximum(dst, states []float32, _ int) {
	clear(dst)
	copy(dst, states)
	for row := len(dst); row < len(states); row += len(dst) {
		for j, v := range states[row : row+len(dst)] {
			dst[j] = max(dst[j], v)
		}
	}
}

func mean(dst, states []float32, _ int) {
	n := len(states) / len(dst)
	sum(dst, states, func(int) float64 { return 1 }, float64(max(1, n)))
}

func meanSqrtLen(dst, states []float32, _ int) {
	n := len(states) / len(dst)
	sum(dst, states, func(int) float64 { return 1 }, math.Sqrt(float64(max(1, n))))
}

func weightedMean(dst, states []float32, first int) {
	n := len(states) / len(dst)
	total := float64(n) * (float64(first) + float64(n+1)/2)
	sum(dst, states, func(i int) float64 { return float64(first + i + 1) }, max(1, total))
}

// sum writes the weighted sum of the rows of states to dst, divided by divisor. It adds up in
// float64, a run of columns at a time: thousands of float32 numbers of one sign would lose the last
// digits.
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

func scale(dst []float32, by float32) {
	for j := range dst {
		dst[j] *= by
	}
}

// Normalize divides x by its length, or by 1e-12 if it is shorter, as torch.nn.functional.normalize
// does.
func Normalize(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale(x, float32(1/math.Max(math.Sqrt(sum), 1e-12)))
}
