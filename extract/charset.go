package extract

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

const bomUTF8 = "\xef\xbb\xbf"

// boms in the order in which they must be tried: that of UTF-32LE begins with that of UTF-16LE.
var boms = []struct {
	mark string
	enc  encoding.Encoding // nil for UTF-8
}{
	{bomUTF8, nil},
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{"\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
}

// skipBOM drops a byte order mark, if there is one, and decodes UTF-16 and UTF-32 on the way.
func skipBOM(r *bufio.Reader) (_ *bufio.Reader, marked bool) {
	head, _ := r.Peek(4) // a read error comes again at the next read
	for _, b := range boms {
		if !bytes.HasPrefix(head, []byte(b.mark)) {
			continue
		}
		_, _ = r.Discard(len(b.mark)) // cannot fail: these bytes are in the buffer
		if b.enc == nil {
			return r, true
		}
		return bufio.NewReaderSize(transform.NewReader(r, b.enc.NewDecoder()), bufferSize), true
	}
	return r, false
}

// decoder turns bytes that should be UTF-8 into a valid string, piece by piece.
//
// A piece that is not valid UTF-8 is taken for Windows-1252 (a superset of the printable Latin-1) as long as the stream has shown no
// non-ASCII character in valid UTF-8 before, and as long as it holds fewer of these than of bad bytes: a letter and a sign behind it, as in Spa\xdf\x93,
// are one in UTF-8 by chance. Otherwise it is damaged UTF-8 and each run of bad bytes becomes one U+FFFD.
type decoder struct {
	sawUTF8 bool // a multi-byte character has been seen
	legacy  bool // Windows-1252 has been assumed, and said so, before
	strict  bool // never assume Windows-1252: the format is UTF-8 by definition
}

// text returns b as a string and, if it is not exactly b, a warning.
func (d *decoder) text(b []byte) (s, warning string) {
	bad, multi := scanUTF8(b)
	legacy := bad > multi && !d.sawUTF8 && !d.strict
	d.sawUTF8 = d.sawUTF8 || multi > 0 && !legacy
	switch {
	case bad == 0:
		return string(b), ""
	case legacy:
		out, err := charmap.Windows1252.NewDecoder().Bytes(b)
		if err != nil { // cannot happen for a single-byte encoding
			break
		}
		if !d.legacy {
			d.legacy = true
			warning = "not UTF-8; read as Windows-1252 (Latin-1)"
		}
		return string(out), warning
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), fmt.Sprintf("invalid UTF-8: %s replaced by U+FFFD", plural(bad, "byte"))
}

// scanUTF8 counts the bytes of b that are not UTF-8, and the characters of several bytes that are.
func scanUTF8(b []byte) (bad, multi int) {
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

// decodeAll returns the whole of b, decoded from enc.
func decodeAll(b []byte, enc encoding.Encoding) (string, error) {
	out, err := io.ReadAll(transform.NewReader(bytes.NewReader(b), enc.NewDecoder()))
	return string(out), err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
