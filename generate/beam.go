package generate

import (
	"cmp"
	"math"
	"slices"
)

// gone is what transformers adds to the score of a beam that must not be chosen.
const gone = float32(-1e9)

// hypothesis is a text of beam search.
type hypothesis struct {
	ids      []int32 // with the prompt
	score    float32
	parent   int  // the running beam that it continues
	finished bool // whether it ended; else it is a placeholder
	reason   Reason
}

// beams is the state of beam search for one prompt. It follows GenerationMixin._beam_search of
// transformers step by step, in float32.
type beams struct {
	o         *Options
	prompt    int // tokens before the generated ones
	maxTokens int
	stopped   func(ids []int32) bool // whether a stop string ends the text
	running   []hypothesis
	best      []hypothesis
	open      bool // whether a running beam may still become better
}

func newBeams(o *Options, ids []int32, prompt, maxTokens int, stopped func([]int32) bool) *beams {
	b := &beams{o: o, prompt: prompt, maxTokens: maxTokens, stopped: stopped, open: true}
	for i := range o.Beams {
		h := hypothesis{ids: ids, score: gone, parent: i}
		b.best = append(b.best, h)
		if i == 0 {
			h.score = 0
		}
		b.running = append(b.running, h)
	}
	return b
}

// advance continues every running beam with the logits that follow it, and reports whether the
// search has ended. The parents of the running beams are then those before.
func (b *beams) advance(logits [][]float32) (done bool) {
	n := b.o.Beams
	keep := max(2, 1+len(b.o.End)) * n
	length := len(b.running[0].ids) // before this step
	type continuation struct {
		beam  int
		id    int32
		score float32
	}
	var top []continuation
	for i, h := range b.running {
		x := logits[i]
		logSoftmax(x)
		b.o.process(x, h.ids, b.prompt, b.maxTokens)
		floor := float32(math.Inf(-1))
		if keep < len(x) {
			floor = kth(x, keep)
		}
		for id, v := range x {
			if v >= floor {
				top = append(top, continuation{i, int32(id), v + h.score})
			}
		}
	}
	slices.SortStableFunc(top, func(a, c continuation) int { return cmp.Compare(c.score, a.score) })
	top = top[:min(keep, len(top))]
	next := make([]hypothesis, len(top))
	for i, c := range top {
		h := hypothesis{score: c.score, parent: c.beam, ids: append(slices.Clip(b.running[c.beam].ids), c.id)}
		switch {
		case slices.Contains(b.o.End, c.id), b.stopped(h.ids):
			h.finished, h.reason = true, ReasonStop
		case len(h.ids)-b.prompt >= b.maxTokens:
			h.finished, h.reason = true, ReasonLength
		}
		next[i] = h
	}
	// Running beams: the best that have not ended.
	running := slices.Clone(next)
	for i := range running {
		if running[i].finished {
			running[i].score += gone
		}
	}
	descending := func(a, c hypothesis) int { return cmp.Compare(c.score, a.score) }
	slices.SortStableFunc(running, descending)
	running = running[:n]
	// Finished ones: only those among the first n count.
	full := b.o.EarlyStopping == StopFull && !slices.ContainsFunc(b.best, func(h hypothesis) bool { return !h.finished })
	merged := slices.Clone(b.best)
	for i, h := range next {
		h.score /= float32(math.Pow(float64(length+1-b.prompt), b.o.LengthPenalty))
		if full {
			h.score += gone
		}
		if !b.open {
			h.score += gone
		}
		if h.finished = h.finished && i < n; !h.finished {
			h.score += gone
		}
		merged = append(merged, h)
	}
	slices.SortStableFunc(merged, descending)
	b.best, b.running = merged[:n], running

	b.open = b.open && b.improvable(length+1)
	ended := !slices.ContainsFunc(next, func(h hypothesis) bool { return !h.finished })
	full = b.o.EarlyStopping == StopFull && !slices.ContainsFunc(b.best, func(h hypothesis) bool { return !h.finished })
	return !b.open || full || ended
}

// improvable reports whether the best running beam may still beat a finished one.
func (b *beams) improvable(length int) bool {
	longest := length - b.prompt
	if b.o.EarlyStopping == StopNever && b.o.LengthPenalty > 0 {
		longest = b.maxTokens
	}
	possible := b.running[0].score / float32(math.Pow(float64(longest), b.o.LengthPenalty))
	worst := b.best[len(b.best)-1].score
	return slices.ContainsFunc(b.best, func(h hypothesis) bool {
		if h.finished {
			return possible > worst
		}
		return possible > gone
	})
}
