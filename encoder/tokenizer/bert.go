package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// bertNormalizer is the normaliser of BERT: control characters removed and white space made blank
// (clean), blanks around CJK ideographs (chinese), accents stripped after NFD (accents), lower case
// (lower), in this order.
type bertNormalizer struct {
	clean, chinese, accents, lower bool
	small                          [smallRunes]string // what becomes of the first characters
	nfd                            unicodeForm
	first                          *bertNormalizer // with accents set: clean and chinese alone, for stepwise
}

// smallRunes is the first of the scripts with marks that are younger than nonspacingMarks, which
// stay in the text.
const smallRunes = 0x7C0

func parseBertNormalizer(raw json.RawMessage) (*bertNormalizer, error) {
	f := struct {
		Clean   bool  `json:"clean_text"`
		Chinese bool  `json:"handle_chinese_chars"`
		Accents *bool `json:"strip_accents"`
		Lower   bool  `json:"lowercase"`
	}{Clean: true, Chinese: true, Lower: true}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	accents := f.Lower // null follows lowercase
	if f.Accents != nil {
		accents = *f.Accents
	}
	return newBertNormalizer(f.Clean, f.Chinese, accents, f.Lower), nil
}

func newBertNormalizer(clean, chinese, accents, lower bool) *bertNormalizer {
	n := &bertNormalizer{clean: clean, chinese: chinese, accents: accents, lower: lower, nfd: newUnicodeForm(norm.NFD)}
	for r := range n.small {
		b, _ := n.appendRune(nil, rune(r))
		n.small[r] = string(b)
	}
	if accents {
		n.first = newBertNormalizer(clean, chinese, false, false)
	}
	return n
}

// with returns n with other settings and a description of them, which is empty if they are those of
// n.
func (n *bertNormalizer) with(o *BertSettings) (*bertNormalizer, string) {
	accents := o.LowerCase
	if o.StripAccents != nil {
		accents = *o.StripAccents
	}
	if o.ChineseChars == n.chinese && accents == n.accents && o.LowerCase == n.lower {
		return n, ""
	}
	return newBertNormalizer(n.clean, o.ChineseChars, accents, o.LowerCase), fmt.Sprintf(" chinese=%t accents=%t lower=%t", o.ChineseChars, accents, o.LowerCase)
}

func isChinese(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

// appendRune appends the normal form of r alone. It reports false if the order of the following
// characters may matter: a combining mark that stays in the text after NFD.
func (n *bertNormalizer) appendRune(dst []byte, r rune) ([]byte, bool) {
	if n.clean {
		if r == 0 || unicode.Is(controls, r) {
			return dst, true
		}
		if unicode.IsSpace(r) {
			return append(dst, ' '), true
		}
	}
	chinese := n.chinese && r >= 0x3400 && isChinese(r)
	if chinese {
		dst = append(dst, ' ')
	}
	alone := true
	if !n.accents || r < utf8.RuneSelf {
		dst = n.appendCased(dst, r)
	} else {
		var buf, jamo [16]byte
		b := utf8.AppendRune(buf[:0], r)
		if !n.nfd.frozen(r) {
			b = decomposition(jamo[:0], norm.NFD, b)
		}
		for i := 0; i < len(b); {
			c, m := utf8.DecodeRune(b[i:])
			if !unicode.Is(nonspacingMarks, c) {
				alone = alone && (norm.NFD.Properties(b[i:]).CCC() == 0 || n.nfd.frozen(c))
				dst = n.appendCased(dst, c)
			}
			i += m
		}
	}
	if chinese {
		dst = append(dst, ' ')
	}
	return dst, alone
}

func (n *bertNormalizer) appendCased(dst []byte, r rune) []byte {
	if n.lower {
		return appendLower(dst, r)
	}
	return utf8.AppendRune(dst, r)
}

func (n *bertNormalizer) normalize(dst, src *aligned) bool {
	dst.reset()
	var buf [64]byte
	for i := 0; i < len(src.b); {
		r, m := utf8.DecodeRune(src.b[i:])
		if r < smallRunes {
			dst.putString(n.small[r], src.source(i, i+m))
			i += m
			continue
		}
		b, alone := n.appendRune(buf[:0], r)
		if !alone && n.accents {
			n.stepwise(dst, src)
			return true
		}
		dst.put(b, src.source(i, i+m))
		i += m
	}
	return true
}

// stepwise runs the steps one after the other, with NFD over the whole text, for the rare text in
// which marks that are not stripped are reordered.
func (n *bertNormalizer) stepwise(dst, src *aligned) {
	steps := []normalizer{
		n.first,
		n.nfd,
		runeFilter(func(r rune) rune {
			if unicode.Is(nonspacingMarks, r) {
				return -1
			}
			return r
		}),
	}
	if n.lower {
		steps = append(steps, lowercase{})
	}
	cur := new(aligned)
	cur.keep(src, 0, len(src.b))
	cur, _ = normalizeAll(steps, cur, new(aligned))
	dst.reset()
	dst.keep(cur, 0, len(cur.b))
}

// bertPreTokenizer splits at white space, which it drops, and makes each punctuation character a
// word.
type bertPreTokenizer struct{}

func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	}
	return unicode.Is(punctuation, r)
}

func (bertPreTokenizer) split(p *pipe) {
	p.eachWord(func(w span) {
		start := int(w.start)
		for i := start; i < int(w.end); {
			r, n := utf8.DecodeRune(p.cur.b[i:w.end])
			switch {
			case unicode.IsSpace(r):
				p.add(start, i)
				start = i + n
			case isPunctuation(r):
				p.add(start, i)
				p.add(i, i+n)
				start = i + n
			}
			i += n
		}
		p.add(start, int(w.end))
	})
}
