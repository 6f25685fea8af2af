package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// oniguruma writes a pattern, which Hugging Face's tokenizers read with Oniguruma in its own
// syntax, in Go's. It knows what both can do, and refuses all else by name, so that no pattern is
// read in another way: (?m) is Go's (?s), ^ and $ mean lines, classes are of Unicode.
type oniguruma struct {
	in     string
	at     int
	out    strings.Builder
	fold   bool // (?i) holds
	first  bool // nothing that matches characters stands before in this alternative
	last   rune // the character before as an atom of its own, else 0
	groups []onigGroup

	anchored bool // there is a ^ or \A
}

// onigGroup is what held where a group began.
type onigGroup struct{ fold, first bool }

// maxGroups bounds the depth of groups.
const maxGroups = 64

func (o *oniguruma) translate() (string, error) {
	o.first = true
	o.out.WriteString(`(?m:`) // ^ and $ are those of lines
	for o.at < len(o.in) {
		if err := o.part(); err != nil {
			return "", err
		}
	}
	if len(o.groups) > 0 {
		return "", errors.New("a group is not closed")
	}
	o.out.WriteString(`)`)
	return o.out.String(), nil
}

// part translates the next piece of the pattern outside [].
func (o *oniguruma) part() error {
	r, n := utf8.DecodeRuneInString(o.in[o.at:])
	switch r {
	case '(':
		return o.open()
	case ')':
		if len(o.groups) == 0 {
			return errors.New("a group is closed that is not open")
		}
		g := o.groups[len(o.groups)-1]
		o.groups = o.groups[:len(o.groups)-1]
		o.fold = g.fold
		o.at++
		return o.quantified(`)`)
	case '|':
		o.at++
		o.out.WriteByte('|')
		o.first, o.last = true, 0
		if n := len(o.groups); n > 0 {
			o.first = o.groups[n-1].first
		}
		return nil
	case '^':
		// Oniguruma finds no line after the last line break.
		if !o.first {
			return errors.New("^ is supported at the beginning only")
		}
		o.anchored = true
		return o.anchor(1, `^`)
	case '$':
		return o.anchor(1, `$`)
	case '.':
		o.at++
		return o.quantified(`.`)
	case '[':
		set, err := o.class()
		if err != nil {
			return err
		}
		return o.quantified(set)
	case '\\':
		return o.escape()
	case '*', '+', '?':
		return fmt.Errorf("%c has nothing to repeat", r)
	case '{':
		if q, n, _, err := interval(o.in[o.at:]); err != nil || n > 0 {
			return cmp.Or(err, fmt.Errorf("%s has nothing to repeat", q))
		}
	}
	o.at += n
	return o.literal(r)
}

// anchor writes what matches a place. That it is repeated is refused.
func (o *oniguruma) anchor(n int, s string) error {
	o.at += n
	o.last = 0
	if q, err := o.quantifier(); err != nil || q != "" {
		return fmt.Errorf("%s cannot be repeated", s)
	}
	o.out.WriteString(s)
	return nil
}

// quantified writes what matches characters and how often.
func (o *oniguruma) quantified(s string) error {
	q, err := o.quantifier()
	o.out.WriteString(s)
	o.out.WriteString(q)
	o.first, o.last = false, 0
	return err
}

// multiFolds are the neighbours that Oniguruma takes for a character like ß or ﬆ as well, where
// (?i) holds.
var multiFolds = []string{"ss", "ff", "fi", "fl", "st"}

// literal writes one character that stands for itself.
func (o *oniguruma) literal(r rune) error {
	before := unicode.ToLower(o.last)
	if o.fold && (foldsOtherwise(r) || slices.Contains(multiFolds, string([]rune{before, unicode.ToLower(r)}))) {
		return fmt.Errorf("%q where (?i) holds is not supported: Oniguruma has characters that fold to several", string(r))
	}
	q, err := o.quantifier()
	o.out.WriteString(regexp.QuoteMeta(string(r)))
	o.out.WriteString(q)
	o.first, o.last = false, 0
	if q == "" {
		o.last = r
	}
	return err
}

// foldsOtherwise reports whether r may be one of the characters beyond ASCII that fold to several,
// or a part of what they fold to.
func foldsOtherwise(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.IsLetter(r) && !unicode.Is(unicode.Lo, r) || unicode.IsMark(r))
}

