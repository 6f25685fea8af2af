package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// translated is a regular expression of Oniguruma, which Hugging Face's tokenizers use, in Go's
// syntax. Patterns of the GPT family end with \s+(?!\S)|\s+, which leaves the last blank of a run
// to the next word. Go has no look-ahead, so that alternative is left out and the match of group
// backOff, the \s+ at the end, is shortened by hand.
type translated struct {
	re      *regexp.Regexp
	backOff int
}

const spaceTail = `|\s+(?!\S)|\s+`

func translateRegex(p string) (*translated, error) {
	if len(p) > maxPattern {
		return nil, fmt.Errorf("pattern of %d bytes, allowed up to %d", len(p), maxPattern)
	}
	fail := func(err error) (*translated, error) { return nil, fmt.Errorf("pattern %q: %w", p, err) }
	t := &translated{}
	body, tail := strings.CutSuffix(p, spaceTail)
	o := oniguruma{atStart: true}
	expr, err := o.translate(body)
	if err == nil && tail && o.anchored {
		err = fmt.Errorf("^ is not supported before %s", spaceTail) // the rest after a match is searched as a new text
	}
	if err != nil {
		return fail(err)
	}
	if tail {
		expr = `(?:` + expr + `)|(?P<tail>[` + spaceSet + `]+)`
	}
	if t.re, err = regexp.Compile(expr); err != nil {
		return fail(err)
	}
	if t.re.MatchString("") {
		return fail(errors.New("one that matches the empty text is not supported"))
	}
	if tail {
		t.backOff = t.re.SubexpIndex("tail")
	}
	return t, nil
}

