package pdf

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"

	parser "github.com/ledongthuc/pdf"
)

// font decodes and measures strings.
type font struct {
	encoding parser.TextEncoding
	wide     bool // two bytes a character
	widths   map[int]float64
	missing  float64 // width of a character that widths does not have; widths are in thousandths of the size
}

// maxWidths is the number of characters that a font may measure.
const maxWidths = 1 << 16

// newFont never returns nil: a broken font is one that cannot measure.
func newFont(v parser.Value) (f *font) {
	f = &font{missing: 500, widths: map[int]float64{}}
	defer func() {
		if recover() != nil && f.encoding == nil {
			f.encoding = plain{}
		}
	}()
	pf := &parser.Font{V: v}
	f.encoding = pf.Encoder()
	if v.Key("Encoding").IsNull() && v.Key("ToUnicode").IsNull() {
		if names := builtinNames(v.Key("FontDescriptor").Key("FontFile")); len(names) > 0 {
			f.encoding = builtin{f.encoding, names}
		}
	}
	if v.Key("Subtype").Name() == "Type0" {
		f.wide = true
		f.composite(v.Key("DescendantFonts").Index(0))
		return f
	}
	first, w := int(v.Key("FirstChar").Int64()), v.Key("Widths")
	for i := range min(w.Len(), maxWidths) {
		f.widths[first+i] = w.Index(i).Float64()
	}
	return f
}

// composite takes the widths of a descendant font: c [w1 w2 ...] and c1 c2 w.
func (f *font) composite(v parser.Value) {
	f.missing = 1000
	if dw := v.Key("DW"); !dw.IsNull() {
		f.missing = dw.Float64()
	}
	w := v.Key("W")
	for i := 0; i+1 < w.Len() && len(f.widths) < maxWidths; {
		c := int(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == parser.Array {
			for j := range min(list.Len(), maxWidths) {
				f.widths[c+j] = list.Index(j).Float64()
			}
			i += 2
			continue
		}
		if more := int(w.Index(i+1).Int64()) - c; more < maxWidths { // negative where it overflows
			for j := range more + 1 {
				f.widths[c+j] = w.Index(i + 2).Float64()
			}
		}
		i += 3
	}
}

// builtin is the encoding that a font program brings along; codes that names does not have are those of under.
type builtin struct {
	under parser.TextEncoding
	names map[byte]string
}

func (e builtin) Decode(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		if s, ok := e.names[raw[i]]; ok {
			b.WriteString(s)
		} else {
			b.WriteString(e.under.Decode(raw[i : i+1]))
		}
	}
	return b.String()
}

// glyphs are those that TeX's fonts have where other encodings have something else.
var glyphs = map[string]string{
	"ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl", "quotedblleft": "\u201c", "quotedblright": "\u201d", "quoteleft": "\u2018",
	"quoteright": "\u2019", "endash": "\u2013", "emdash": "\u2014", "dotlessi": "\u0131", "germandbls": "\u00df", "ae": "\u00e6", "oe": "\u0153",
	"oslash": "\u00f8", "AE": "\u00c6", "OE": "\u0152", "Oslash": "\u00d8",
}

var encodingLine = regexp.MustCompile(`\bdup\s+(\d+)\s*/([A-Za-z]+)\s+put\b`)

// maxHeader is far more than the part of a Type 1 font that is not encrypted, where its encoding stands.
const maxHeader = 64 << 10

// builtinNames reads the encoding of a Type 1 font program, as far as glyphs has it.
func builtinNames(file parser.Value) (names map[byte]string) {
	if file.Kind() != parser.Stream {
		return nil
	}
	defer func() {
		if recover() != nil {
			names = nil
		}
	}()
	r := file.Reader()
	defer r.Close()
	head, _ := io.ReadAll(io.LimitReader(r, maxHeader)) // what can be read of a damaged one
	head, _, _ = bytes.Cut(head, []byte("eexec"))
	names = map[byte]string{}
	for _, m := range encodingLine.FindAllSubmatch(head, 256) {
		code, err := strconv.ParseUint(string(m[1]), 10, 8)
		if s, ok := glyphs[string(m[2])]; ok && err == nil {
			names[byte(code)] = s
		}
	}
	return names
}

// plain takes bytes for Latin-1.
type plain struct{}

func (plain) Decode(raw string) string {
	out := make([]rune, len(raw))
	for i := range len(raw) {
		out[i] = rune(raw[i])
	}
	return string(out)
}

func (f *font) decode(raw string) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	return f.encoding.Decode(raw)
}

// step is the number of bytes of a character.
func (f *font) step() int {
	if f.wide {
		return 2
	}
	return 1
}

// width returns how far a string goes, as a part of the size of the font, and how many characters and spaces are in it.
func (f *font) width(raw string) (width float64, chars, spaces int) {
	step := f.step()
	for i := 0; i+step <= len(raw); i += step {
		code := int(raw[i])
		if f.wide {
			code = code<<8 | int(raw[i+1])
		} else if code == ' ' {
			spaces++
		}
		w, ok := f.widths[code]
		if !ok {
			w = f.missing
		}
		width += w / 1000
		chars++
	}
	return width, chars, spaces
}
