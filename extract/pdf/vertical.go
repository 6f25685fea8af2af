package pdf

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"
)

// Type of a page object, mode of rendering text.
const objectText, renderFillStroke = 1, 2

// widen returns objects that may be vertical text, in the order of the file, if a page has text
// without a width. Vertical text has none if its font is not embedded, and PDFium ignores it then.
// So it is given a stroke.
func (i *instance) widen(ctx context.Context, page uint64) (all []uint64) {
	n := min(int(int32(i.call(ctx, "FPDFPage_CountObjects", page))), maxChars)
	found := false
	one := math.Float64bits(1)
	for k := 0; k < n && i.err == nil && (k%1024 > 0 || ctx.Err() == nil); k++ {
		o := i.quick("FPDFPage_GetObject", page, uint64(k))
		x0, y0, x1, y1 := i.bounds(o)
		if thin := x1-x0 < 0.01; !thin && (y1-y0 < 4*(x1-x0) || x1-x0 > 8) || i.quick("FPDFPageObj_GetType", o) != objectText {
			continue
		} else if thin {
			found = true
			i.quick("FPDFTextObj_SetTextRenderMode", o, renderFillStroke)
			i.quick("FPDFPageObj_SetStrokeWidth", o, uint64(math.Float32bits(1)))
			i.quick("FPDFPageObj_Transform", o, one, 0, 0, one, 0, 0) // computes its bounds
		}
		all = append(all, o)
	}
	if !found {
		return nil
	}
	return all
}

// bounds returns the box of a page object.
func (i *instance) bounds(o uint64) (x0, y0, x1, y1 float64) {
	at := uint64(i.scratch)
	i.quick("FPDFPageObj_GetBounds", o, at, at+4, at+8, at+12)
	return i.float32(0), i.float32(1), i.float32(2), i.float32(3)
}

const (
	minPitch  = 20 // points from a character to the next one below it, if it is unknown
	maxColumn = 40 // points from a line to the next one on its left
)

// vertical returns the text of the objects that are vertical text, and the indexes of its
// characters. Objects that continue a line are joined; lines beside each other are a paragraph.
func (i *instance) vertical(objects []uint64, runes []rune, text uint64) (_ string, skip map[int]bool) {
	if len(objects) == 0 {
		return "", nil
	}
	texts, indexes := map[uint64]string{}, map[uint64][]int{}
	for k, r := range runes {
		o := i.quick("FPDFText_GetTextObject", text, uint64(k))
		texts[o] += string(r)
		indexes[o] = append(indexes[o], k)
	}
	skip = map[int]bool{}
	var b strings.Builder
	var left, top, bottom float64 // of the line
	for _, o := range objects {
		s := strings.TrimSpace(texts[o])
		if !strings.ContainsFunc(s, ideographic) {
			continue // turned, or a narrow letter
		}
		for _, k := range indexes[o] {
			skip[k] = true
		}
		x0, y0, _, y1 := i.bounds(o)
		pitch := max(minPitch, (y1-y0)/float64(utf8.RuneCountInString(s)+1))
		switch same := math.Abs(x0-left) < minPitch/4; {
		case b.Len() == 0:
			top = y1
		case same && y1 < bottom+1 && y1 > bottom-pitch:
		case x0 < left && x0 > left-maxColumn && math.Abs(y1-top) < maxColumn:
			b.WriteByte('\n')
			top = y1
		default:
			b.WriteString("\n\n")
			top = y1
		}
		b.WriteString(s)
		left, bottom = x0, y0
	}
	return b.String(), skip
}