const (
	spaceSet  = `\s\v\x{85}\p{Z}`
	latinWord = `\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}` // what \w has in addition outside []
	wordSet   = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`
)

// oniguruma translates the part of Oniguruma's syntax that the patterns of published checkpoints
// use, and refuses everything else by name, so that no pattern is read with another meaning.
type oniguruma struct {
	out        strings.Builder
	groups     []bool // for each open group, whether (?i) holds outside of it
	fold       bool   // (?i) holds
	atStart    bool   // at the beginning of an alternative
	repeatable bool   // the part before can take a quantifier
	last       rune   // the literal before in the same alternative, or 0
	anchored   bool   // there is a ^
}

// maxGroups bounds the depth of groups.
const maxGroups = 64

var (
	patternPart = regexp.MustCompile(`^(?s:\((?:\?i?:)?|\[\^?(?:\\.|[^\[\]\\])+\]|[*+?]\??|\{\d+(?:,\d*)?\}\??|\\[pP]\{\w+\}|\\.|[^\\\[{(])`)
	setPart     = regexp.MustCompile(`^(?s:(\\[pP]\{\w+\}|\\.|[^\\])(-(?:\\.|[^\\]))?)`)
)

func (o *oniguruma) translate(p string) (string, error) {
	o.out.WriteString(`(?m:`) // ^ and $ are those of lines
	for p != "" {
		part := patternPart.FindString(p)
		if strings.HasPrefix(p, "(?") && len(part) == 1 || strings.HasPrefix(p, "(*") || part == "" {
			return "", fmt.Errorf("%.12q is not supported (look-around only as %s at the end)", p, spaceTail)
		}
		if err := o.part(part); err != nil {
			return "", err
		}
		p = p[len(part):]
	}
	if len(o.groups) > 0 {
		return "", errors.New("a group is not closed")
	}
	o.out.WriteString(`)`)
	return o.out.String(), nil
}

func (o *oniguruma) part(s string) error {
	atom := func(translated string) {
		o.out.WriteString(translated)
		o.atStart, o.repeatable, o.last = false, true, 0
	}
	switch s[0] {
	case '(':
		if len(o.groups) == maxGroups {
			return fmt.Errorf("groups nested deeper than %d", maxGroups)
		}
		o.groups = append(o.groups, o.fold)
		o.fold = o.fold || s == "(?i:"
		if s == "(" {
			s = "(?:"
		}
		o.out.WriteString(s)
		o.repeatable, o.last = false, 0
	case ')':
		n := len(o.groups) - 1
		if n < 0 {
			return errors.New("a group is closed that is not open")
		}
		o.fold, o.groups = o.groups[n], o.groups[:n]
		atom(`)`)
	case '|':
		o.out.WriteString(s)
		o.atStart, o.repeatable, o.last = len(o.groups) == 0, false, 0
	case '^':
		if !o.atStart {
			return errors.New("^ is supported at the beginning only") // Oniguruma finds no line after the last line break
		}
		o.anchored = true
		fallthrough
	case '$':
		o.out.WriteString(s)
		o.repeatable, o.last = false, 0
	case '*', '+', '?', '{':
		if !o.repeatable || strings.HasSuffix(s, "}?") && !strings.Contains(s, ",") {
			return fmt.Errorf("the quantifier %s is not supported here", s)
		}
		o.out.WriteString(s)
		o.repeatable, o.last = false, 0
	case '[':
		set, err := o.set(s[1 : len(s)-1])
		if err != nil {
			return err
		}
		atom(set)
	case '.':
		atom(`.`)
	case '\\':
		if set, ok := escapedSet(s, false); ok {
			if o.fold {
				return fmt.Errorf("%s where (?i) holds is not supported", s)
			}
			atom(set)
			return nil
		}
		fallthrough
	default:
		r, ok := character(s)
		if !ok {
			return fmt.Errorf("%s is not supported", s)
		}
		if err := o.checkFold(r); err != nil {
			return err
		}
		atom(regexp.QuoteMeta(string(r)))
		o.last = r
	}
	return nil
}

// checkFold refuses r where (?i) holds and Oniguruma, unlike Go, has characters that fold to
// several, such as ß and ﬆ.
func (o *oniguruma) checkFold(r rune) error {
	pair := strings.ToLower(string([]rune{o.last, r}))
	if o.fold && (r >= utf8.RuneSelf || pair == "ss" || pair == "ff" || pair == "fi" || pair == "fl" || pair == "st") {
		return fmt.Errorf("%q where (?i) holds is not supported", string(r))
	}
	return nil
}

// set translates the contents of [].
func (o *oniguruma) set(items string) (string, error) {
	not := ""
	if items[0] == '^' && len(items) > 1 {
		not, items = "^", items[1:]
	}
	var out strings.Builder
	for rest := items; rest != ""; {
		m := setPart.FindStringSubmatch(rest)
		if m == nil || strings.HasPrefix(rest, "&&") {
			return "", fmt.Errorf("%.12q inside [] is not supported", rest)
		}
		if rest == m[1]+"-" || rest == m[0] && m[2] == "" { // a - at the end is a character
			m[0], m[2] = m[1], ""
		}
		rest = rest[len(m[0]):]
		if s, ok := escapedSet(m[1], true); ok && m[2] == "" && !o.fold {
			out.WriteString(s)
			continue
		}
		r, ok := character(m[1])
		if !ok || r == '-' && m[1] == "-" && (m[2] != "" || rest != "" && len(items) != len(rest)+1) {
			return "", fmt.Errorf("%s inside [] is not supported", m[0])
		}
		if err := o.checkFold(r); err != nil {
			return "", err
		}
		fmt.Fprintf(&out, `\x{%X}`, r)
		if m[2] == "" {
			continue
		}
		to, ok := character(m[2][1:])
		if !ok || to < r || o.fold && to >= utf8.RuneSelf || len(rest) > 1 && rest[0] == '-' {
			return "", fmt.Errorf("the range %s inside [] is not supported", m[0])
		}
		fmt.Fprintf(&out, `-\x{%X}`, to)
	}
	return `[` + not + out.String() + `]`, nil
}

// escapedSet translates an escape for a set of characters.
func escapedSet(s string, inside bool) (string, bool) {
	set := ""
	switch {
	case s == `\s`:
		set = spaceSet
	case s == `\S` && !inside:
		return `[^` + spaceSet + `]`, true
	case s == `\d`:
		set = `\p{Nd}`
	case s == `\w` && inside:
		set = wordSet
	case s == `\w`:
		set = wordSet + latinWord
	case len(s) > 3 && (s[1] == 'p' || s[1] == 'P'):
		name := s[3 : len(s)-1]
		if unicode.Categories[name] == nil && unicode.Scripts[name] == nil {
			return "", false
		}
		set = s
	default:
		return "", false
	}
	if !inside {
		set = `[` + set + `]`
	}
	return set, true
}

// character returns the one character that s is, plain or escaped.
func character(s string) (rune, bool) {
	r, n := utf8.DecodeRuneInString(s)
	if r != '\\' || n == len(s) {
		return r, n == len(s)
	}
	switch r, _ = utf8.DecodeRuneInString(s[1:]); {
	case r == 'n':
		return '\n', true
	case r == 'r':
		return '\r', true
	case r == 't':
		return '\t', true
	}
	return r, r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

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
