package tokenizer

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unicodeForm is NFC, NFD, NFKC or NFKD. It differs from package norm in two points: characters
// that only newer versions of Unicode decompose stay (see undecomposed), and a run of more than 30
// combining marks is not broken up by U+034F. If characters compose or are reordered, the whole
// segment, a starter with its combining characters, has the source range of the segment.
type unicodeForm struct {
	form      norm.Form
	decompose norm.Form // NFD or NFKD
	compose   bool
}

func newUnicodeForm(f norm.Form) unicodeForm {
	switch f {
	case norm.NFC:
		return unicodeForm{f, norm.NFD, true}
	case norm.NFKC:
		return unicodeForm{f, norm.NFKD, true}
	}
	return unicodeForm{f, f, false}
}

func (u unicodeForm) normalize(dst, src *aligned) bool {
	i := 0
	for i < len(src.b) && src.b[i] < utf8.RuneSelf {
		i++
	}
	if i == len(src.b) {
		return false
	}
	dst.reset()
	changed := false
	start := max(0, i-1) // the ASCII character before may be a base
	dst.keep(src, 0, start)
	var out []byte
	for i = start; i < len(src.b); {
		j, marks := u.segment(src.b[i:])
		seg := src.b[i : i+j]
		if marks <= 30 && u.form.IsNormal(seg) {
			dst.keep(src, i, i+j)
			i += j
			continue
		}
		r, n := utf8.DecodeRune(seg)
		switch {
		case n == len(seg) && u.frozen(r):
			dst.keep(src, i, i+j)
		case u.compose && marks <= 30:
			out = u.form.Append(out[:0], seg...)
			dst.put(out, src.source(i, i+j))
			changed = true
		default:
			u.rewrite(dst, src, i, i+j)
			changed = true
		}
		i += j
	}
	return changed
}

// frozen reports whether r neither changes nor moves, unlike in package norm.
func (u unicodeForm) frozen(r rune) bool {
	return r >= smallRunes && (unicode.Is(inert, r) || u.decompose == norm.NFKD && unicode.Is(undecomposed, r))
}

// segment returns the length of the segment at the start of b, and how many characters after its
// first it holds.
func (u unicodeForm) segment(b []byte) (n, marks int) {
	r, n := utf8.DecodeRune(b)
	if u.frozen(r) || !u.compose && r < utf8.RuneSelf {
		return n, 0
	}
	for n < len(b) {
		if b[n] < utf8.RuneSelf {
			return n, marks
		}
		p := u.form.Properties(b[n:])
		if p.BoundaryBefore() {
			return n, marks
		}
		if r, _ := utf8.DecodeRune(b[n:]); u.frozen(r) {
			return n, marks
		}
		n += max(1, p.Size())
		marks++
	}
	return n, marks
}

// decomposition returns the full decomposition of the one character c; it may use buf.
func decomposition(buf []byte, form norm.Form, c []byte) []byte {
	if d := form.Properties(c).Decomposition(); d != nil {
		return d
	}
	if c[0] >= 0xEA && c[0] <= 0xED { // Hangul syllables decompose by rule, and have no Properties
		return form.Append(buf, c...)
	}
	return c
}

type markedRune struct {
	r   rune
	ccc uint8
	at  span
}

// rewrite appends the segment that is bytes [i, j) of src, of any length, by the algorithm of the
// standard (UAX 15). Without composition each character has the range that it came from.
func (u unicodeForm) rewrite(dst, src *aligned, i, j int) {
	whole := src.source(i, j)
	runes := make([]markedRune, 0, 8)
	var buf [64]byte
	for i < j {
		_, n := utf8.DecodeRune(src.b[i:j])
		d := decomposition(buf[:0], u.decompose, src.b[i:i+n])
		for k := 0; k < len(d); {
			r, m := utf8.DecodeRune(d[k:])
			runes = append(runes, markedRune{r, u.decompose.Properties(d[k:]).CCC(), src.source(i, i+n)})
			k += m
		}
		i += n
	}
	for i := 0; i < len(runes); i++ { // canonical order: marks between two starters by class, stable
		if runes[i].ccc == 0 {
			continue
		}
		j := i
		for j < len(runes) && runes[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(runes[i:j], func(a, b markedRune) int { return int(a.ccc) - int(b.ccc) })
		i = j
	}
	if u.compose {
		runes = composeRunes(runes)
	}
	for _, m := range runes {
		if u.compose {
			m.at = whole
		}
		dst.put(utf8.AppendRune(buf[:0], m.r), m.at)
	}
}

// composeRunes replaces a starter and a following unblocked character by their composite, in place.
func composeRunes(runes []markedRune) []markedRune {
	out := runes[:0]
	starter := -1
	last := uint8(0) // class of the last character kept since the starter
	var buf [2 * utf8.UTFMax]byte
	for _, m := range runes {
		if starter >= 0 && (last < m.ccc || last == 0 && len(out) == starter+1) {
			pair := utf8.AppendRune(utf8.AppendRune(buf[:0], out[starter].r), m.r)
			c := norm.NFC.Bytes(pair)
			if r, n := utf8.DecodeRune(c); n == len(c) && n > 0 {
				out[starter].r = r
				continue
			}
		}
		if m.ccc == 0 {
			starter, last = len(out), 0
		} else {
			last = m.ccc
		}
		out = append(out, m)
	}
	return out
}
