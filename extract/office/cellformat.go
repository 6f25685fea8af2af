package office

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxFormat is the length in bytes of the longest cell format that is parsed.
const maxFormat = 1 << 10

// cellFormat is a number format of a spreadsheet: sections for positive numbers, negative ones,
// zero and text, or with conditions. Days are always shown as 2019-01-31, which can be searched.
type cellFormat struct{ sections []formatSection }

type formatSection struct {
	kinds     string   // of its tokens: 0, # and ? are digits; . , % E / @ as they are; y d h m s and n, a minute, of a time; H M S elapsed; a AM or PM; t text; g General
	texts     []string // of its tokens
	condition string   // such as >=100; empty: by its place
	bound     float64
	day, time bool // it shows days, or times of a day
}

func (s *formatSection) add(kind byte, text string) {
	s.kinds += string(rune(kind))
	s.texts = append(s.texts, text)
}

// formatPart matches a token of a format.
var formatPart = regexp.MustCompile(`(?is)"[^"]*"?|\\.?|[_*].?|\[[^\]]*\]?|general|am/pm|a/p|e[+-]|y+|d+|h+|m+|s+|e+|.`)

// parseFormat reads a format such as #,##0.00;[Red]-0.0%. Unknown parts are text.
func parseFormat(code string) (f cellFormat) {
	if len(code) > maxFormat {
		return f
	}
	s := formatSection{}
	for _, part := range formatPart.FindAllString(code, -1) {
		lower := strings.ToLower(part)
		switch {
		case part == ";":
			f.sections = append(f.sections, s.timed())
			s = formatSection{}
		case part[0] == '"':
			s.add('t', strings.Trim(part, `"`))
		case part[0] == '\\':
			s.add('t', part[1:])
		case part[0] == '_' || part[0] == '*': // as wide as the next character; as often as there is room
			s.add('t', " ")
		case part[0] == '[':
			s.bracket(strings.Trim(lower, "[]"), strings.Trim(part, "[]"))
		case lower == "general":
			s.add('g', "")
		case lower == "am/pm", lower == "a/p":
			s.add('a', "")
		case lower == "e+", lower == "e-":
			s.add('E', part[1:])
		case strings.IndexByte("0#?.,%/@", part[0]) >= 0:
			s.add(part[0], part)
		case lower[0] == 'e': // the year of an era
			s.add('y', part)
		case strings.IndexByte("ydhms", lower[0]) >= 0:
			s.add(lower[0], part)
		default:
			s.add('t', part)
		}
	}
	f.sections = append(f.sections, s.timed())
	return f
}

// bracket takes a condition, a currency, elapsed time, or a color and the like.
func (s *formatSection) bracket(lower, in string) {
	switch {
	case in == "":
	case in[0] == '$':
		symbol, _, _ := strings.Cut(in[1:], "-")
		s.add('t', symbol)
	case strings.IndexByte("<>=", in[0]) >= 0:
		number := strings.TrimLeft(in, "<>=")
		if v, err := strconv.ParseFloat(number, 64); err == nil {
			s.condition, s.bound = strings.TrimSuffix(in, number), v
		}
	case strings.Trim(lower, "h") == "", strings.Trim(lower, "m") == "", strings.Trim(lower, "s") == "":
		s.add(lower[0]-'a'+'A', lower)
	}
}

// timed determines whether a section shows a time or a day: m beside hours or seconds is minutes.
func (s formatSection) timed() formatSection {
	const units = "ydhmsHMS"
	kinds := []byte(s.kinds)
	for i, k := range kinds {
		before, after := bytes.LastIndexAny(kinds[:i], units), bytes.IndexAny(kinds[i+1:], units)
		minute := before >= 0 && kinds[before]|0x20 == 'h' || after >= 0 && kinds[i+1+after]|0x20 == 's'
		switch {
		case k == 'm' && minute:
			kinds[i], s.time = 'n', true
		case k == 'm', k == 'y', k == 'd':
			s.day = true
		case strings.IndexByte("hsHMSa", k) >= 0:
			s.time = true
		}
	}
	s.kinds = string(kinds)
	return s
}

// show returns a number as the format shows it. epoch is the number of days from the usual first
// day to that of the workbook.
func (f cellFormat) show(v, epoch float64) string {
	s, abs := f.section(v)
	switch {
	case s == nil:
		return general(v)
	case s.day && v >= 1 && v+epoch < 2958466: // the year 10000
		return sheetDate(v + epoch)
	case s.day:
		return general(v)
	}
	out := ""
	if s.time {
		out = s.clock(v)
	} else {
		out = s.number(v, abs)
	}
	if out = strings.TrimSpace(out); out == "" && v != 0 { // it is hidden, which is not for a search
		return general(v)
	}
	return out
}

