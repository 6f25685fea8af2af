package office

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf16"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/markup"
	"example.com/searchd/extract/web"
)

// Records of BIFF, the format of Excel before 2007 ([MS-XLS]).
const (
	biffBOF = 0x809
	biffEOF = 0x0a
)

var errBIFF = errors.New("damaged workbook")

// XLS reads a workbook of Excel before 2007 (BIFF2 to BIFF8), as XLSX does. HTML, text and newer
// workbooks under that name are read as what they are.
func XLS(x *content.File, b []byte) (content.Content, error) {
	w := xlsReader{x: x, b: b, page: 1252, cellFormats: cellFormats{codes: map[int]string{}}, start: time.Now()}
	w.sheetWriter.out = &w.text
	switch head := bytes.TrimLeft(b[:min(len(b), 512)], " \t\r\n\xef\xbb\xbf"); {
	case bytes.HasPrefix(b, []byte("PK")):
		return XLSX(x, b)
	case IsFlat(b):
		return Flat(x, b)
	case bytes.HasPrefix(head, []byte("<")):
		return web.Page(x, b)
	case len(b) > 4 && b[0] == 9 && (b[1] == 2 || b[1] == 4): // of before Excel 5: one sheet and nothing around it
		w.old = true
		w.begin("")
		err := w.sheet(0)
		w.end()
		return w.content("", err)
	case !bytes.HasPrefix(b, []byte(oleMagic)):
		if content.IsText(b[:min(len(b), 64<<10)]) {
			return markup.Text(x, b)
		}
	}
	f, err := OpenOLE(b)
	if err != nil {
		return content.Content{}, x.Reject("not a workbook: %v", err)
	}
	if w.b = f.Stream("Workbook"); w.b == nil {
		w.b = f.Stream("Book")
	}
	if w.b == nil {
		return content.Content{}, x.Reject("not a workbook: it has no cells")
	}
	err = w.globals()
	if errors.Is(err, errEncrypted) {
		return content.Content{}, x.Reject("an encrypted workbook; save it without a password")
	}
	for _, s := range w.sheets {
		if err != nil {
			break
		}
		w.begin(s.name)
		err = w.sheet(s.at)
		w.end()
	}
	return w.content(f.title(), err)
}

// content returns what was read before err.
func (w *xlsReader) content(title string, err error) (content.Content, error) {
	c := content.Content{Title: title}
	if w.filled { // by more than names of sheets
		c.Text, c.Blocks = w.text.String(), w.text.Blocks()
	}
	if err != nil {
		err = w.x.Truncated(err, c.Text)
	}
	return c, err
}

var errEncrypted = errors.New("encrypted")

type xlsReader struct {
	x     *content.File
	b     []byte
	pos   int
	start time.Time
	old   bool // BIFF5: strings are of a code page
	page  int
	cellFormats
	sheetWriter
	text    content.Builder
	formats []*cellFormat // of the formats of cells
	shared  []string
	sheets  []xlsSheet
	epoch   float64
	at      int    // the row of the last cell; -1: none yet
	formula *int   // the format of a formula whose text comes next
	after   string // texts of boxes and comments of the sheet, one a line
}

type xlsSheet struct {
	name string
	at   int
}

func (w *xlsReader) next() (kind int, data []byte, ok bool) {
	if w.pos+4 > len(w.b) {
		return 0, nil, false
	}
	kind = int(binary.LittleEndian.Uint16(w.b[w.pos:]))
	size := int(binary.LittleEndian.Uint16(w.b[w.pos+2:]))
	from := w.pos + 4
	if from+size > len(w.b) {
		return 0, nil, false
	}
	w.pos = from + size
	return kind, w.b[from:w.pos], true
}

// goesOn returns the data of a record and its continuations.
func (w *xlsReader) goesOn(data []byte) [][]byte {
	parts := [][]byte{data}
	for w.pos+4 <= len(w.b) && binary.LittleEndian.Uint16(w.b[w.pos:]) == 0x3c {
		_, more, ok := w.next()
		if !ok {
			break
		}
		parts = append(parts, more)
	}
	return parts
}

