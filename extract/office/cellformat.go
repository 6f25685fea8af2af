package office

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxFormat is the length in bytes of the longest cell format that is parsed.
const maxFormat = 1 << 10

// cellFormat is a number format of a spreadsheet: sections for positive numbers, negative ones,
// zero and text, or with conditions. Days are always shown as 2019-01-31, which can be searched.
type cellFormat struct{ sections []formatSection }

type formatSection struct {
	tokens    []formatToken
	condition string // such as >=100; empty: by its place
	bound     float64
	day, time bool // it shows days, or times of a day
	half      bool // times by AM and PM
}

// formatToken is a placeholder or a text of a section.
type formatToken struct {
	kind rune   // 0, # and ?: a digit; . , % E / @ as they are; y d h m s: of a time; H M S: elapsed; a: AM or PM; t: text; g: General
	text string // of a text, or as it is written
}

// parseFormat reads a format such as #,##0.00;[Red]-0.0%. Unknown parts are text.
func parseFormat(code string) cellFormat {
	var f cellFormat
	if len(code) > maxFormat {
		return f
	}
	s := formatSection{}
	add := func(kind rune, text string) { s.tokens = append(s.tokens, formatToken{kind, text}) }
	rest := code
	for rest != "" {
		c := rune(rest[0])
		lower := strings.ToLower(rest[:min(len(rest), 8)])
		size := 1
		switch {
		case c == ';':
			f.sections = append(f.sections, s.timed())
			s = formatSection{}
		case c == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				end = len(rest) - 1
			}
			add('t', rest[1:1+end])
			size = min(end+2, len(rest))
		case c == '\\' || c == '_' || c == '*': // as it stands; as wide as; as often as there is room
			_, n := utf8.DecodeRuneInString(rest[1:])
			if size = 1 + n; c == '\\' {
				add('t', rest[1:size])
			} else {
				add('t', " ")
			}
		case c == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				end = len(rest) - 1
			}
			s.bracket(rest[1:max(1, end)])
			size = end + 1
		case strings.HasPrefix(lower, "general"):
			add('g', "")
			size = 7
		case strings.HasPrefix(lower, "am/pm"):
			add('a', "")
			s.half, size = true, 5
		case strings.HasPrefix(lower, "a/p"):
			add('a', "")
			s.half, size = true, 3
		case strings.HasPrefix(lower, "e+"), strings.HasPrefix(lower, "e-"):
			add('E', rest[1:2])
			size = 2
		case strings.ContainsRune("0#?.,%/@", c):
			add(c, rest[:1])
		case strings.ContainsRune("ydhmse", rune(lower[0])):
			for size < len(rest) && rest[size]|0x20 == lower[0] {
				size++
			}
			kind := rune(lower[0])
			if kind == 'e' {
				kind = 'y' // of an era
			}
			add(kind, rest[:size])
		default:
			_, size = utf8.DecodeRuneInString(rest)
			add('t', rest[:size])
		}
		rest = rest[size:]
	}
	f.sections = append(f.sections, s.timed())
	return f
}

// bracket takes a condition, a currency, elapsed time, or a color and the like.
func (s *formatSection) bracket(in string) {
	lower := strings.ToLower(in)
	switch {
	case in == "":
	case in[0] == '$':
		symbol, _, _ := strings.Cut(in[1:], "-")
		s.tokens = append(s.tokens, formatToken{'t', symbol})
	case strings.ContainsRune("<>=", rune(in[0])):
		number := strings.TrimLeft(in, "<>=")
		if v, err := strconv.ParseFloat(number, 64); err == nil {
			s.condition, s.bound = strings.TrimSuffix(in, number), v
		}
	case strings.Trim(lower, "h") == "", strings.Trim(lower, "m") == "", strings.Trim(lower, "s") == "":
		s.tokens = append(s.tokens, formatToken{unicode.ToUpper(rune(lower[0])), lower})
	}
}

// timed determines whether a section shows a time or a day: m beside hours or seconds is minutes.
func (s formatSection) timed() formatSection {
	clock := func(k rune) bool { return strings.ContainsRune("hsHMSa", k) }
	for i, t := range s.tokens {
		switch {
		case clock(t.kind):
			s.time = true
		case t.kind == 'y' || t.kind == 'd':
			s.day = true
		case t.kind == 'm':
			near := false
			for j := i - 1; j >= 0 && !near; j-- {
				if k := s.tokens[j].kind; strings.ContainsRune("ydhmsHMS", k) {
					near = k == 'h' || k == 'H'
					break
				}
			}
			for j := i + 1; j < len(s.tokens) && !near; j++ {
				if k := s.tokens[j].kind; strings.ContainsRune("ydhmsHMS", k) {
					near = k == 's' || k == 'S'
					break
				}
			}
			if near {
				s.tokens[i].kind = 'n'
				s.time = true
			} else {
				s.day = true
			}
		}
	}
	return s
}

// isDay reports whether the format shows positive numbers as days.
func (f cellFormat) isDay() bool { return len(f.sections) > 0 && f.sections[0].day }

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
	case "<>":
		return v != s.bound
	}
	return place > 0 || v > 0
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

// clock returns a time of day or an elapsed time.
func (s *formatSection) clock(v float64) string {
	decimals := 0
	for i, t := range s.tokens { // of seconds
		if t.kind == '.' && i > 0 {
			for _, d := range s.tokens[i+1:] {
				if d.kind != '0' {
					break
				}
				decimals++
			}
		}
	}
	unit := math.Pow(10, float64(min(decimals, 3)))
	ticks := math.Round(math.Abs(v) * 86400 * unit)
	seconds := math.Floor(ticks / unit)
	if seconds > 1e12 {
		return general(v)
	}
	whole := int64(seconds)
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	two := func(n int64, width int) {
		digits := strconv.FormatInt(n, 10)
		b.WriteString(strings.Repeat("0", max(0, min(width, 20)-len(digits))) + digits)
	}
	for i, t := range s.tokens {
		hour := whole / 3600 % 24
		width := len(t.text)
		switch t.kind {
		case 'H':
			two(whole/3600, width)
		case 'M':
			two(whole/60, width)
		case 'S':
			two(whole, width)
		case 'h':
			if s.half {
				hour = (hour + 11) % 12
				hour++
			}
			two(hour, min(width, 2))
		case 'n':
			two(whole/60%60, min(width, 2))
		case 's':
			two(whole%60, min(width, 2))
		case 'a':
			b.WriteString(map[bool]string{true: "PM", false: "AM"}[whole/3600%24 >= 12])
		case '.':
			b.WriteByte('.')
			if decimals > 0 {
				fraction := strconv.FormatInt(int64(ticks-seconds*unit), 10)
				b.WriteString(strings.Repeat("0", max(0, min(decimals, 3)-len(fraction))) + fraction)
			}
		case '0', '#', '?':
			if i == 0 {
				b.WriteString(t.text)
			}
		case '@', 'g':
		default:
			b.WriteString(t.text)
		}
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
