// Package pooling turns the token states of a text into one vector, as the Pooling module of
// sentence-transformers does.
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
	CLSMode          Mode = iota // the state of the first token
	MaxMode                      // the largest value of each column
	MeanMode                     // the average
	MeanSqrtLenMode              // the sum divided by the square root of the number of tokens
	WeightedMeanMode             // the average weighted by the positions 1, 2, ..., L
	LastTokenMode                // the state of the last token
)

var modeNames = [...]string{"cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"}

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

// Sequence pools the token states [L, H] of one text into dst [len(modes)*H] without its first skip
// tokens, in the order of modes. The tokens keep their positions: weightedmean gives the first one
// that counts the weight skip+1, as a mask over a prompt does (include_prompt = false). Without
// tokens the result is zero. It panics for a mode that is none of the constants.
func Sequence(dst, states []float32, hidden, skip int, modes []Mode) {
	skip = min(max(skip, 0), len(states)/max(hidden, 1))
	states = states[skip*hidden:]
	n := float64(max(1, len(states)/max(hidden, 1)))
	one := func(int) float64 { return 1 }
	for i, m := range modes {
		v := dst[i*hidden : (i+1)*hidden]
		switch m {
		case CLSMode:
			clear(v)
			copy(v, states)
		case MaxMode:
			maximum(v, states)
		case MeanMode:
			weightedSum(v, states, one, n)
		case MeanSqrtLenMode:
			weightedSum(v, states, one, math.Sqrt(n))
		case WeightedMeanMode:
			weightedSum(v, states, func(row int) float64 { return float64(skip + row + 1) }, n*(float64(skip)+(n+1)/2))
		case LastTokenMode:
			clear(v)
			copy(v, states[max(0, len(states)-hidden):])
		default:
			panic("pooling: " + m.String())
		}
	}
}

func maximum(dst, states []float32) {
	clear(dst)
	copy(dst, states)
	for row := len(dst); row < len(states); row += len(dst) {
		for j, v := range states[row : row+len(dst)] {
			dst[j] = max(dst[j], v)
		}
	}
}

// weightedSum writes the weighted sum of the rows of states to dst, divided by divisor. It adds up
// in float64, a run of columns at a time: a float32 sum of thousands of numbers loses digits.
func weightedSum(dst, states []float32, weight func(row int) float64, divisor float64) {
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

// Normalize divides x by its length, or by 1e-12 if it is shorter, as torch.nn.functional.normalize
// does.
func Normalize(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	by := float32(1 / math.Max(math.Sqrt(sum), 1e-12))
	for j := range x {
		x[j] *= by
	}
}
