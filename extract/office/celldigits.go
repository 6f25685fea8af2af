package office

import (
	"math"
	"strconv"
	"strings"
)

// number returns a number as the section shows it; abs leaves out its sign.
func (s *formatSection) number(v float64, abs bool) string {
	first, last, point, exponent, slash := -1, -1, -1, -1, -1
	percent, scale := 0, 0
	for i, t := range s.tokens {
		switch t.kind {
		case '0', '#', '?':
			if first < 0 {
				first = i
			}
			last = i
		case '.':
			if point < 0 && exponent < 0 {
				point = i
			}
		case 'E':
			if exponent < 0 {
				exponent = i
			}
		case '/':
			if slash < 0 {
				slash = i
			}
		case '%':
			percent++
		case 'g':
			return s.plain(general(v))
		case '@':
			return s.plain(general(v))
		}
	}
	if first < 0 {
		return s.plain("")
	}
	for i := last + 1; i < len(s.tokens) && s.tokens[i].kind == ','; i++ {
		scale++
	}
	x := math.Abs(v) * math.Pow(100, float64(percent)) / math.Pow(1000, float64(scale))
	if math.IsInf(x, 0) || math.IsNaN(x) || x >= 1e18 {
		return general(v)
	}
	sign := ""
	if v < 0 && !abs {
		sign = "-"
	}
	if slash > first {
		return sign + s.fraction(x, slash)
	}
	exp := 0
	if exponent >= 0 && x != 0 {
		whole := 0 // digits before the point: the exponent is a multiple of it
		for _, t := range s.tokens[:exponent] {
			if t.kind == '.' {
				break
			}
			if t.kind == '0' || t.kind == '#' || t.kind == '?' {
				whole++
			}
		}
		exp = int(math.Floor(math.Log10(x)))
		if step := max(1, whole); step > 1 {
			exp = int(math.Floor(float64(exp)/float64(step))) * step
		}
		x /= math.Pow(10, float64(exp))
	}
	end := len(s.tokens)
	if exponent >= 0 {
		end = exponent
	}
	decimals := 0
	if point >= 0 {
		for _, t := range s.tokens[point:end] {
			if t.kind == '0' || t.kind == '#' || t.kind == '?' {
				decimals++
			}
		}
	}
	whole, part := rounded(x, decimals)
	if strings.Trim(whole+part, "0") == "" {
		sign = ""
	}
	return sign + s.digits(whole, part, point, end, exp)
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

// digits writes digits into their places. Those of the section end before end; point is the index
// of its point, or negative.
func (s *formatSection) digits(whole, part string, point, end, exp int) string {
	if whole == "0" {
		whole = ""
	}
	places, grouped, before := 0, false, end
	if point >= 0 {
		before = point
	}
	seen := false
	for i, t := range s.tokens[:before] {
		switch t.kind {
		case '0', '#', '?':
			places++
			seen = true
		case ',':
			grouped = grouped || seen && i+1 < before && strings.ContainsRune("0#?", s.tokens[i+1].kind)
		}
	}
	var b strings.Builder
	put := func(left int, digit byte) { // left: how many digits come behind it
		b.WriteByte(digit)
		if grouped && left > 0 && left%3 == 0 {
			b.WriteByte(',')
		}
	}
	if places == 0 {
		b.WriteString(whole) // 12.5 as .0
	}
	left, fraction := places, 0 // places that come
	started := false
	for i, t := range s.tokens {
		digit := t.kind == '0' || t.kind == '#' || t.kind == '?'
		switch {
		case digit && i < before:
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
			case t.kind == '0':
				put(left, '0')
			}
		case digit && i < end && point >= 0:
			if rest := part[fraction:]; t.kind == '0' || strings.Trim(rest, "0") != "" {
				b.WriteByte(part[fraction])
			}
			fraction++
		case i == point:
			if strings.Trim(part, "0") != "" || strings.ContainsRune(s.kinds(point, end), '0') {
				b.WriteByte('.')
			}
		case t.kind == 'E':
			b.WriteByte('E')
			sign, digits := "+", strconv.Itoa(exp)
			if exp < 0 {
				sign, digits = "-", digits[1:]
			} else if t.text == "-" {
				sign = ""
			}
			width := 0
			for _, k := range s.kinds(i, len(s.tokens)) {
				if k == '0' {
					width++
				}
			}
			b.WriteString(sign + strings.Repeat("0", max(0, width-len(digits))) + digits)
		case digit || t.kind == ',' || t.kind == '@' || t.kind == 'g':
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

func (s *formatSection) kinds(from, to int) string {
	var b strings.Builder
	for _, t := range s.tokens[from:to] {
		b.WriteRune(t.kind)
	}
	return b.String()
}

// plain returns the text of a section with in for General or @.
func (s *formatSection) plain(in string) string {
	var b strings.Builder
	for _, t := range s.tokens {
		switch t.kind {
		case 'g', '@':
			b.WriteString(in)
		case ',', '.':
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// fraction returns a number such as 2 1/4. The denominator is given, or has as many digits as there
// are places.
func (s *formatSection) fraction(x float64, slash int) string {
	places, fixed := 0, ""
	for _, t := range s.tokens[slash+1:] {
		if t.kind == '0' || t.kind == '#' || t.kind == '?' {
			places++
		} else if t.kind == 't' && len(t.text) == 1 && t.text[0] >= '1' && t.text[0] <= '9' || t.kind == '0' {
			fixed += t.text
		} else {
			break
		}
	}
	whole, rest := math.Floor(x), x-math.Floor(x)
	numerator, denominator := 0.0, 1.0
	if n, err := strconv.Atoi(fixed); err == nil && n > 0 && n < 1e4 {
		denominator = float64(n)
		numerator = math.Round(rest * denominator)
	} else {
		best := math.Inf(1)
		for d := 1.0; d < math.Pow(10, float64(min(max(places, 1), 3))); d++ {
			n := math.Round(rest * d)
			if off := math.Abs(rest - n/d); off < best-1e-12 {
				best, numerator, denominator = off, n, d
			}
		}
	}
	apart := strings.Contains(s.kinds(0, slash), "t") // a whole number in front
	switch {
	case !apart:
		return general(whole*denominator+numerator) + "/" + general(denominator)
	case numerator == denominator:
		return general(whole + 1)
	case numerator == 0:
		return general(whole)
	case whole == 0:
		return general(numerator) + "/" + general(denominator)
	}
	return general(whole) + " " + general(numerator) + "/" + general(denominator)
}
