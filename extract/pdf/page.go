package pdf

import (
	"bytes"
	"context"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// char is a character of a page. Positions are in points; x grows to the right, y upwards.
type char struct {
	r      rune
	x0, x1 float64 // from where it is drawn to where the next one is
	y      float64 // of the line on which it stands
	size   float64 // of its font
	height float64 // of the box of all glyphs of its font
	turn   int     // quarter turns counter-clockwise by which it is drawn
	text   string  // instead of r, where its glyph stands for several
	apart  bool    // PDFium sees a space before it that is not drawn
	raised bool    // a raised digit of a font of its own size
}

// field is a text with its own position, such as the value of a form field.
type field struct {
	text           string
	x0, y0, x1, y1 float64
}

const (
	// Limits on the characters and the annotations of a page.
	maxChars, maxNotes = 1 << 20, 2000
	// unknownChar marks a glyph whose character is unknown.
	unknownChar = '\uFDD0'
)

// chars returns the characters of a page in PDFium's order, with the spaces and line ends that
// PDFium adds. doubtful reports that most are codes of fonts without a mapping.
//
// Calls are expensive: there is one for each character, and more only where the font changes.
func (i *instance) chars(ctx context.Context, page uint64) (chars []char, columns string, doubtful bool) {
	objects := i.widen(ctx, page)
	text := i.call(ctx, "FPDFText_LoadPage", page)
	if text == 0 {
		return nil, "", false
	}
	defer i.quick("FPDFText_ClosePage", text)
	runes := i.runes(ctx, text)
	vertical, skip := i.vertical(objects, runes, text)
	chars = make([]char, 0, len(runes))
	var last char                 // that is no space
	var bottom float64            // of its box
	var codes, total, letters int // characters that are codes, all, those since the last space
	single := false               // one letter was between the last two spaces
	space := -1                   // index of a space behind last
	spread := math.NaN()          // the gap before last, where no space is
	known := map[look]string{}
	for k, r := range runes {
		at := uint64(k)
		if k%1024 == 0 && ctx.Err() != nil {
			return nil, "", false
		}
		switch {
		case r == 0, skip[k]:
			continue
		case r == ' ', r == '\r' && k+1 < len(runes) && runes[k+1] == '\n', r == '\n' && k > 0 && runes[k-1] == '\r':
			chars = append(chars, char{r: r})
			if r == ' ' {
				space = k
			}
			single = letters == 1
			letters = 0
			continue
		}
		i.quick("FPDFText_GetLooseCharBox", text, at, uint64(i.scratch))
		x0, y1, x1, y0 := i.float32(0), i.float32(1), i.float32(2), i.float32(3)
		c := char{r: r, x0: x0, x1: x1, y: last.y + y0 - bottom, size: last.size, height: y1 - y0}
		if c.height <= 0 || last.turn != 0 || math.Abs(c.height-last.height) > 1e-3*c.height {
			i.font(&c, text, at, x0, y0, x1, y1)
		}
		bottom = y0
		gap := c.x0 - last.x1
		even := math.Abs(gap-spread) < evenGap*c.size // with the letters of a spread-out word before
		if close := gap < minSpace*c.size; k > 0 && space == k-1 && (close || single || even) && c.turn == last.turn && math.Abs(c.y-last.y) < c.size/2 && !rightToLeft(r) {
			sameFont := math.Abs(c.height-last.height) <= 1e-3*c.height
			if c.apart = i.quick("FPDFText_IsGenerated", text, uint64(space)) == 1; c.apart && (close || even) && sameFont {
				chars = chars[:len(chars)-1] // the letters are as close as those of a word
			}
		}
		spread = math.NaN()
		if space < k-1 && gap > 0 {
			spread = gap
		}
		if r != softHyphen {
			l := look{r, c.height}
			s, ok := known[l]
			if !ok {
				s = i.meaning(r, text, at)
				known[l] = s
			}
			switch s {
			case "":
			case code:
				codes++
			default:
				c.r, c.text = firstRune(s), s
			}
		}
		letters++
		total++
		last = c
		if c.isDigit() && len(chars) > 0 && !chars[len(chars)-1].isPlainDigit() && i.isRaised(c, text, at) {
			c.size, c.y, c.raised = raisedSize*c.size, c.y+raisedBy*c.size, true
		}
		chars = append(chars, c)
	}
	if i.err != nil {
		return nil, "", false
	}
	return chars, vertical, 20*codes > total
}

// A glyph of the same font that is a raised digit counts as one of this size, raised by so much, in
// font sizes.
const raisedSize, raisedBy = 0.6, 0.35

func (c char) isDigit() bool { return '0' <= c.r && c.r <= '9' && len(c.text) <= 1 }

// isPlainDigit reports whether c is a digit that is not raised, or a space. A raised digit follows
// neither.
func (c char) isPlainDigit() bool { return c.isDigit() && !c.raised || unicode.IsSpace(c.r) }

// isRaised reports whether the glyph of a digit is above the baseline, as footnote marks are.
func (i *instance) isRaised(c char, text, at uint64) bool {
	const above = 0.2 // of the font size
	if c.turn != 0 || i.quick("FPDFText_GetCharBox", text, at, uint64(i.scratch), uint64(i.scratch+8), uint64(i.scratch+16), uint64(i.scratch+24)) == 0 {
		return false
	}
	bottom, top := i.float64(2), i.float64(3)
	return bottom-c.y > above*c.size && top > bottom
}

// look identifies a font on a page.
type look struct {
	r      rune
	height float64
}

// code is the meaning of a character that is only a code of its font.
const code = "\x00"

// meaning returns the text of the character at an index if PDFium's is wrong: it takes codes
// without a mapping for characters.
func (i *instance) meaning(r rune, text, at uint64) string {
	if i.quick("FPDFText_HasUnicodeMapError", text, at) != 1 {
		switch {
		case unicode.IsSpace(r): // of the end of a line, as macOS writes it
			return " "
		case r < ' ':
			return string(unknownChar)
		}
		return ""
	}
	n := uint32(i.quick("FPDFText_GetFontInfo", text, at, uint64(i.scratch), scratchSize, 0))
	b, _ := i.memory.Read(i.scratch, min(n, scratchSize))
	font := string(bytes.TrimRight(b, "\x00"))
	glyph, named := i.glyphs()[font][r]
	switch s := glyphText(glyph); {
	case s != "":
		return s
	case r < ' ', named && font != "": // the codes of a Type 3 font, which has no name, often are characters
		return string(unknownChar)
	}
	return code
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

const (
	// minSpace is the minimum width of a space, in font sizes.
	minSpace = 0.07
	// evenGap is the difference of gaps in a spread-out word, in font sizes.
	evenGap = 0.02
	// softHyphen is PDFium's mark of a hyphen within a word.
	softHyphen = 0x02
)

// font sets the fields of a character that depend on its font.
func (i *instance) font(c *char, text, at uint64, x0, y0, x1, y1 float64) {
	angle := float64(math.Float32frombits(uint32(i.quick("FPDFText_GetCharAngle", text, at))))
	c.turn = -int(math.Round(finite(angle)/(math.Pi/2))) & 3
	i.quick("FPDFText_GetCharOrigin", text, at, uint64(i.scratch), uint64(i.scratch+8))
	_, c.y = turned(i.float64(0), i.float64(1), c.turn)
	ax, ay := turned(x0, y0, c.turn)
	bx, by := turned(x1, y1, c.turn)
	c.x0, c.x1, c.size = min(ax, bx), max(ax, bx), math.Abs(by-ay)
	size := math.Float64frombits(i.quick("FPDFText_GetFontSize", text, at))
	i.quick("FPDFText_GetMatrix", text, at, uint64(i.scratch))
	if size = finite(size * math.Hypot(i.float32(2), i.float32(3))); size > 0.4*c.size {
		c.size = size
	}
}

func (i *instance) runes(ctx context.Context, text uint64) []rune {
	n := min(int(int32(i.quick("FPDFText_CountChars", text))), maxChars)
	if n <= 0 {
		return nil
	}
	size := 2 * (n + 1)
	buffer := i.malloc(size)
	if i.err != nil {
		return nil
	}
	defer i.quick("free", uint64(buffer))
	units := int(int32(i.call(ctx, "FPDFText_GetText", text, 0, uint64(n), uint64(buffer)))) - 1
	b, ok := i.memory.Read(buffer, uint32(size))
	runes := make([]rune, n)
	whole := ok && units == n // else some have no or two UTF-16 units, and the index says nothing
	for k := range runes {
		if whole {
			runes[k] = rune(b[2*k]) | rune(b[2*k+1])<<8
			if whole = !utf16.IsSurrogate(runes[k]); runes[k] == 0xfffe {
				runes[k] = softHyphen // as FPDFText_GetUnicode has it
			}
		}
	}
	if whole {
		return runes
	}
	for k := range runes {
		runes[k] = rune(uint32(i.quick("FPDFText_GetUnicode", text, uint64(k))))
		if k > 0 && utf16.IsSurrogate(runes[k]) {
			if r := utf16.DecodeRune(runes[k-1], runes[k]); r != unicode.ReplacementChar {
				runes[k-1], runes[k] = r, 0
			}
		}
	}
	return runes
}

// turned rotates a point clockwise by so many quarter turns.
func turned(x, y float64, quarters int) (float64, float64) {
	switch quarters {
	case 1:
		return y, -x
	case 2:
		return -x, -y
	case 3:
		return -y, x
	}
	return x, y
}

// Values of PDFium: annotation subtypes, form field types and flags.
const (
	annotLink, annotFreeText, annotStamp, annotPopup, annotWidget = 2, 3, 13, 16, 20
	fieldCheckBox, fieldRadio, fieldCombo, fieldList, fieldText   = 2, 3, 4, 5, 6
	hidden                                                        = 1<<1 | 1<<5 // flags of an annotation: hidden, no view
	password                                                      = 1 << 13     // flag of a text field
)

// form returns the form of doc, 0 if it has none.
func (i *instance) form(ctx context.Context, doc uint64) uint64 {
	if i.call(ctx, "FPDF_GetFormType", doc) == 0 {
		return 0
	}
	size := uint32(i.quick("FPDF_FORMFILLINFO_Size"))
	info := i.malloc(int(size))
	if i.err != nil {
		return 0
	}
	i.memory.Write(info, make([]byte, size)) // no functions are called back: nobody fills in anything
	i.memory.WriteUint32Le(info, 2)          // version
	return i.call(ctx, "FPDFDOC_InitFormFillEnvironment", doc, uint64(info))
}

// annotations returns texts with a position, notes without one, and whether an annotation shows
// something.
func (i *instance) annotations(ctx context.Context, page, form uint64) (fields []field, notes []string, shown bool) {
	n := min(int(int32(i.call(ctx, "FPDFPage_GetAnnotCount", page))), maxNotes)
	if n > 0 && form != 0 {
		i.call(ctx, "FORM_OnAfterLoadPage", page, form)
		defer func() { i.call(ctx, "FORM_OnBeforeClosePage", page, form) }()
	}
	for k := 0; k < n && i.err == nil; k++ {
		a := i.call(ctx, "FPDFPage_GetAnnot", page, uint64(k))
		if a == 0 {
			continue
		}
		if i.quick("FPDFAnnot_GetFlags", a)&hidden == 0 {
			var s string
			kind, placed := i.quick("FPDFAnnot_GetSubtype", a), true
			shown = shown || kind == annotWidget || kind == annotFreeText || kind == annotStamp
			switch kind {
			case annotWidget:
				s = i.value(ctx, form, a)
			case annotFreeText:
				s = i.annotString(ctx, a, "Contents")
			case annotLink, annotPopup: // a popup shows the text of another annotation
			default:
				s, placed = i.annotString(ctx, a, "Contents"), false
			}
			s = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n", string(unknownChar), "").Replace(s))
			switch {
			case s == "":
			case placed && i.quick("FPDFAnnot_GetRect", a, uint64(i.scratch)) != 0:
				fields = append(fields, field{s, i.float32(0), min(i.float32(1), i.float32(3)), i.float32(2), max(i.float32(1), i.float32(3))})
			default:
				notes = append(notes, s)
			}
		}
		i.quick("FPDFPage_CloseAnnot", a)
	}
	return fields, notes, shown
}

// value returns the value of a form field.
func (i *instance) value(ctx context.Context, form, a uint64) string {
	if form == 0 {
		return ""
	}
	switch i.call(ctx, "FPDFAnnot_GetFormFieldType", form, a) {
	case fieldCheckBox, fieldRadio:
		if i.call(ctx, "FPDFAnnot_IsChecked", form, a) == 0 {
			return ""
		}
		return i.text(ctx, "FPDFAnnot_GetFormFieldExportValue", form, a)
	case fieldCombo, fieldList:
		var chosen []string
		for k := range min(int(int32(i.call(ctx, "FPDFAnnot_GetOptionCount", form, a))), maxNotes) {
			if i.call(ctx, "FPDFAnnot_IsOptionSelected", form, a, uint64(k)) == 1 {
				chosen = append(chosen, i.text(ctx, "FPDFAnnot_GetOptionLabel", form, a, uint64(k)))
			}
		}
		if len(chosen) > 0 {
			return strings.Join(chosen, "\n")
		}
		return i.text(ctx, "FPDFAnnot_GetFormFieldValue", form, a)
	case fieldText:
		if i.call(ctx, "FPDFAnnot_GetFormFieldFlags", form, a)&password != 0 {
			return ""
		}
		return i.text(ctx, "FPDFAnnot_GetFormFieldValue", form, a)
	}
	return "" // a button or a signature
}

func (i *instance) annotString(ctx context.Context, a uint64, key string) string {
	return i.text(ctx, "FPDFAnnot_GetStringValue", a, i.name(key))
}

func (i *instance) meta(ctx context.Context, doc uint64, key string) string {
	return i.text(ctx, "FPDF_GetMetaText", doc, i.name(key))
}

// name returns the address of a string in the memory of the instance.
func (i *instance) name(s string) uint64 {
	if at, ok := i.names[s]; ok {
		return at
	}
	at := i.malloc(len(s) + 1)
	if i.err != nil || !i.memory.Write(at, append([]byte(s), 0)) {
		return 0
	}
	i.names[s] = uint64(at)
	return uint64(at)
}
