package content

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// Typed returns s as a bool or a number if it is written like one. 007, +1, 1e5, NaN and numbers of
// more than 15 digits stay strings: they are codes and telephone numbers more often than
// quantities.
func Typed(s string) any {
	switch s {
	case "true", "TRUE", "True":
		return true
	case "false", "FALSE", "False":
		return false
	}
	if !decimal.MatchString(s) || len(s) > 16 {
		return s
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil { // cannot happen for a decimal
		return s
	}
	return v
}

// IsText reports whether head has no NUL and few other control characters. It need not be UTF-8.
func IsText(head []byte) bool {
	control := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		i += n
		switch {
		case r == 0:
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b:
			control++
		}
	}
	return control*20 <= len(head)
}

// Atoi returns the number that s is; 0 if it is none.
func Atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
