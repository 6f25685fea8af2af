package filter

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/searchd/index/geo"
)

// MaxString is the number of bytes by which strings are compared before a hash decides.
const MaxString = 1024

// Kind is the type of a Value.
type Kind uint8

const (
	String Kind = iota
	Number
	Bool
	Date
	Opaque // a value that only EXISTS sees: it equals no value, not even itself, and no filter has one
	Point  // a position, which WITHIN and EXISTS see
)

// Present is a value of kind Opaque, for [Values].
type Present struct{}

// String returns the name of the kind as messages use it.
func (k Kind) String() string {
	switch k {
	case String:
		return "string"
	case Number:
		return "number"
	case Bool:
		return "boolean"
	case Date:
		return "date"
	case Opaque:
		return "opaque value"
	case Point:
		return "point"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Value is one value of a field or of a filter. Only the part that Kind names has a meaning, except
// that the Date of a filter keeps in Str the text that it was written as. Values of one kind are
// ordered by Compare.
type Value struct {
	Kind Kind
	Str  string
	Num  float64 // Number: finite, never negative zero; Bool: 0 or 1
	Off  int16   // Number: what an integer is more than Num, its float64; 0 unless Wide
	Time int64   // Date: microseconds since 1970 UTC; Point: the bits of its geo.Code
}

// MaxOff is the largest magnitude of an Off: half the distance between neighbours of float64 below
// 2^64.
const MaxOff = 1 << 10

// Wide reports whether v is a Number so large that several integers share its float64: 2^53 or
// more, or -2^53 or less.
func (v Value) Wide() bool { return v.Kind == Number && math.Abs(v.Num) >= 1<<53 }

// Compare orders v and w: negative if v is smaller, 0 if equal. ok is false if their kinds differ
// or are Opaque or Point.
func (v Value) Compare(w Value) (order int, ok bool) {
	if v.Kind != w.Kind || v.Kind >= Opaque {
		return 0, false
	}
	switch v.Kind {
	case String:
		return strings.Compare(v.Key(), w.Key()), true
	case Date:
		return cmp.Compare(v.Time, w.Time), true
	default:
		return cmp.Or(cmp.Compare(v.Num, w.Num), cmp.Compare(v.Off, w.Off)), true
	}
}

// Key is the text by which a string is compared: Str if it has at most MaxString bytes, else its
// first MaxString bytes and the SHA-256 of the whole in hexadecimal.
func (v Value) Key() string {
	if len(v.Str) <= MaxString {
		return v.Str
	}
	return v.Str[:MaxString] + fmt.Sprintf("%x", sha256.Sum256([]byte(v.Str)))
}

// String writes v as the filter language does.
func (v Value) String() string {
	switch v.Kind {
	case Number:
		return v.number()
	case Bool:
		return strconv.FormatBool(v.Num != 0)
	case Date:
		if v.Str == "" {
			return quote(time.UnixMicro(v.Time).UTC().Format(time.RFC3339Nano))
		}
	}
	return quote(v.Str)
}

// number writes a Number so that it is read as the same one: an integer that shares its float64
// with others has all its digits.
func (v Value) number() string {
	const end = 1 << 64 // larger numbers are float64 only
	if !v.Wide() || math.Abs(v.Num) > end || math.Abs(v.Num) == end && v.Off == 0 {
		return strconv.FormatFloat(v.Num, 'g', -1, 64)
	}
	sign, mag, off := "", v.Num, int64(v.Off)
	if mag < 0 {
		sign, mag, off = "-", -mag, -off
	}
	var n uint64 // modulo 2^64
	if mag < end {
		n = uint64(mag)
	}
	return sign + strconv.FormatUint(n+uint64(off), 10)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Values appends to dst the values that a field holding x has. A string that reads as a date gives
// two, the string and the date. x is a string, bool, float64, int, json.Number, Present, a valid
// geo.Point or a list of those, as []any; whatever else it is, or a list holds, has no values.
func Values(dst []Value, x any) []Value {
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			if _, list := e.([]any); !list {
				dst = Values(dst, e)
			}
		}
		return dst
	case string:
		return stringValues(dst, x)
	case bool:
		return append(dst, boolValue(x))
	case Present:
		return append(dst, Value{Kind: Opaque})
	case geo.Point:
		return append(dst, Value{Kind: Point, Time: int64(x.Code())})
	}
	if v, ok := number(x); ok {
		dst = append(dst, v)
	}
	return dst
}

// number returns x as a Number; ok is false if it is not a finite number.
func number(x any) (v Value, ok bool) {
	switch x := x.(type) {
	case float64:
		return float(x)
	case int:
		return signed(int64(x)), true
	case json.Number:
		return ParseNumber(string(x))
	}
	return v, false
}

func float(f float64) (v Value, ok bool) {
	return Value{Kind: Number, Num: f + 0}, finite(f) // -0 + 0 is +0
}

func signed(n int64) Value {
	if n < 0 {
		return integer(true, -uint64(n))
	}
	return integer(false, uint64(n))
}

// integer returns the Number of magnitude mag.
func integer(negative bool, mag uint64) Value {
	v := Value{Kind: Number, Num: float64(mag)}
	if v.Num < 1<<64 {
		v.Off = int16(mag - uint64(v.Num))
	} else {
		v.Off = int16(mag) // below 2^64 by less than MaxOff
	}
	if negative {
		v.Num, v.Off = 0-v.Num, -v.Off
	}
	return v
}

// ParseNumber returns the Number that a decimal text denotes: an integer of less than 2^64,
// however it is written, exactly, and anything else as the nearest float64. ok is false if it is no
// number or not finite.
func ParseNumber(text string) (v Value, ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return v, false
	}
	if v, ok = float(f); ok && v.Wide() {
		if mag, whole := magnitude(text); whole {
			v = integer(f < 0, mag)
		}
	}
	return v, ok
}

