package content

import (
	"cmp"
	"regexp"
	"strings"
	"time"
)

// written matches dates as YAML, SQL, Python and site generators write them: 2024-01-15 10:00:00
// +0100, 2024/1/5.
var written = regexp.MustCompile(`^(\d{4})([-/])(\d{1,2})([-/])(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?[ \t]*(Z|z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?)?$`)

// StandardTime returns a date as RFC 3339 has it, in UTC by default, and other strings unchanged.
func StandardTime(s string) string {
	m := written.FindStringSubmatch(s)
	if m == nil || m[2] != m[4] {
		return s
	}
	two := func(s string) string { return strings.Repeat("0", 2-min(2, len(s))) + s }
	day := m[1] + "-" + two(m[3]) + "-" + two(m[5])
	if m[6] == "" {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return s
		}
		return day
	}
	zone := "Z"
	if sign := m[10]; sign != "" && (sign[0] == '+' || sign[0] == '-') {
		hours, minutes, colon := strings.Cut(sign[1:], ":")
		if !colon && len(hours) > 2 {
			hours, minutes = hours[:len(hours)-2], hours[len(hours)-2:]
		}
		zone = sign[:1] + two(hours) + ":" + two(minutes)
	}
	fraction := ""
	if m[9] != "" {
		fraction = "." + m[9]
	}
	out := day + "T" + two(m[6]) + ":" + m[7] + ":" + two(m[8]) + fraction + zone
	if _, err := time.Parse(time.RFC3339Nano, out); err != nil {
		return s
	}
	return out
}

// StandardTimes applies StandardTime to all strings in v.
func StandardTimes(v any) any {
	switch v := v.(type) {
	case string:
		return StandardTime(v)
	case []any:
		for i := range v {
			v[i] = StandardTimes(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = StandardTimes(v[key])
		}
	}
	return v
}

// isoDate matches dates as filters read them.
var isoDate = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::\d\d(?:\.\d{1,9})?)? ?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?$`)

// IsDate reports whether s is a date that filters read.
func IsDate(s string) bool {
	if len(s) < len(time.DateOnly) || s[4] != '-' {
		return false
	}
	m := isoDate.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	_, err := time.Parse("2006-01-02 15:04", m[1]+" "+cmp.Or(m[2], "00:00"))
	return err == nil
}
