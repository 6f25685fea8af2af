package tokenizer

import "unicode/utf8"

// bertScanner does BertNormalizer and BertPreTokenizer in one pass over the text. ASCII words are
// read in place. A stretch between ASCII blanks and punctuation that holds anything else goes
// through the two steps. That is exact, because ASCII blanks and punctuation neither combine nor
// change place.
type bertScanner struct {
	norm  *bertNormalizer
	class [256]uint8
	lower [utf8.RuneSelf]byte
}

const (
	bertWord  = iota // part of a word
	bertUpper        // the same, to be lower-cased
	bertSpace
	bertPunct
	bertOther // not ASCII, or removed
)

// chunk is how long a stretch may get before it is cut at an ideograph.
const chunk = 4096

// newBertScanner returns nil where the steps are not those of BERT.
func newBertScanner(steps []normalizer, cuts []preTokenizer) *bertScanner {
	if len(steps) != 1 || len(cuts) != 1 {
		return nil
	}
	n, ok := steps[0].(*bertNormalizer)
	if _, bert := cuts[0].(bertPreTokenizer); !ok || !bert {
		return nil
	}
	b := &bertScanner{norm: n}
	for c := range b.class {
		r := rune(c)
		switch {
		case c >= utf8.RuneSelf:
			b.class[c] = bertOther
		case c >= '\t' && c <= '\r' && n.small[c] != "", c == ' ': // clean removes \v and \f as controls
			b.class[c] = bertSpace
		case isPunctuation(r):
			b.class[c] = bertPunct
		case n.small[c] == "":
			b.class[c] = bertOther
		default:
			b.lower[c] = n.small[c][0]
			if b.lower[c] != byte(c) {
				b.class[c] = bertUpper
			}
		}
	}
	return b
}

// scan encodes bytes [i, end) of s.text.
func (b *bertScanner) scan(t *Tokenizer, s *scratch, i, end int, out *output) bool {
	text := s.text[:end]
	for i < end {
		start, seen := i, uint8(bertWord)
		for i < end && b.class[text[i]] <= bertUpper {
			seen |= b.class[text[i]]
			i++
		}
		if i < end && b.class[text[i]] == bertOther {
			i = b.stretch(text, start)
			if !b.slow(t, s, start, i, out) {
				return false
			}
			continue
		}
		if start < i {
			w := text[start:i]
			if seen != bertWord {
				s.word = s.word[:0]
				for _, c := range w {
					s.word = append(s.word, b.lower[c])
				}
				w = s.word
			}
			if !t.asciiWord(s, w, start, out) {
				return false
			}
		}
		if i < end {
			if b.class[text[i]] == bertPunct && !t.asciiWord(s, text[i:i+1], i, out) {
				return false
			}
			i++
		}
	}
	return true
}

// asciiWord encodes the word w, which is at byte start of the text and has the same length there.
func (t *Tokenizer) asciiWord(s *scratch, w []byte, start int, out *output) bool {
	for _, p := range t.pieces(s, w) {
		if !out.add(p.id, Span{start + int(p.start), start + int(p.end)}) {
			return false
		}
	}
	return true
}

// stretch returns the end of the stretch at start: the next ASCII blank or punctuation character,
// or in a long stretch the next ideograph, which is a word of its own.
func (b *bertScanner) stretch(text []byte, start int) int {
	for i := start; i < len(text); {
		if c := b.class[text[i]]; c == bertSpace || c == bertPunct {
			return i
		}
		if i-start < chunk {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if b.norm.chinese && r >= 0x4E00 && r <= 0x9FFF {
			return i
		}
		i += n
	}
	return len(text)
}

// slow encodes bytes [i, j) of the text with the two steps.
func (b *bertScanner) slow(t *Tokenizer, s *scratch, i, j int, out *output) bool {
	cur, next := &s.a, &s.b
	cur.set(s.text[i:j])
	b.norm.normalize(next, cur)
	return t.words(s, next, cur, span{0, int32(len(next.b))}, i, out)
}
