package generate

import (
	"math"
	"slices"
)

var minusInf = float32(math.Inf(-1))

// process changes the logits, or with beams the log-probabilities, after ids, of which the first
// prompt are not generated. The order and the arithmetic are those of transformers'
// _get_logits_processor.
func (o *Options) process(logits []float32, ids []int32, prompt, maxTokens int) {
	generated := len(ids) - prompt
	if p := o.RepetitionPenalty; p != 0 && p != 1 {
		seen := map[int32]bool{}
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			if logits[id] < 0 {
				logits[id] *= float32(p)
			} else {
				logits[id] /= float32(p)
			}
		}
	}
	if o.PresencePenalty != 0 || o.FrequencyPenalty != 0 {
		count := map[int32]int{}
		for _, id := range ids[prompt:] {
			count[id]++
		}
		for id, n := range count {
			logits[id] -= float32(o.PresencePenalty + float64(n)*o.FrequencyPenalty)
		}
	}
	if n := o.NoRepeatNgram; n > 0 && len(ids) >= n {
		suffix := ids[len(ids)+1-n:]
		for i := 0; i+n <= len(ids); i++ {
			if slices.Equal(ids[i:i+n-1], suffix) {
				logits[ids[i+n-1]] = minusInf
			}
		}
	}
	for _, word := range o.BadWords {
		n := len(word) - 1
		if n == 0 && slices.Contains(o.End, word[0]) {
			continue
		}
		if n < len(ids) && slices.Equal(ids[len(ids)-n:], word[:n]) {
			logits[word[n]] = minusInf
		}
	}
	if generated < o.MinTokens {
		for _, id := range o.End {
			logits[id] = minusInf
		}
	}
	if o.Begin >= 0 && generated == 0 {
		force(logits, o.Begin)
	}
	if o.Last >= 0 && generated == maxTokens-1 {
		force(logits, o.Last)
	}
	for _, id := range o.Suppress {
		logits[id] = minusInf
	}
	if generated == 0 {
		for _, id := range o.SuppressFirst {
			logits[id] = minusInf
		}
	}
}

// force leaves one token.
func force(logits []float32, id int32) {
	for i := range logits {
		logits[i] = minusInf
	}
	logits[id] = 0
}

// logSoftmax replaces logits by log-probabilities.
func logSoftmax(x []float32) {
	top := slices.Max(x)
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	shift := top + float32(math.Log(sum))
	for i := range x {
		x[i] -= shift
	}
}

// argmax returns the first of the greatest elements.
func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}