// section returns the section for a number, and whether it shows no sign.
func (f cellFormat) section(v float64) (s *formatSection, abs bool) {
	n := len(f.sections)
	if n == 0 {
		return nil, false
	}
	if n > 3 {
		n = 3 // the fourth is for text
	}
	if f.sections[0].condition != "" || n > 1 && f.sections[1].condition != "" {
		for i := range n {
			s := &f.sections[i]
			if s.holds(v, i) {
				return s, i > 0 && v < 0
			}
		}
		return &f.sections[n-1], false
	}
	switch {
	case v < 0 && n > 1:
		return &f.sections[1], true
	case v == 0 && n > 2:
		return &f.sections[2], false
	}
	return &f.sections[0], false
}

func (s *formatSection) holds(v float64, place int) bool {
	switch s.condition {
	case "":
		return place > 0 || v > 0
	case "<":
		return v < s.bound
	case "<=":
		return v <= s.bound
	case ">":
		return v > s.bound
	case ">=":
		return v >= s.bound
	case "=":
		return v == s.bound
	}
	return v != s.bound
}

// general returns a number in the format General, without rounding to the width of the cell.
func general(v float64) string {
	if math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'G', 15, 64)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64) // 0.1+0.2 has 17 digits in the file
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func sheetDate(days float64) string {
	t := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days)).Add(time.Duration(math.Round((days-math.Floor(days))*86400)) * time.Second)
	if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04")
}

// padded returns n with at least width digits, at most 20.
func padded(n int64, width int) string { return fmt.Sprintf("%0*d", min(width, 20), n) }

// clock returns a time of day or an elapsed time.
func (s *formatSection) clock(v float64) string {
	decimals := 0 // of seconds
	if p := strings.IndexByte(s.kinds, '.'); p > 0 {
		rest := s.kinds[p+1:]
		decimals = min(len(rest)-len(strings.TrimLeft(rest, "0")), 3)
	}
	unit := math.Pow10(decimals)
	ticks := math.Round(math.Abs(v) * 86400 * unit)
	seconds := math.Floor(ticks / unit)
	if seconds > 1e12 {
		return general(v)
	}
	whole := int64(seconds)
	hour, half := whole/3600%24, whole/3600%24
	if strings.IndexByte(s.kinds, 'a') >= 0 {
		half = (hour+11)%12 + 1
	}
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	for i, text := range s.texts {
		width := len(text)
		switch s.kinds[i] {
		case 'H':
			text = padded(whole/3600, width)
		case 'M':
			text = padded(whole/60, width)
		case 'S':
			text = padded(whole, width)
		case 'h':
			text = padded(half, min(width, 2))
		case 'n':
			text = padded(whole/60%60, min(width, 2))
		case 's':
			text = padded(whole%60, min(width, 2))
		case 'a':
			text = map[bool]string{true: "PM", false: "AM"}[hour >= 12]
		case '.':
			if decimals > 0 {
				text = "." + padded(int64(ticks-seconds*unit), decimals)
			}
		case '0', '#', '?':
			if i > 0 {
				text = ""
			}
		case '@', 'g':
			text = ""
		}
		b.WriteString(text)
	}
	return b.String()
}

// usualFormats are the formats that workbooks refer to by number only.
var usualFormats = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "#,##0;-#,##0", 6: "#,##0;-#,##0", 7: "#,##0.00;-#,##0.00", 8: "#,##0.00;-#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
	12: "# ?/?", 13: "# ??/??", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 32: `h"時"mm"分"`, 33: `h"時"mm"分"ss"秒"`, 34: `h"時"mm"分"`, 35: `h"時"mm"分"ss"秒"`,
	37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00", 41: "#,##0;-#,##0", 42: "#,##0;-#,##0", 43: "#,##0.00;-#,##0.00", 44: "#,##0.00;-#,##0.00",
	45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0",
}

func usualFormat(n int) cellFormat {
	if n >= 14 && n <= 17 || n == 22 || n >= 27 && n <= 31 || n == 36 || n >= 50 && n <= 58 {
		return parseFormat("yyyy-mm-dd")
	}
	if code, ok := usualFormats[n]; ok {
		return parseFormat(code)
	}
	return cellFormat{}
}

// cellFormats are the formats of a workbook by their numbers.
type cellFormats struct {
	codes  map[int]string // its own
	parsed map[int]*cellFormat
}

func (s *cellFormats) format(id int) *cellFormat {
	f := s.parsed[id]
	if f == nil {
		f = new(cellFormat)
		if code, own := s.codes[id]; own {
			*f = parseFormat(code)
		} else {
			*f = usualFormat(id)
		}
		if s.parsed == nil {
			s.parsed = map[int]*cellFormat{}
		}
		s.parsed[id] = f
	}
	return f
}