// globals reads the records that all sheets share.
func (w *xlsReader) globals() error {
	kind, data, ok := w.next()
	if !ok || kind != biffBOF || len(data) < 4 {
		return errBIFF
	}
	w.old = binary.LittleEndian.Uint16(data) < 0x600
	xfs, n := []int{}, 0
	for {
		kind, data, ok := w.next()
		if n++; n%1024 == 0 {
			if err := w.x.Check(w.start); err != nil {
				return err
			}
		}
		switch {
		case !ok, kind == biffEOF:
			for _, id := range xfs {
				w.formats = append(w.formats, w.format(id))
			}
			if len(w.sheets) == 0 {
				return errBIFF
			}
			return nil
		case kind == 0x2f: // FILEPASS
			return errEncrypted
		case kind == 0x22 && len(data) >= 2 && data[0] == 1: // DATEMODE
			w.epoch = 1462
		case kind == 0x42 && len(data) >= 2: // CODEPAGE
			w.page = int(binary.LittleEndian.Uint16(data))
		case kind == 0x41e && len(data) > 3 && len(w.codes) < maxMembers: // FORMAT
			width := 2
			if w.old {
				width = 1
			}
			w.codes[int(binary.LittleEndian.Uint16(data))] = w.string(data[2:], width)
		case kind == 0xe0 && len(data) >= 4 && len(xfs) < 1<<16: // XF
			xfs = append(xfs, int(binary.LittleEndian.Uint16(data[2:])))
		case kind == 0x85 && len(data) > 7 && len(w.sheets) < maxMembers: // BOUNDSHEET
			if data[5] == 0 { // of cells
				w.sheets = append(w.sheets, xlsSheet{w.string(data[6:], 1), int(binary.LittleEndian.Uint32(data))})
			}
		case kind == 0xfc: // SST
			if err := w.share(w.goesOn(data)); err != nil {
				return err
			}
		}
	}
}

// string returns the string at the beginning of data; width is the size of its length.
func (w *xlsReader) string(data []byte, width int) string {
	if len(data) < width {
		return ""
	}
	n := int(data[0])
	if width == 2 {
		n = int(binary.LittleEndian.Uint16(data))
	}
	data = data[width:]
	if w.old {
		return content.CodePage(data[:min(n, len(data))], w.page)
	}
	s, _ := (&xlsStrings{parts: [][]byte{data}}).read(n)
	return s
}

func (w *xlsReader) share(parts [][]byte) error {
	r := &xlsStrings{parts: parts}
	r.skip(8)
	for {
		n, ok := r.number(2)
		if !ok {
			return nil
		}
		if len(w.shared) == maxShared {
			return errShared
		}
		s, ok := r.read(n)
		if w.shared = append(w.shared, s); !ok {
			return nil
		}
	}
}

// xlsStrings reads Unicode strings that continue across records.
type xlsStrings struct{ parts [][]byte }

func (r *xlsStrings) skip(n int) {
	for n > 0 && len(r.parts) > 0 {
		k := min(n, len(r.parts[0]))
		r.parts[0] = r.parts[0][k:]
		if n -= k; len(r.parts[0]) == 0 {
			r.parts = r.parts[1:]
		}
	}
}

func (r *xlsStrings) number(n int) (v int, ok bool) {
	for i := range n {
		for len(r.parts) > 0 && len(r.parts[0]) == 0 {
			r.parts = r.parts[1:]
		}
		if len(r.parts) == 0 {
			return 0, false
		}
		v |= int(r.parts[0][0]) << (8 * i)
		r.parts[0] = r.parts[0][1:]
	}
	return v, true
}

// read reads the flags and n characters. A continuation within them begins with flags again.
func (r *xlsStrings) read(n int) (string, bool) {
	flags, ok := r.number(1)
	if !ok {
		return "", false
	}
	runs, more := 0, 0
	if flags&8 != 0 {
		runs, _ = r.number(2)
	}
	if flags&4 != 0 {
		more, _ = r.number(4)
	}
	var units []uint16
	for n > 0 {
		if len(r.parts) == 0 {
			return string(utf16.Decode(units)), false
		}
		p, width := r.parts[0], 1+flags&1
		k := min(n, len(p)/width)
		for i := range k {
			if width == 1 {
				units = append(units, uint16(p[i]))
			} else {
				units = append(units, binary.LittleEndian.Uint16(p[2*i:]))
			}
		}
		r.parts[0] = p[k*width:]
		if n -= k; n > 0 { // the rest is in the next record
			r.parts = r.parts[1:]
			if flags, ok = r.number(1); !ok {
				return string(utf16.Decode(units)), false
			}
		}
	}
	r.skip(4*runs + min(more, 1<<30))
	return string(utf16.Decode(units)), true
}

