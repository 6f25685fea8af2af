package office

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// places counts the digits that a part of a section has room for.
func places(kinds string) int {
	return strings.Count(kinds, "0") + strings.Count(kinds, "#") + strings.Count(kinds, "?")
}

// number returns a number as the section shows it; abs leaves out its sign.
func (s *formatSection) number(v float64, abs bool) string {
	k := s.kinds
	first, last := strings.IndexAny(k, "0#?"), strings.LastIndexAny(k, "0#?")
	switch {
	case strings.ContainsAny(k, "g@"):
		return s.plain(general(v))
	case first < 0:
		return s.plain("")
	}
	scale := len(k[last+1:]) - len(strings.TrimLeft(k[last+1:], ","))
	x := math.Abs(v) * math.Pow(100, float64(strings.Count(k, "%"))) / math.Pow(1000, float64(scale))
	if math.IsInf(x, 0) || math.IsNaN(x) || x >= 1e18 {
		return general(v)
	}
	sign := ""
	if v < 0 && !abs {
		sign = "-"
	}
	if slash := strings.IndexByte(k, '/'); slash > first {
		return sign + s.fraction(x, slash)
	}
	end, exp := len(k), 0
	if e := strings.IndexByte(k, 'E'); e >= 0 {
		end = e
	}
	before, after, _ := strings.Cut(k[:end], ".")
	if end < len(k) && x != 0 { // the exponent is a multiple of the digits before the point
		step := float64(max(1, places(before)))
		exp = int(math.Floor(math.Floor(math.Log10(x))/step) * step)
		x /= math.Pow(10, float64(exp))
	}
	whole, part := rounded(x, places(after))
	if strings.Trim(whole+part, "0") == "" {
		sign = ""
	}
	return sign + s.digits(whole, part, len(before), end, exp)
}

// rounded returns a number with so many decimals, rounded half up by its decimal digits: 1.005 is
// 1.01.
func rounded(x float64, decimals int) (whole, part string) {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if len(text) > 17 {
		y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
		text = strconv.FormatFloat(y, 'f', -1, 64)
	}
	whole, part, _ = strings.Cut(text, ".")
	if len(part) <= decimals {
		return whole, part + strings.Repeat("0", decimals-len(part))
	}
	up := part[decimals] >= '5'
	all := []byte(whole + part[:decimals])
	for i := len(all) - 1; up && i >= 0; i-- {
		if all[i]++; all[i] <= '9' {
			up = false
		} else {
			all[i] = '0'
		}
	}
	text = string(all)
	if up {
		text = "1" + text
	}
	return text[:len(text)-decimals], text[len(text)-decimals:]
}

var grouping = regexp.MustCompile(`[0#?].*,[0#?]`)

// digits writes digits into their places. Those of the whole number end before point, all before
// end.
func (s *formatSection) digits(whole, part string, point, end, exp int) string {
	if whole == "0" {
		whole = ""
	}
	grouped := grouping.MatchString(s.kinds[:point])
	var b strings.Builder
	put := func(left int, digit byte) { // left: how many digits follow
		b.WriteByte(digit)
		if grouped && left > 0 && left%3 == 0 {
			b.WriteByte(',')
		}
	}
	left, fraction := places(s.kinds[:point]), 0 // digits to come
	if left == 0 {
		b.WriteString(whole) // 12.5 as .0
	}
	started := false
	for i, text := range s.texts {
		kind := s.kinds[i]
		digit := kind == '0' || kind == '#' || kind == '?'
		switch {
		case digit && i < point:
			left--
			if !started {
				for started = true; len(whole) > left+1; whole = whole[1:] {
					put(len(whole)-1, whole[0])
				}
			}
			switch {
			case len(whole) == left+1:
				put(left, whole[0])
				whole = whole[1:]
			case kind == '0':
				put(left, '0')
			}
		case digit && i < end:
			if kind == '0' || strings.Trim(part[fraction:], "0") != "" {
				b.WriteByte(part[fraction])
			}
			fraction++
		case i == point && kind == '.':
			if strings.Trim(part, "0") != "" || strings.Contains(s.kinds[point:end], "0") {
				b.WriteByte('.')
			}
		case kind == 'E':
			sign := "+"
			if exp < 0 {
				sign = "-"
			} else if text == "-" {
				sign = ""
			}
			b.WriteString("E" + sign + padded(int64(max(exp, -exp)), strings.Count(s.kinds[i:], "0")))
		case digit || strings.IndexByte(",@g", kind) >= 0:
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// plain returns the text of a section with in for General or @.
func (s *formatSection) plain(in string) string {
	var b strings.Builder
	for i, text := range s.texts {
		switch s.kinds[i] {
		case 'g', '@':
			b.WriteString(in)
		case ',', '.':
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

var denominator = regexp.MustCompile(`^[1-9][0-9]*`)

// fraction returns a number such as 2 1/4. The denominator is given, or has as many digits as there
// are places.
func (s *formatSection) fraction(x float64, slash int) string {
	behind := s.kinds[slash+1:]
	limit := math.Pow10(min(max(places(behind), 1), 3))
	whole, rest := math.Floor(x), x-math.Floor(x)
	top, bottom := 0.0, 1.0
	if n, err := strconv.Atoi(denominator.FindString(strings.Join(s.texts[slash+1:], ""))); err == nil && n < 1e4 {
		bottom = float64(n)
		top = math.Round(rest * bottom)
	} else {
		best := math.Inf(1)
		for d := 1.0; d < limit; d++ {
			n := math.Round(rest * d)
			if off := math.Abs(rest - n/d); off < best-1e-12 {
				best, top, bottom = off, n, d
			}
		}
	}
	switch {
	case !strings.Contains(s.kinds[:slash], "t"): // without a whole number in front
		return general(whole*bottom+top) + "/" + general(bottom)
	case top == bottom:
		return general(whole + 1)
	case top == 0:
		return general(whole)
	case whole == 0:
		return general(top) + "/" + general(bottom)
	}
	return general(whole) + " " + general(top) + "/" + general(bottom)
}
