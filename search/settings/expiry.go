package settings

import (
	"strconv"
	"time"
	"unicode/utf8"

	"example.com/searchd/search/fault"
)

// Expiry is when documents are deleted: once the date in Field, or the first of several, is After
// ago. A document without a date there stays.
type Expiry struct {
	Field string `json:"field"`
	After string `json:"after,omitempty"` // hours, days or weeks such as 12h, 30d or 2w; default: none, the date itself
}

// Delay returns After as a duration; ok is false if it is not one.
func (e Expiry) Delay() (d time.Duration, ok bool) {
	if e.After == "" {
		return 0, true
	}
	return Span(e.After)
}

// maxSpan bounds a span.
const maxSpan = 36525 * 24 * time.Hour

// Span reads a span of 0 to 100 years in hours, days or weeks, such as 12h, 30d or 2w.
func Span(s string) (d time.Duration, ok bool) {
	if s == "" {
		return 0, false
	}
	unit, ok := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	length := n * float64(unit)
	if !ok || err != nil || !(length >= 0 && length <= float64(maxSpan)) {
		return 0, false
	}
	return time.Duration(length), true
}

func (s Settings) checkExpiry(wrong *fault.Fields) {
	if s.Expiry == nil {
		return
	}
	if s.Expiry.Field == "" || !utf8.ValidString(s.Expiry.Field) {
		wrong.Add("expiry.field", s.Expiry.Field, "the name of a field with dates")
	} else if s.Fields[s.Expiry.Field].Type == "stored" {
		wrong.Add("expiry.field", s.Expiry.Field, "a field that the settings do not declare stored: these have no values in the index")
	}
	if _, ok := s.Expiry.Delay(); !ok {
		wrong.Add("expiry.after", s.Expiry.After, "a span of up to 100 years in hours, days or weeks, such as 12h, 30d or 2w")
	}
}
