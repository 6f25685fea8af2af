package keyword

import (
	"cmp"
	"slices"
)

// ask is a term of the plan that a query has from one position to another, or with -1 a word that
// need not be found.
type ask struct{ from, to, term int }

// need is what And asks of a document: all terms of a query, of words with parts the word or its
// parts.
type need struct {
	all    uint64 // a bit for each term of the plan
	groups [][]ask
}

// mostPositions of a word with parts; of a longer one all terms are asked for.
const mostPositions = 64

// needOf returns the need of a query.
func needOf(asks []ask) (n need) {
	slices.SortStableFunc(asks, func(a, b ask) int { return cmp.Compare(a.from, b.from) })
	for len(asks) > 0 {
		size, end := 1, asks[0].to
		for size < len(asks) && asks[size].from < end {
			end = max(end, asks[size].to)
			size++
		}
		group := asks[:size]
		asks = asks[size:]
		if size > 1 && end-group[0].from < mostPositions {
			n.groups = append(n.groups, group)
			continue
		}
		for _, a := range group {
			n.all |= a.bit()
		}
	}
	return n
}

func (a ask) bit() uint64 {
	if a.term < 0 {
		return 0
	}
	return 1 << a.term
}

// met says whether a document with the terms of a mask has what is needed.
func (n need) met(terms uint64) bool {
	if terms&n.all != n.all {
		return false
	}
	for _, group := range n.groups {
		first, end := group[0].from, 0
		reached := uint64(1) // bits of positions from first
		next := 0            // of group
		for at := 0; at < mostPositions; at++ {
			for next < len(group) && group[next].from-first == at {
				a := group[next]
				if end = max(end, a.to-first); reached>>at&1 == 1 && terms&a.bit() == a.bit() {
					reached |= 1 << (a.to - first)
				}
				next++
			}
			if next == len(group) && at >= end {
				break
			}
		}
		if reached>>end&1 == 0 {
			return false
		}
	}
	return true
}
