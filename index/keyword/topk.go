package keyword

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// topK keeps the k best of the hits added, in a heap with the worst on top.
type topK struct {
	k    int
	heap []Hit
	all  *roaring.Bitmap // all matches, which the searcher adds; nil: not requested
}

// compareHits orders the better hit first: the higher score, then the lower number.
func compareHits(a, b Hit) int {
	if c := cmp.Compare(b.Score, a.Score); c != 0 {
		return c
	}
	return cmp.Compare(a.No, b.No)
}

func worse(a, b Hit) bool { return compareHits(a, b) > 0 }

// full reports whether the heap has k hits, so that a hit below worst does not enter it.
func (t *topK) full() bool { return t.k > 0 && len(t.heap) == t.k }

// worst returns the score of the k-th best hit.
func (t *topK) worst() float64 { return t.heap[0].Score }

func (t *topK) add(h Hit) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, h)
		for i := len(t.heap) - 1; i > 0; {
			parent := (i - 1) / 2
			if !worse(t.heap[i], t.heap[parent]) {
				break
			}
			t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
			i = parent
		}
		return
	}
	if t.k == 0 || !worse(t.heap[0], h) {
		return
	}
	t.heap[0] = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if r := child + 1; r < len(t.heap) && worse(t.heap[r], t.heap[child]) {
			child = r
		}
		if !worse(t.heap[child], t.heap[i]) {
			return
		}
		t.heap[i], t.heap[child] = t.heap[child], t.heap[i]
		i = child
	}
}

// sorted returns the hits, best first, and consumes the heap.
func (t *topK) sorted() []Hit {
	slices.SortFunc(t.heap, compareHits)
	return t.heap
}
