package pdf

import (
	"math"
	"slices"
	"unicode"
)

// ideographic reports whether r may be written vertically.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x3000 && r < 0x3040 || r >= 0xfe30 && r < 0xfe50 || r >= 0xff00 && r < 0xfff0
}

// ligatures starts at U+FB00.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

func rightToLeft(r rune) bool {
	return r >= 0x0590 && r < 0x0900 || r >= 0xfb1d && r < 0xfdd0 || r >= 0xfdf0 && r < 0xfe00 || r >= 0xfe70 && r < 0xff00
}

// logical puts runs of characters from right to left that come in the order of their places into
// the order of reading: PDFium does so only where most of a line is from right to left. Glyphs of
// several characters are turned round by words.
func logical(chars []char) []char {
	if !slices.ContainsFunc(chars, func(c char) bool { return rightToLeft(c.r) }) {
		return chars
	}
	for start := 0; start < len(chars); start++ {
		if !rightToLeft(chars[start].r) {
			continue
		}
		end, forward, backward := start+1, 0, 0 // the run is [start, end)
		for last, k := chars[start], start+1; k < len(chars); k++ {
			c := chars[k]
			if unicode.IsSpace(c.r) || unicode.IsPunct(c.r) {
				if c.r == '\n' || c.r == '\r' {
					break
				}
				continue
			}
			if !rightToLeft(c.r) || math.Abs(c.y-last.y) > 0.4*max(c.size, last.size) {
				break
			}
			switch {
			case c.x0 > last.x0:
				forward++
			case c.x0 < last.x0:
				backward++
			}
			last, end = c, k+1
		}
		if forward > backward {
			slices.Reverse(chars[start:end])
			for k := start; k+1 < end; k++ { // marks stay behind their letters
				first := k
				for k+1 < end && unicode.Is(unicode.Mn, chars[k].r) {
					k++
				}
				slices.Reverse(chars[first : k+1])
			}
		}
		start = end - 1
	}
	return chars
}
