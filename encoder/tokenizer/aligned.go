package tokenizer

import "unicode/utf8"

// span is a range of bytes [start, end).
type span struct{ start, end int32 }

// aligned is a text during normalisation: b, and for each byte the range of the source that it came
// from. With identity set, at is unused and b is the source itself. All bytes of a character share
// its range.
type aligned struct {
	b        []byte
	at       []span
	identity bool
}

func (a *aligned) reset() {
	a.b, a.at, a.identity = a.b[:0], a.at[:0], false
}

// set makes a the identity over b.
func (a *aligned) set(b []byte) {
	a.b, a.at, a.identity = append(a.b[:0], b...), a.at[:0], true
}

// put appends p, all of it from the source range sp.
func (a *aligned) put(p []byte, sp span) {
	a.b = append(a.b, p...)
	for range p {
		a.at = append(a.at, sp)
	}
}

func (a *aligned) putString(p string, sp span) {
	a.b = append(a.b, p...)
	for range len(p) {
		a.at = append(a.at, sp)
	}
}

// keep appends bytes [i, j) of src, which must begin and end at characters, as they are.
func (a *aligned) keep(src *aligned, i, j int) {
	a.b = append(a.b, src.b[i:j]...)
	if !src.identity {
		a.at = append(a.at, src.at[i:j]...)
		return
	}
	for i < j {
		n := 1
		if src.b[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(src.b[i:j])
		}
		sp := span{int32(i), int32(i + n)}
		for range n {
			a.at = append(a.at, sp)
		}
		i += n
	}
}

// source returns the source range of bytes [i, j): whole characters, also where i or j lies inside
// one.
func (a *aligned) source(i, j int) span {
	if i >= j {
		if a.identity {
			return span{int32(i), int32(i)}
		}
		if i < len(a.at) {
			return span{a.at[i].start, a.at[i].start}
		}
		return span{}
	}
	if !a.identity {
		return span{a.at[i].start, max(a.at[i].start, a.at[j-1].end)}
	}
	for i > 0 && !utf8.RuneStart(a.b[i]) {
		i--
	}
	for j < len(a.b) && !utf8.RuneStart(a.b[j]) {
		j++
	}
	return span{int32(i), int32(j)}
}