// quantifier reads one behind an atom; "" where there is none.
func (o *oniguruma) quantifier() (string, error) {
	rest := o.in[o.at:]
	if rest == "" {
		return "", nil
	}
	q, exact := "", false
	switch rest[0] {
	case '*', '+', '?':
		q = rest[:1]
		o.at++
	case '{':
		var n int
		var err error
		if q, n, exact, err = interval(rest); err != nil || n == 0 {
			return "", err
		}
		o.at += n
	default:
		return "", nil
	}
	if o.at == len(o.in) {
		return q, nil
	}
	switch c := o.in[o.at]; {
	case c == '?' && exact:
		return "", fmt.Errorf("%s? is not supported", q) // Oniguruma: that often or not at all
	case c == '?':
		o.at++
		q += "?"
	case c == '+' && len(q) == 1:
		return "", fmt.Errorf("the possessive quantifier %s+ is not supported", q)
	}
	if o.at < len(o.in) {
		c := o.in[o.at]
		again := c == '*' || c == '+' || c == '?'
		if c == '{' {
			_, n, _, err := interval(o.in[o.at:])
			again = n > 0 || err != nil
		}
		if again {
			return "", fmt.Errorf("the quantifier %s%c of a quantifier is not supported", q, c)
		}
	}
	return q, nil
}

// interval reads {n}, {n,}, {,m} or {n,m} at the start of s and returns it in Go's syntax with its
// length in s, and whether it is {n}. Any other { stands for itself, with length 0.
func interval(s string) (q string, n int, exact bool, err error) {
	body, _, ok := strings.Cut(s[1:], "}")
	low, high, comma := strings.Cut(body, ",")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if !ok || !digits(low) || !digits(high) || low+high == "" {
		return "", 0, false, nil
	}
	if low == "" {
		low = "0"
	}
	a, err := strconv.Atoi(low)
	if err == nil && high != "" {
		var b int
		if b, err = strconv.Atoi(high); err == nil && a > b {
			return "", 0, false, fmt.Errorf("the quantifier {%s}, whose bounds are the wrong way round, is not supported", body)
		}
	}
	if err != nil {
		return "", 0, false, fmt.Errorf("the quantifier {%s} is too large", body)
	}
	if !comma {
		return "{" + low + "}", len(body) + 2, true, nil
	}
	return "{" + low + "," + high + "}", len(body) + 2, false, nil
}

// open reads the beginning of a group, or options for the rest of one.
func (o *oniguruma) open() error {
	rest := o.in[o.at:]
	if len(o.groups) >= maxGroups {
		return fmt.Errorf("groups inside of more than %d", maxGroups)
	}
	if strings.HasPrefix(rest, "(*") {
		return errors.New("callouts like (*FAIL) are not supported")
	}
	if !strings.HasPrefix(rest, "(?") {
		return o.begin(1, `(?:`, o.fold)
	}
	if strings.HasPrefix(rest, "(?:") {
		return o.begin(3, `(?:`, o.fold)
	}
	for _, what := range []string{"(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.HasPrefix(rest, what) {
			return fmt.Errorf("look-around and atomic groups are not supported (only %s at the end)", spaceTail)
		}
	}
	if name, after, ok := strings.Cut(strings.TrimPrefix(rest, "(?<"), ">"); ok && strings.HasPrefix(rest, "(?<") {
		for _, r := range name {
			if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return fmt.Errorf("the group name %.40q is not supported", name)
			}
		}
		return o.begin(len(rest)-len(after), `(?:`, o.fold)
	}
	flags, fold, off := "", o.fold, false
	for i, c := range rest[2:] {
		n := i + 3 // bytes up to behind c
		switch {
		case c == 'i' && !off || c == 'm' && !off:
			fold = fold || c == 'i'
			flags += map[rune]string{'i': "i", 'm': "s"}[c]
		case c == 'i' || c == 'm':
			fold = fold && c != 'i'
			flags += map[rune]string{'i': "i", 'm': "s"}[c]
		case c == '-' && !off:
			off = true
			flags += "-"
		case c == ':' && flags != "" && flags != "-":
			return o.begin(n, `(?`+flags+`:`, fold)
		case c == ')' && flags != "" && flags != "-":
			// In Oniguruma such options hold in all alternatives that follow, which makes a group
			// of them behind something.
			if !o.first || o.last != 0 || o.at > 0 && o.in[o.at-1] != '(' && o.in[o.at-1] != ':' {
				return fmt.Errorf("%s is supported at the beginning of the pattern or of a group only", rest[:n])
			}
			o.at += n
			o.fold = fold
			o.out.WriteString(`(?` + flags + `)`)
			return nil
		default:
			return fmt.Errorf("the group %s%c is not supported", rest[:i+2], c)
		}
	}
	return errors.New("a group is not closed")
}

// begin goes into a group whose beginning has n bytes.
func (o *oniguruma) begin(n int, s string, fold bool) error {
	o.groups = append(o.groups, onigGroup{o.fold, o.first})
	o.at += n
	o.fold, o.last = fold, 0
	o.out.WriteString(s)
	return nil
}