func (w *xlsReader) sheet(at int) error {
	w.pos, w.at, w.formula, w.after = at, -1, nil, ""
	if at < 0 || at >= len(w.b) {
		return errBIFF
	}
	depth := 0 // of the charts in it
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := w.x.Check(w.start); err != nil {
				return err
			}
		}
		kind, data, ok := w.next()
		if !ok {
			return errBIFF
		}
		switch {
		case kind == biffBOF, kind == 0x209, kind == 0x409:
			depth++
		case kind == biffEOF:
			if depth--; depth > 0 {
				continue
			}
			w.endCells()
			w.out.Verbatim(w.after)
			return w.x.TooLong(w.out.Len())
		case kind == 0x1b6 && len(data) >= 12: // TXO, the text of a box or a comment
			if n := int(binary.LittleEndian.Uint16(data[10:])); n > 0 {
				s, _ := (&xlsStrings{parts: w.goesOn(nil)[1:]}).read(n)
				w.note(s)
			}
		case kind == 0x100d && len(data) > 3: // SERIESTEXT of a chart
			w.note(w.string(data[2:], 1))
		case depth == 1:
			w.record(kind, data)
		}
		if err := w.x.TooLong(w.out.Len() + len(w.after)); err != nil {
			return err
		}
	}
}

// note keeps a text outside of cells.
func (w *xlsReader) note(s string) {
	if s = content.OneLine(strings.ReplaceAll(s, "\x00", "")); content.HasText(s) {
		w.after += s + "\n"
	}
}

// record reads a record of cells.
func (w *xlsReader) record(kind int, data []byte) {
	if kind == 0x207 && w.formula != nil { // STRING, of the formula before
		w.formula = nil
		w.putText(w.string(data, 2))
		return
	}
	if len(data) < 6 {
		return
	}
	row := int(binary.LittleEndian.Uint16(data))
	xf := int(binary.LittleEndian.Uint16(data[4:]))
	rest := data[6:]
	at := func() {
		if row != w.at {
			w.row()
			w.at = row
		}
		w.column = int(binary.LittleEndian.Uint16(data[2:]))
	}
	switch {
	case kind == 0xfd && len(rest) >= 4: // LABELSST
		if n := binary.LittleEndian.Uint32(rest); uint64(n) < uint64(len(w.shared)) {
			at()
			w.putText(w.shared[n])
		}
	case kind == 0x204 || kind == 0xd6: // LABEL, RSTRING
		at()
		w.putText(w.string(rest, 2))
	case kind == 0x203 && len(rest) >= 8: // NUMBER
		at()
		w.number(math.Float64frombits(binary.LittleEndian.Uint64(rest)), xf)
	case kind == 0x27e && len(rest) >= 4: // RK
		at()
		w.number(rk(rest), xf)
	case kind == 0xbd: // MULRK
		at()
		for cells := data[4:]; len(cells) >= 8; cells = cells[6:] {
			w.number(rk(cells[2:]), int(binary.LittleEndian.Uint16(cells)))
			w.column++
		}
	case kind == 0x205 && len(rest) >= 2 && rest[1] == 0: // BOOLERR
		at()
		w.put(map[byte]string{0: "FALSE", 1: "TRUE"}[rest[0]], false)
	case (kind == 6 || kind == 0x206 || kind == 0x406) && len(rest) >= 8: // FORMULA
		at()
		switch {
		case rest[6] != 0xff || rest[7] != 0xff:
			w.number(math.Float64frombits(binary.LittleEndian.Uint64(rest)), xf)
		case rest[0] == 0:
			w.formula = &xf
		case rest[0] == 1:
			w.put(map[byte]string{0: "FALSE", 1: "TRUE"}[rest[2]], false)
		}
	}
}

// rk decodes a 30-bit number: a whole one, or the upper half of a float64, perhaps times 100.
func rk(b []byte) float64 {
	n := binary.LittleEndian.Uint32(b)
	v := float64(int32(n) >> 2)
	if n&2 == 0 {
		v = math.Float64frombits(uint64(n&^3) << 32)
	}
	if n&1 != 0 {
		v /= 100
	}
	return v
}

func (w *xlsReader) number(v float64, xf int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if xf < len(w.formats) && len(w.formats[xf].sections) > 0 {
		w.put(w.formats[xf].show(v, w.epoch), false)
	} else {
		w.put(general(v), false)
	}
}

func (w *xlsReader) putText(s string) { w.put(strings.ReplaceAll(s, "\x00", ""), true) }