// magnitude reads the integer that a decimal text denotes, without its sign. ok is false if it is
// not an integer or too large.
func magnitude(text string) (mag uint64, ok bool) {
	text = strings.TrimLeft(text, "+-")
	if mag, err := strconv.ParseUint(text, 10, 64); err == nil {
		return mag, true
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	before, after, _ := strings.Cut(mantissa, ".")
	point := len(before) // where the fraction begins
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return 0, false
		}
		point += int(e)
	}
	digits := strings.TrimRight(before+after, "0")
	if zeros := len(digits) - len(strings.TrimLeft(digits, "0")); zeros > 0 {
		digits, point = digits[zeros:], point-zeros
	}
	if point < len(digits) || point > 20 {
		return 0, false
	}
	mag, err := strconv.ParseUint(digits+strings.Repeat("0", point-len(digits)), 10, 64)
	return mag, err == nil
}

func boolValue(b bool) Value {
	if b {
		return Value{Kind: Bool, Num: 1}
	}
	return Value{Kind: Bool}
}

func stringValues(dst []Value, s string) []Value {
	dst = append(dst, Value{Kind: String, Str: s})
	if t, ok := parseDate(s); ok {
		dst = append(dst, Value{Kind: Date, Time: t})
	}
	return dst
}

// literal returns the value of a quoted text in a filter.
func literal(s string) Value {
	if t, ok := parseDate(s); ok {
		return Value{Kind: Date, Time: t, Str: s}
	}
	return Value{Kind: String, Str: s}
}

// parseDate reads a day, or a day and a time of day with T or a space between them and an optional
// offset (Z, UTC, +01:00, +0100 or +01). Without an offset the time is UTC. It also reads the basic
// form, 20240315T143000Z, days with slashes, and the form of mail and HTTP.
func parseDate(s string) (micros int64, ok bool) {
	const day = len(time.DateOnly)
	if len(s) < day || len(s) > maxDate {
		return 0, false
	}
	switch { // most strings are none of these; time.Parse would allocate an error for each
	case s[4] == '-' && s[7] == '-' && (len(s) == day || strings.IndexByte("Tt ", s[day]) >= 0):
		return dateAndTime(s[:day], s[day:])
	case s[4] == '/' && s[7] == '/' && (len(s) == day || s[day] == ' '):
		return dateAndTime(strings.ReplaceAll(s[:day], "/", "-"), s[day:])
	case len(s) > len("20060102T1504") && (s[8] == 'T' || s[8] == 't') && '0' <= s[0] && s[0] <= '9':
		clock := s[9:]
		if len(clock) < 6 || strings.Trim(clock[:6], "0123456789") != "" {
			return 0, false
		}
		return dateAndTime(s[:4]+"-"+s[4:6]+"-"+s[6:8], "T"+clock[:2]+":"+clock[2:4]+":"+clock[4:])
	case s[3] == ',' && s[4] == ' ':
		for _, layout := range []string{"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 -0700 (MST)"} {
			t, err := time.Parse(layout, s)
			if name, offset := t.Zone(); err == nil && (offset != 0 || name == "" || isUTC(name)) { // of other names the offset is unknown
				return t.UnixMicro(), true
			}
		}
	}
	return 0, false
}

// maxDate is the length of the longest date, with the name of its zone.
const maxDate = 64

// dateAndTime reads a day and what follows it: nothing, or a separator and a time of day.
func dateAndTime(day, rest string) (micros int64, ok bool) {
	date, err := time.Parse(time.DateOnly, day)
	if err != nil || rest == "" {
		return date.UnixMicro(), err == nil
	}
	clock, zone := rest[1:], ""
	if i := strings.IndexAny(clock, "Zz+-UG"); i >= 0 {
		clock, zone = strings.TrimSuffix(clock[:i], " "), clock[i:]
	}
	if clock == "24:00:00" || clock == "24:00" { // the end of the day
		date, clock = date.AddDate(0, 0, 1), "00:00:00"
	}
	layout := time.TimeOnly
	if strings.Count(clock, ":") == 1 {
		layout = "15:04"
	}
	t, err := time.Parse(layout, clock)
	if err != nil {
		return 0, false
	}
	offset, ok := parseOffset(zone)
	midnight := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	return date.Add(t.Sub(midnight) - offset).UnixMicro(), ok
}

func isUTC(zone string) bool { return zone == "UTC" || zone == "GMT" || zone == "Z" || zone == "z" }

// parseOffset parses what follows a time of day; an empty text is UTC. The name of a zone may stand
// behind the offset: +0000 UTC, +01:00[Europe/Berlin].
func parseOffset(zone string) (time.Duration, bool) {
	if i := strings.IndexAny(zone, " ["); i > 0 && (zone[i] == ' ' && isUTC(zone[i+1:]) || zone[i] == '[' && strings.HasSuffix(zone, "]")) {
		zone = zone[:i]
	}
	layout := ""
	switch {
	case zone == "", isUTC(zone):
		return 0, true
	case len(zone) == len("-07"):
		layout = "-07"
	case len(zone) == len("-0700"):
		layout = "-0700"
	default:
		layout = "-07:00"
	}
	t, err := time.Parse(layout, zone)
	if err != nil {
		return 0, false
	}
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second, true
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
