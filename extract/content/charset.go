package content

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	uni "unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// BOM is the byte order mark of UTF-8.
const BOM = "\xef\xbb\xbf"

// boms are in the order to try: the mark of UTF-32LE begins with that of UTF-16LE.
var boms = []struct {
	mark string
	enc  encoding.Encoding // nil for UTF-8
}{
	{BOM, nil},
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{"\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
}

// SkipBOM drops a byte order mark and decodes UTF-16 and UTF-32.
func SkipBOM(r *bufio.Reader) (_ *bufio.Reader, marked bool) {
	head, _ := r.Peek(4) // a read error comes again at the next read
	for _, b := range boms {
		if !bytes.HasPrefix(head, []byte(b.mark)) {
			continue
		}
		_, _ = r.Discard(len(b.mark)) // cannot fail: these bytes are in the buffer
		if b.enc == nil {
			return r, true
		}
		return bufio.NewReaderSize(transform.NewReader(r, b.enc.NewDecoder()), 64<<10), true
	}
	return r, false
}

// WholeRunes returns b without a character that is cut off at its end.
func WholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// LooksUTF16 returns the UTF-16 encoding of a stream, nil if it is in another. If patient is set,
// the first letters need not be ASCII.
func LooksUTF16(br *bufio.Reader, patient bool) encoding.Encoding {
	head, _ := br.Peek(4)
	if !patient && bytes.IndexByte(head, 0) < 0 { // one must not wait for more of records
		return nil
	}
	head, _ = br.Peek(1024)
	head = head[:len(head)&^1]
	var ascii [2]int // characters, by the place of the byte that is 0
	both := 0        // pairs of two bytes of ASCII, as text of bytes has them
	for i := 0; i < len(head); i += 2 {
		first, second := head[i], head[i+1]
		switch {
		case isPlain(first) && isPlain(second):
			both++
		case second == 0 && isPlain(first):
			ascii[1]++
		case first == 0 && isPlain(second):
			ascii[0]++
		}
	}
	best := encoding.Encoding(nil)
	least := max(1, len(head)/256)
	for zero, endian := range []unicode.Endianness{unicode.BigEndian, unicode.LittleEndian} {
		if enc := unicode.UTF16(endian, unicode.IgnoreBOM); ascii[zero] >= least && both*8 <= len(head)*3 && allReadable(head, enc) {
			best, least = enc, ascii[zero]+1
		}
	}
	return best
}

func allReadable(b []byte, enc encoding.Encoding) bool {
	s, err := Decode(b, enc)
	return err == nil && !strings.ContainsFunc(strings.TrimSuffix(s, "\uFFFD"), func(r rune) bool {
		return r == utf8.RuneError || !uni.IsGraphic(r) && !uni.IsSpace(r) && !uni.Is(uni.Cf, r)
	})
}

func isPlain(b byte) bool { return ' ' <= b && b < 0x7f || b == '\t' || b == '\n' || b == '\r' }

// ParseEncoding returns the encoding with a name of the WHATWG's list, which browsers use.
func ParseEncoding(name string) (encoding.Encoding, error) {
	enc, err := htmlindex.Get(name)
	if err != nil || enc == encoding.Replacement {
		return nil, fmt.Errorf("extract: unknown encoding %q; allowed are the names that browsers know, such as windows-1251, koi8-r, iso-8859-2, shift_jis, euc-jp, gbk, big5, euc-kr", name)
	}
	return enc, nil
}

// Decoder converts bytes to valid UTF-8, piece by piece.
//
// A piece that is not valid UTF-8 is decoded from the encoding that the first such piece seems to
// have, Windows-1252 by default. If the stream has shown valid multi-byte characters before, or has
// more of them than bad bytes, it is damaged UTF-8, and each run of bad bytes becomes one U+FFFD.
type Decoder struct {
	sawUTF8 bool              // a multi-byte character has been seen
	guess   Guess             // has been made, and said, before; its zero value: none has
	Strict  bool              // never guess: the format is UTF-8 by definition
	Enc     encoding.Encoding // instead of a guess; nil: none was named
	Escaped bool              // enc writes all it has with ASCII and escapes
}

// NewDecoder returns a decoder; a name that is not empty replaces the guess.
func NewDecoder(name string) Decoder {
	if name == "" {
		return Decoder{}
	}
	enc, err := ParseEncoding(name)
	if err != nil { // cannot happen behind withDefaults
		return Decoder{}
	}
	if enc == unicode.UTF8 {
		return Decoder{Strict: true}
	}
	canonical, _ := htmlindex.Name(enc)
	return Decoder{Enc: enc, Escaped: canonical == "iso-2022-jp"}
}

// Text returns b as a string, with a warning if it had to change.
func (d *Decoder) Text(b []byte) (s, warning string) {
	bad, multi := ScanUTF8(b)
	legacy := (bad > multi || d.Escaped && bytes.IndexByte(b, 0x1b) >= 0) && !d.sawUTF8 && !d.Strict
	d.sawUTF8 = d.sawUTF8 || multi > 0 && !legacy
	switch {
	case legacy && d.Enc != nil:
		if out, err := Decode(b, d.Enc); err == nil {
			return out, ""
		}
	case bad == 0:
		return string(b), ""
	case legacy:
		if d.guess.Enc == nil {
			d.guess = GuessCharset(b)
			warning = d.guess.String()
		}
		if out, err := Decode(b, d.guess.Enc); err == nil {
			return out, warning
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), fmt.Sprintf("invalid UTF-8: %s replaced by U+FFFD", Plural(bad, "byte"))
}

// ScanUTF8 counts the invalid bytes of b and its multi-byte characters.
func ScanUTF8(b []byte) (bad, multi int) {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			multi++
		}
		i += n
	}
	return bad, multi
}

// evidence is what the characters of UTF-8 in a text have to weigh before they can't be those of
// East Asian encodings by chance: one of two bytes weighs 1, of three 2, of four 3.
const evidence = 6

// IsUTF8 reports whether b is in UTF-8 although it is said to be in another encoding. Up to a
// quarter of the characters may be damaged where a single byte is a character in the other one.
func IsUTF8(b []byte, declared string) bool {
	bad, multi := ScanUTF8(b)
	if IsCharmap(declared) {
		return multi > 0 && bad*4 <= multi
	}
	weight := 0
	for _, r := range string(b) {
		if r >= utf8.RuneSelf && r != utf8.RuneError {
			weight += utf8.RuneLen(r) - 1
		}
	}
	return weight >= evidence && bad*10 <= multi
}

// Decode returns the whole of b, decoded from enc.
func Decode(b []byte, enc encoding.Encoding) (string, error) {
	out, err := io.ReadAll(transform.NewReader(bytes.NewReader(b), enc.NewDecoder()))
	return string(out), err
}
