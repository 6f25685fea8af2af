package keyword

import (
	"cmp"
	"slices"
)

// span is the positions in [start, end).
type span struct{ start, end int }

// positions is a set of positions as spans that ascend and do not touch.
type positions []span

// add adds a position that is not below any other.
func (p *positions) add(at int) {
	if n := len(*p); n > 0 && at <= (*p)[n-1].end {
		(*p)[n-1].end = max((*p)[n-1].end, at+1)
		return
	}
	*p = append(*p, span{at, at + 1})
}

// and returns the positions in both sets.
func (p positions) and(other positions) (out positions) {
	for len(p) > 0 && len(other) > 0 {
		if from, to := max(p[0].start, other[0].start), min(p[0].end, other[0].end); from < to {
			out = append(out, span{from, to})
		}
		if p[0].end < other[0].end {
			p = p[1:]
		} else {
			other = other[1:]
		}
	}
	return out
}

// or returns the positions in either set.
func (p positions) or(other positions) (out positions) {
	if len(p) == 0 || len(other) == 0 {
		return append(p, other...)
	}
	all := slices.Concat(p, other)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, s := range all {
		if n := len(out); n > 0 && s.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// shifted returns the positions moved by n.
func (p positions) shifted(n int) positions {
	out := make(positions, len(p))
	for i, s := range p {
		out[i] = span{s.start + n, s.end + n}
	}
	return out
}

// len returns the number of positions.
func (p positions) len() (n int) {
	for _, s := range p {
		n += s.end - s.start
	}
	return n
}
