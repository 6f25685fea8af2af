package tokenizer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape translates what begins with \ outside [].
func (o *oniguruma) escape() error {
	if strings.HasPrefix(o.in[o.at:], `\A`) {
		if !o.first {
			return errors.New(`\A is supported at the beginning only`)
		}
		o.anchored = true
		return o.anchor(2, `\A`)
	}
	if strings.HasPrefix(o.in[o.at:], `\z`) {
		return o.anchor(2, `\z`)
	}
	e, err := o.escaped(false)
	if err != nil {
		return err
	}
	if e.set == "" {
		return o.literal(e.char)
	}
	return o.quantified(e.set)
}

// classItem is a character, or a set in Go's syntax: one that stands in [] as it is, or outside of
// [].
type classItem struct {
	char rune
	set  string
}

// escaped reads an escape that stands for a character or a set.
func (o *oniguruma) escaped(inClass bool) (classItem, error) {
	s := o.in[o.at:]
	r, n := utf8.DecodeRuneInString(s[1:])
	if n == 0 {
		return classItem{}, errors.New(`\ at the end`)
	}
	refused := func(why string) (classItem, error) { return classItem{}, fmt.Errorf(`\%c%s`, r, why) }
	o.at += 1 + n
	set := func(positive string) (classItem, error) {
		if inClass {
			return classItem{set: positive}, nil
		}
		return classItem{set: `[` + positive + `]`}, nil
	}
	negated := func(positive string) (classItem, error) {
		if inClass {
			return refused(" inside [] is not supported")
		}
		return classItem{set: `[^` + positive + `]`}, nil
	}
	if o.fold && strings.ContainsRune("pPwW", r) {
		return refused(" where (?i) holds is not supported")
	}
	switch r {
	case 's':
		return set(spaceSet)
	case 'S':
		return negated(spaceSet)
	case 'd':
		return classItem{set: `\p{Nd}`}, nil
	case 'D':
		return classItem{set: `\P{Nd}`}, nil
	case 'h':
		return set(hexSet)
	case 'H':
		return negated(hexSet)
	case 'w':
		if inClass {
			return set(wordSet)
		}
		return set(wordSet + latinWord)
	case 'W':
		return negated(wordSet + latinWord)
	case 'p', 'P':
		return o.property(r)
	case 'a', 'e', 'f', 'n', 'r', 't', 'v':
		return classItem{char: map[rune]rune{'a': 7, 'e': 0x1B, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}[r]}, nil
	case 'u':
		if len(s) >= 6 {
			return o.hex(s[2:6], 6)
		}
		return refused(" wants four hexadecimal digits")
	case 'x':
		if body, _, ok := strings.Cut(strings.TrimPrefix(s[2:], "{"), "}"); ok && strings.HasPrefix(s[2:], "{") {
			return o.hex(body, len(body)+4)
		}
		if len(s) >= 4 {
			c, err := o.hex(s[2:4], 4)
			if err == nil && c.char >= utf8.RuneSelf {
				return refused(s[2:4] + " is a byte and not a character: not supported")
			}
			return c, err
		}
		return refused(" wants two hexadecimal digits")
	}
	switch {
	case r >= '0' && r <= '9':
		return refused(": references and octal numbers are not supported")
	case r < utf8.RuneSelf && (unicode.IsLetter(r)):
		return refused(" is not supported")
	}
	return classItem{char: r}, nil
}

// hex reads the number of a character in an escape of n bytes.
func (o *oniguruma) hex(digits string, n int) (classItem, error) {
	start := o.at - 2
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(min(v, 1<<30))) {
		return classItem{}, fmt.Errorf("%.20q is no character", o.in[start:start+n])
	}
	o.at = start + n
	return classItem{char: rune(v)}, nil
}

// property reads the rest of \p{Name}, \p{^Name} or \P{Name}: a general category by its short or
// long name, or a script.
func (o *oniguruma) property(letter rune) (classItem, error) {
	rest := o.in[o.at:]
	name, _, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
	if !ok || !strings.HasPrefix(rest, "{") {
		return classItem{}, fmt.Errorf(`\%c without {} is not supported`, letter)
	}
	o.at += len(name) + 2
	plain, not := strings.CutPrefix(name, "^")
	long := unicode.CategoryAliases[plain]
	if strings.ToLower(plain) == plain { // punct and its like mean something else to Oniguruma
		long = ""
	}
	if unicode.Categories[plain] == nil && unicode.Scripts[plain] == nil && long == "" {
		return classItem{}, fmt.Errorf(`\%c{%.40s} is not supported, allowed are general categories and scripts`, letter, name)
	}
	if long != "" {
		plain = long
	}
	if not != (letter == 'P') {
		return classItem{set: `\P{` + plain + `}`}, nil
	}
	return classItem{set: `\p{` + plain + `}`}, nil
}

// class reads [] and returns it in Go's syntax.
func (o *oniguruma) class() (string, error) {
	var out strings.Builder
	out.WriteByte('[')
	o.at++
	if strings.HasPrefix(o.in[o.at:], "^") {
		o.at++
		out.WriteByte('^')
	}
	for first := true; ; first = false {
		if o.at >= len(o.in) {
			return "", errors.New("[ is not closed")
		}
		if o.in[o.at] == ']' {
			if first {
				return "", errors.New("] at the beginning of [] is not supported")
			}
			o.at++
			return out.String() + "]", nil
		}
		item, err := o.classItem(first)
		if err != nil {
			return "", err
		}
		rest := o.in[o.at:]
		isRange := len(rest) > 1 && rest[0] == '-' && rest[1] != ']'
		if item.set != "" {
			out.WriteString(item.set)
			if !isRange {
				continue
			}
			return "", errors.New(`- between a class and a character inside [] is not supported, \- is`)
		}
		if o.fold && foldsOtherwise(item.char) {
			return "", fmt.Errorf("%q where (?i) holds is not supported: Oniguruma has characters that fold to several", string(item.char))
		}
		fmt.Fprintf(&out, `\x{%X}`, item.char)
		if !isRange {
			continue
		}
		o.at++
		to, err := o.classItem(false)
		if err != nil {
			return "", err
		}
		if to.set != "" || to.char < item.char {
			return "", errors.New("a range inside [] has no end, or one before its beginning")
		}
		if o.fold && to.char >= utf8.RuneSelf {
			return "", errors.New("a range beyond ASCII where (?i) holds is not supported")
		}
		fmt.Fprintf(&out, `-\x{%X}`, to.char)
		if rest := o.in[o.at:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			return "", errors.New(`- behind a range inside [] is not supported, \- is`)
		}
	}
}

// classItem reads one character or set inside []. A - counts as a character at the beginning and
// the end only.
func (o *oniguruma) classItem(first bool) (classItem, error) {
	rest := o.in[o.at:]
	switch {
	case rest == "":
		return classItem{}, errors.New("[ is not closed")
	case rest[0] == '[' || strings.HasPrefix(rest, "&&"):
		return classItem{}, errors.New("[ and && inside [] are not supported")
	case rest[0] == '-' && !first && !strings.HasPrefix(rest, "-]"):
		return classItem{}, errors.New(`- inside [] that is neither a range nor at one of its ends is not supported, \- is`)
	case rest[0] == '\\':
		if strings.HasPrefix(rest, `\b`) || strings.HasPrefix(rest, `\B`) {
			return classItem{}, fmt.Errorf(`%s is not supported`, rest[:2])
		}
		return o.escaped(true)
	}
	r, n := utf8.DecodeRuneInString(rest)
	o.at += n
	return classItem{char: r}, nil
}
