package extract

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxShared is the number of strings that the cells of one file share.
const maxShared = 1 << 20

// xlsx reads the cells of an Office Open XML workbook, as Excel and others write it: a line for each row, under the names of the sheets.
func (x *source) xlsx(b []byte) (content, error) {
	r, err := x.archive(b)
	if err != nil {
		return content{}, err
	}
	main := r.mainPart("xl/workbook.xml")
	if r.members[main] == nil {
		return content{}, x.reject("a ZIP archive without the text of %s", formatNouns[x.format])
	}
	w := xlsxWriter{}
	for _, other := range r.relations(main) {
		if err == nil && other.kind == "sharedStrings" {
			err = r.eachUntil(other.target, w.share)
		}
		if other.kind == "styles" {
			styles := xlsxStyles{codes: map[string]string{}}
			_ = r.each(other.target, styles.token) // what cannot be read says nothing
			w.dates = styles.dates
		}
	}
	_ = r.each(main, func(t xml.Token) { // what cannot be read says nothing
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "workbookPr" && (attr(e, "date1904") == "1" || attr(e, "date1904") == "true") {
			w.epoch = 1462
		}
	})
	type sheet struct{ name, part string }
	var sheets []sheet
	if err == nil {
		err = r.listed(main, "sheet", func(e xml.StartElement, part string) { sheets = append(sheets, sheet{attr(e, "name"), part}) })
	}
	for _, s := range sheets {
		if err != nil {
			break
		}
		w.out.block()
		w.out.inline(s.name)
		w.out.block()
		before := w.out.b.Len()
		err = r.eachUntil(s.part, func(t xml.Token) error {
			w.token(t)
			return r.tooLong(w.out.b.Len())
		})
		w.filled = w.filled || w.out.b.Len() > before
	}
	text := w.out.String()
	if !w.filled { // names of sheets alone are no text
		text = ""
	}
	if err != nil {
		if err := r.torn(err, text); err != nil {
			return content{}, err
		}
	}
	return content{title: r.titleIn("docprops/core.xml"), text: text}, nil
}

// xlsxStyles finds the formats of cells that are dates.
type xlsxStyles struct {
	codes map[string]string // formats of the workbook's own, by id
	cells bool              // inside the formats of cells
	dates []bool            // by the number of the format of a cell
}

func (s *xlsxStyles) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "numFmt":
			if len(s.codes) < maxMembers {
				s.codes[attr(t, "numFmtId")] = attr(t, "formatCode")
			}
		case "cellXfs":
			s.cells = true
		case "xf":
			if id := attr(t, "numFmtId"); s.cells && len(s.dates) < 1<<16 {
				s.dates = append(s.dates, usualDate(atoi(id)) || isDateFormat(s.codes[id]))
			}
		}
	case xml.EndElement:
		s.cells = s.cells && t.Name.Local != "cellXfs"
	}
}

// usualDate reports whether the format of that number, which stands in no file, shows days. From 27 on they are those of East Asia.
func usualDate(n int) bool {
	return n >= 14 && n <= 17 || n == 22 || n >= 27 && n <= 31 || n == 36 || n >= 50 && n <= 58
}

// isDateFormat reports whether a format such as d.m.yyyy shows days and years. What stands in it in quotes and brackets, or behind
// a backslash or the like, is text.
func isDateFormat(code string) bool {
	var b strings.Builder
	var until rune
	passed := false // the character is the operand of the one before
	for _, c := range strings.ToLower(code) {
		switch {
		case passed:
			passed = false
		case until != 0:
			if c == until {
				until = 0
			}
		case c == '"':
			until = '"'
		case c == '[':
			until = ']'
		case c == '_' || c == '\\' || c == '*': // as wide as; as it stands; as often as there is room
			passed = true
		default:
			b.WriteRune(c)
		}
	}
	return strings.ContainsRune(b.String(), 'y') || strings.ContainsRune(b.String(), 'd')
}

// xlsxWriter writes the cells of sheets.
type xlsxWriter struct {
	out     textBuilder
	filled  bool // a sheet has a cell with a value
	shared  []string
	dates   []bool
	epoch   float64 // days from the usual first one to that of the workbook
	kind    string  // of the cell
	date    bool
	value   strings.Builder // of the cell, or of a shared string
	text    bool            // inside an element of a value
	reading bool            // inside a ruby text
}

// share takes the strings that cells share.
func (w *xlsxWriter) share(t xml.Token) error {
	w.strings(t)
	if e, ok := t.(xml.EndElement); ok && e.Name.Local == "si" {
		if len(w.shared) == maxShared {
			return fmt.Errorf("it has more than %d different texts", maxShared)
		}
		w.shared = append(w.shared, unescapeXML(w.value.String()))
		w.value.Reset()
	}
	return nil
}

// strings collects the value of a cell, or a shared string.
func (w *xlsxWriter) strings(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		w.reading = w.reading || t.Name.Local == "rPh"
		w.text = (t.Name.Local == "t" || t.Name.Local == "v") && !w.reading
	case xml.EndElement:
		w.reading = w.reading && t.Name.Local != "rPh"
		w.text = false
	case xml.CharData:
		if w.text {
			w.value.Write(t)
		}
	}
}

func (w *xlsxWriter) token(t xml.Token) {
	w.strings(t)
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "row":
			w.out.line()
		case "c":
			n, err := strconv.Atoi(attr(t, "s"))
			w.kind, w.date = attr(t, "t"), err == nil && n >= 0 && n < len(w.dates) && w.dates[n]
			w.value.Reset()
		}
	case xml.EndElement:
		if t.Name.Local == "c" {
			w.cell(w.value.String())
			w.value.Reset()
		}
	}
}

// cell writes a cell as it is shown, numbers but for their rounding.
func (w *xlsxWriter) cell(v string) {
	switch w.kind {
	case "s":
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n >= len(w.shared) {
			return
		}
		v = w.shared[n]
	case "e": // an error
		return
	case "inlineStr", "str":
		v = unescapeXML(v)
	case "b":
		v = map[string]string{"0": "FALSE", "1": "TRUE"}[v]
	case "", "n":
		n, err := strconv.ParseFloat(v, 64)
		switch {
		case err != nil:
		case w.date && n >= 1 && n < 2958466: // the year 10000
			v = xlsxDate(n + w.epoch)
		case math.Abs(n) < 1e15:
			n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64) // 0.1+0.2 has 17 digits in the file
			v = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	if strings.TrimSpace(v) != "" {
		w.out.cell()
		w.out.inline(v)
	}
}

// xlsxDate returns the date of a number of days, as Excel counts them.
func xlsxDate(days float64) string {
	t := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days)).Add(time.Duration(math.Round((days-math.Floor(days))*86400)) * time.Second)
	if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04")
}
