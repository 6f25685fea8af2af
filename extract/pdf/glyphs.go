package pdf

import (
	"bytes"
	"compress/zlib"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// glyphNames returns the names of the glyphs of each font by code, from /Differences: PDFium takes
// unknown codes for characters. Fonts have their base name as key, or "". Ambiguous codes have the
// name "". Encrypted objects are not found.
func glyphNames(b []byte) map[string]map[rune]string {
	fonts := map[string]map[rune]string{}
	objects := objectsOf(b)
	for _, o := range objects {
		encoding := encodingEntry.FindSubmatchIndex(o)
		if encoding == nil {
			continue
		}
		d := o[encoding[1]:] // << ... >>
		if encoding[2] >= 0 {
			n, _ := strconv.Atoi(string(o[encoding[2]:encoding[3]]))
			d = objects[n]
		}
		differences := differencesEntry.FindSubmatch(d)
		if differences == nil {
			continue
		}
		name := ""
		if m := baseFont.FindSubmatch(o); m != nil {
			name = nameOf(m[1])
		}
		names := fonts[name]
		if names == nil {
			names = map[rune]string{}
			fonts[name] = names
		}
		code := rune(0)
		for _, t := range token.FindAll(differences[1], maxDifferences) {
			if t[0] != '/' {
				n, _ := strconv.Atoi(string(t))
				code = rune(n)
				continue
			}
			glyph := nameOf(t[1:])
			if before, ok := names[code]; ok && before != glyph {
				glyph = ""
			}
			names[code] = glyph
			code++
		}
	}
	return fonts
}

var (
	encodingEntry    = regexp.MustCompile(`/Encoding\s*(?:(\d+)\s+\d+\s+R|<<)`)
	differencesEntry = regexp.MustCompile(`/Differences\s*\[([^\]]*)\]`)
	baseFont         = regexp.MustCompile(`/BaseFont\s*/([^\s/<>\[\]()]*)`)
	token            = regexp.MustCompile(`/[^\s/<>\[\]()]*|\d+`)
	escape           = regexp.MustCompile(`#[0-9A-Fa-f]{2}`)
	objectStream     = regexp.MustCompile(`/Type\s*/ObjStm`)
	streamFirst      = regexp.MustCompile(`/First\s+(\d{1,9})`)
)

const (
	// Limits on the names of a font, and on the objects that are searched.
	maxDifferences, maxObjects = 1000, 1 << 20
	// maxUnpacked limits the decompressed size of all object streams.
	maxUnpacked = 64 << 20
)

func nameOf(b []byte) string {
	return escape.ReplaceAllStringFunc(string(b), func(s string) string {
		n, _ := strconv.ParseUint(s[1:], 16, 8)
		return string([]byte{byte(n)})
	})
}

// objectHead is the beginning of an object: "12 0 obj" in bytes [start, end).
type objectHead struct{ start, end, number int }

func objectHeads(b []byte) (heads []objectHead) {
	const word = "obj"
	white := func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for at := 0; len(heads) < maxObjects; at += len(word) {
		n := bytes.Index(b[at:], []byte(word))
		if n < 0 {
			break
		}
		at += n
		before := func(end int, is func(byte) bool) int { // the start of the bytes before end that are so
			for end > 0 && is(b[end-1]) {
				end--
			}
			return end
		}
		generationEnd := before(at, white)
		generation := before(generationEnd, digit)
		numberEnd := before(generation, white)
		start := before(numberEnd, digit)
		if generationEnd == at || generation == generationEnd || numberEnd == generation || start == numberEnd {
			continue
		}
		start = max(start, numberEnd-9)
		number, _ := strconv.Atoi(string(b[start:numberEnd]))
		heads = append(heads, objectHead{start, at + len(word), number})
	}
	return heads
}

// objectsOf finds the objects of a file without its table, and those in object streams.
func objectsOf(b []byte) map[int][]byte {
	objects := map[int][]byte{}
	left := int64(maxUnpacked)
	heads := objectHeads(b)
	for k, h := range heads {
		end := len(b)
		if k+1 < len(heads) {
			end = heads[k+1].start
		}
		body := b[h.end:end]
		if at := bytes.Index(body, []byte("endobj")); at >= 0 {
			body = body[:at]
		}
		n := h.number
		dict, data, ok := bytes.Cut(body, []byte("stream"))
		objects[n] = dict
		if !ok || !objectStream.Match(dict) {
			continue
		}
		first := streamFirst.FindSubmatch(dict)
		r, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n")))
		if err != nil || first == nil {
			continue
		}
		unpacked, _ := io.ReadAll(io.LimitReader(r, left)) // what can be read of a damaged one
		left -= int64(len(unpacked))
		begin, _ := strconv.Atoi(string(first[1]))
		if begin > len(unpacked) {
			continue
		}
		numbers := strings.Fields(string(unpacked[:begin]))
		for j := 0; j+1 < len(numbers); j += 2 {
			n, err1 := strconv.Atoi(numbers[j])
			from, err2 := strconv.Atoi(numbers[j+1])
			to := len(unpacked) - begin
			if j+3 < len(numbers) {
				to, _ = strconv.Atoi(numbers[j+3])
			}
			if err1 == nil && err2 == nil && from >= 0 && from <= to && to <= len(unpacked)-begin {
				objects[n] = unpacked[begin+from : begin+to]
			}
		}
	}
	return objects
}

// glyphText returns the text of a glyph name by the rules of the Adobe Glyph List: the part behind
// a period is ignored, underscores separate components, uniXXXX and uXXXXXX are code points.
func glyphText(name string) string {
	name, _, _ = strings.Cut(name, ".")
	var b strings.Builder
	for _, part := range strings.Split(name, "_") {
		s := componentText(part)
		if s == "" {
			return ""
		}
		b.WriteString(s)
	}
	return b.String()
}

func componentText(name string) string {
	if utf8.RuneCountInString(name) == 1 && name[0] < utf8.RuneSelf {
		return name
	}
	if s := glyphs[name]; s != "" {
		return s
	}
	if hex, ok := strings.CutPrefix(name, "uni"); ok && len(hex) >= 4 && len(hex)%4 == 0 {
		var b strings.Builder
		for ; hex != ""; hex = hex[4:] {
			n, err := strconv.ParseUint(hex[:4], 16, 16)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return ""
			}
			b.WriteRune(rune(n))
		}
		return b.String()
	}
	if hex, ok := strings.CutPrefix(name, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil && utf8.ValidRune(rune(n)) {
			return string(rune(n))
		}
	}
	return ""
}

// glyphs are names that differ from their characters, as far as fonts unknown to PDFium use them.
var glyphs = func() map[string]string {
	m := map[string]string{"longs": "ſ", "germandbls": "ß", "ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl", "endash": "–", "emdash": "—", "minus": "-",
		"quoteleft": "‘", "quoteright": "’", "quotedblleft": "“", "quotedblright": "”", "bullet": "•"}
	for n, name := range strings.Fields("exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma hyphen period slash " +
		"zero one two three four five six seven eight nine colon semicolon less equal greater question at") {
		m[name] = string(rune('!' + n))
	}
	for n, name := range strings.Fields("bracketleft backslash bracketright asciicircum underscore grave") {
		m[name] = string(rune('[' + n))
	}
	return m
}()
