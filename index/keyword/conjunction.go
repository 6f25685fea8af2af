package keyword

import (
	"cmp"
	"slices"
)

// noTerm marks a requirement that every document meets.
const noTerm = -1

// requirement is a term of the plan that a query has at the positions [from, to).
type requirement struct{ from, to, term int }

// bit returns the term in a mask.
func (r requirement) bit() uint64 {
	if r.term == noTerm {
		return 0
	}
	return 1 << r.term
}

// conjunction is what And requires of a document: all terms of a query, and of words with parts the
// word or its parts.
type conjunction struct {
	terms  uint64          // a bit for each term of the plan
	groups [][]requirement // that overlap, by from
}

// maxGroupWidth is the number of positions of a word with parts; of a longer one all terms are
// required.
const maxGroupWidth = 64

func newConjunction(required []requirement) (c conjunction) {
	slices.SortStableFunc(required, func(a, b requirement) int { return cmp.Compare(a.from, b.from) })
	for len(required) > 0 {
		size, end := 1, required[0].to
		for size < len(required) && required[size].from < end {
			end = max(end, required[size].to)
			size++
		}
		group := required[:size]
		required = required[size:]
		if size > 1 && end-group[0].from < maxGroupWidth {
			c.groups = append(c.groups, group)
			continue
		}
		for _, r := range group {
			c.terms |= r.bit()
		}
	}
	return c
}

// met reports whether a document with the terms of a mask meets the requirements.
func (c conjunction) met(terms uint64) bool {
	return terms&c.terms == c.terms && !slices.ContainsFunc(c.groups, func(g []requirement) bool { return !spanned(g, terms) })
}

// spanned reports whether terms of a mask lead from the first position of a group to its end.
func spanned(group []requirement, terms uint64) bool {
	first, end := group[0].from, 0
	reached := uint64(1) // positions, from first
	for _, r := range group {
		end = max(end, r.to-first)
		if reached>>(r.from-first)&1 == 1 && terms&r.bit() == r.bit() {
			reached |= 1 << (r.to - first)
		}
	}
	return reached>>end&1 == 1
}
