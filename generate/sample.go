package generate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// candidate is a token that may be drawn.
type candidate struct {
	id    int32
	logit float32
	p     float64
}

// draw returns a token with the probability that the options give it.
func (o *Options) draw(logits []float32, r *rand.Rand) int32 {
	list := o.candidates(logits)
	u := r.Float64()
	for _, c := range list {
		if u -= c.p; u < 0 {
			return c.id
		}
	}
	return list[len(list)-1].id
}

// candidates returns the tokens that may be drawn, the most likely first, with probabilities that
// sum to 1: after temperature, top-k, top-p and min-p, in this order. Of equal logits the smaller
// id comes first. A token on the border of top-k is kept with all that are equal to it.
func (o *Options) candidates(logits []float32) []candidate {
	floor := minusInf
	if o.TopK > 0 && o.TopK < len(logits) {
		floor = kth(logits, o.TopK)
	}
	top := slices.Max(logits)
	sum := 0.0
	for _, v := range logits {
		if v >= floor {
			sum += math.Exp(float64(v-top) / o.Temperature)
		}
	}
	// Tokens so unlikely that all as unlikely ones together are not within top-p need no sorting.
	least := 0.0
	if o.TopP > 0 && o.TopP < 1 {
		least = (1 - o.TopP) / float64(len(logits)) * sum
	}
	var list []candidate
	for i, v := range logits {
		if v == minusInf || v < floor {
			continue
		}
		if p := math.Exp(float64(v-top) / o.Temperature); p >= least || v == top {
			list = append(list, candidate{int32(i), v, p / sum})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.logit, a.logit) })
	if o.TopP > 0 && o.TopP < 1 {
		before, n := 0.0, 0
		for n < len(list) && (n == 0 || before < o.TopP) { // what comes before does not suffice
			before += list[n].p
			n++
		}
		list = list[:n]
	}
	if o.MinP > 0 {
		list = list[:1+len(list[1:])-trailing(list[1:], func(c candidate) bool { return c.p < o.MinP*list[0].p })]
	}
	total := 0.0
	for _, c := range list {
		total += c.p
	}
	for i := range list {
		list[i].p /= total
	}
	return list
}

// trailing returns how many elements of the sorted list, at its end, fulfil f.
func trailing(list []candidate, f func(candidate) bool) int {
	n := 0
	for n < len(list) && f(list[len(list)-1-n]) {
		n++
	}
	return n
}

// kth returns the k-th greatest element.
func kth(x []float32, k int) float32 {
	heap := make([]float32, 0, k) // the k greatest so far, the smallest of them first
	for _, v := range x {
		switch {
		case len(heap) < k:
			heap = append(heap, v)
			for i := len(heap) - 1; i > 0 && heap[i] < heap[(i-1)/2]; i = (i - 1) / 2 {
				heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
			}
		case v > heap[0]:
			heap[0] = v
			for i := 0; 2*i+1 < k; {
				child := 2*i + 1
				if child+1 < k && heap[child+1] < heap[child] {
					child++
				}
				if heap[i] <= heap[child] {
					break
				}
				heap[i], heap[child] = heap[child], heap[i]
				i = child
			}
		}
	}
	return heap[0]
}
