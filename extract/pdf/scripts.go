package pdf

import "unicode"

// ideographic reports whether r may be written vertically.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x3000 && r < 0x3040 || r >= 0xfe30 && r < 0xfe50 || r >= 0xff00 && r < 0xfff0
}

// ligatures starts at U+FB00.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

func rightToLeft(r rune) bool {
	return r >= 0x0590 && r < 0x0900 || r >= 0xfb1d && r < 0xfdd0 || r >= 0xfdf0 && r < 0xfe00 || r >= 0xfe70 && r < 0xff00
}
