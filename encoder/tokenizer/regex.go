package tokenizer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// translated is a regular expression of Oniguruma in Go's syntax. Patterns of the GPT family end
// with \s+(?!\S)|\s+, which leaves the last blank of a run to the word after it. Go knows no
// look-ahead: the expression is compiled without that alternative, and group backOff, which is the
// \s+ at its end, is shortened by hand.
type translated struct {
	re      *regexp.Regexp
	backOff int
}

const spaceTail = `|\s+(?!\S)|\s+`

func translateRegex(p string) (*translated, error) {
	if len(p) > maxPattern {
		return nil, fmt.Errorf("pattern of %d bytes, allowed up to %d", len(p), maxPattern)
	}
	t := &translated{}
	body, tail := strings.CutSuffix(p, spaceTail)
	o := oniguruma{in: body}
	expr, err := o.translate()
	if err == nil && tail && o.anchored {
		// What follows a match is searched as a text of its own.
		err = fmt.Errorf(`^ and \A are not supported before %s`, spaceTail)
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", p, err)
	}
	if tail {
		expr = `(?:` + expr + `)|(?P<tail>` + spaceClass + `+)`
	}
	t.re, err = regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", p, err)
	}
	if t.re.MatchString("") { // the tail, which is the last, does not
		return nil, fmt.Errorf("pattern %q: one that matches the empty text is not supported", p)
	}
	if tail {
		t.backOff = t.re.SubexpIndex("tail")
	}
	return t, nil
}

const (
	spaceSet   = `\s\v\x{85}\p{Z}`
	spaceClass = `[` + spaceSet + `]`
	latinWord  = `\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}` // what \w has on top outside of []
	wordSet    = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`
	hexSet     = `0-9A-Fa-f`
)

// matches implements matcher. No match is empty: translateRegex refuses patterns that have one.
func (t *translated) matches(b []byte, f func(i, j int)) {
	if t.backOff == 0 {
		for _, m := range t.re.FindAllIndex(b, -1) {
			f(m[0], m[1])
		}
		return
	}
	for at := 0; at < len(b); {
		m := t.re.FindSubmatchIndex(b[at:])
		if m == nil {
			return
		}
		i, j := at+m[0], at+m[1]
		if m[2*t.backOff] >= 0 && j < len(b) {
			if _, n := utf8.DecodeLastRune(b[i:j]); i < j-n {
				j -= n
			}
		}
		f(i, j)
		at = j
	}
}
