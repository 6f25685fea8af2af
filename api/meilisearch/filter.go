package meilisearch

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"example.com/searchd/index/filter"
)

// maxFilterDepth bounds parentheses and NOTs inside one another.
const maxFilterDepth = filter.MaxDepth

// Filter translates a filter of Meilisearch, a string or an array whose elements all hold and in
// whose inner arrays one does, into the language of searches. null and "" are no filter.
func Filter(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return filterText(text)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", bad("invalid_search_filter", "filter: got %.80q, allowed: a string, or an array of strings and arrays", string(raw))
	}
	var all []string
	for _, part := range list {
		var some []json.RawMessage
		if json.Unmarshal(part, &some) != nil {
			some = []json.RawMessage{part}
		}
		var one []string
		for _, item := range some {
			var text string
			if err := json.Unmarshal(item, &text); err != nil {
				return "", bad("invalid_search_filter", "filter: got %.80q in an array, allowed: a string", string(item))
			}
			e, err := filterText(text)
			if err != nil {
				return "", err
			}
			if e != "" {
				one = append(one, "("+e+")")
			}
		}
		if len(one) > 0 {
			all = append(all, "("+strings.Join(one, " OR ")+")")
		}
	}
	return checked(strings.Join(all, " AND "))
}

// filterText translates a filter that is a string.
func filterText(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	p := &filterParser{text: text}
	p.next()
	e := p.or(0)
	if p.err == nil && p.word != "" {
		p.fail("AND, OR or the end of the filter")
	}
	if p.err != nil {
		return "", p.err
	}
	return checked(e)
}

// checked returns a filter of ours that the engine accepts.
func checked(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	e, err := filter.Parse(text)
	if err != nil {
		return "", bad("invalid_search_filter", "filter: %s, of what it was translated to: %s", err, text)
	}
	return e.String(), nil // without needless parentheses
}

// filterParser reads a filter and writes it in our language. A function per rule; the first error
// counts.
type filterParser struct {
	text   string
	pos    int    // of what follows the word
	at     int    // of the word
	word   string // the current token; "" at the end
	quoted bool   // the word was in quotes
	err    error
}

func (p *filterParser) fail(expected string) string {
	if p.err == nil {
		found := "the end of the filter"
		if p.word != "" || p.quoted {
			found = fmt.Sprintf("%.40q", p.word)
		}
		p.err = bad("invalid_search_filter", "filter: at byte %d: expected %s, found %s", p.at, expected, found)
	}
	p.word, p.quoted, p.pos = "", false, len(p.text)
	return ""
}

// next reads a token: a quoted value, an operator, a bracket or a word.
func (p *filterParser) next() {
	rest := strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace)
	p.at = len(p.text) - len(rest)
	p.word, p.quoted = "", false
	if rest == "" {
		p.pos = len(p.text)
		return
	}
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		var b strings.Builder
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && i+1 < len(rest):
				i++
				b.WriteByte(rest[i])
			case rest[i] == c:
				p.word, p.quoted, p.pos = b.String(), true, p.at+i+1
				return
			default:
				b.WriteByte(rest[i])
			}
		}
		p.fail("the quote that ends the value")
	case strings.IndexByte("()[],", c) >= 0:
		p.word, p.pos = rest[:1], p.at+1
	case strings.IndexByte("=<>!", c) >= 0:
		n := 1
		if len(rest) > 1 && rest[1] == '=' {
			n = 2
		}
		p.word, p.pos = rest[:n], p.at+n
	default:
		n := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()[],=<>!'\"", r) })
		if n < 0 {
			n = len(rest)
		}
		p.word, p.pos = rest[:n], p.at+n
	}
}

// is reports whether the token is a keyword or sign.
func (p *filterParser) is(word string) bool { return !p.quoted && strings.EqualFold(p.word, word) }

// accept reads a keyword or sign if it is the token.
func (p *filterParser) accept(word string) bool {
	if !p.is(word) {
		return false
	}
	p.next()
	return true
}

func (p *filterParser) or(depth int) string {
	e := p.and(depth)
	for p.err == nil && p.accept("OR") {
		e += " OR " + p.and(depth)
	}
	return e
}

func (p *filterParser) and(depth int) string {
	e := p.not(depth)
	for p.err == nil && p.accept("AND") {
		e += " AND " + p.not(depth)
	}
	return e
}

func (p *filterParser) not(depth int) string {
	if depth > maxFilterDepth {
		return p.fail(fmt.Sprintf("at most %d parentheses and NOTs inside one another", maxFilterDepth))
	}
	if p.accept("NOT") {
		return "NOT (" + p.not(depth+1) + ")"
	}
	if p.accept("(") {
		e := p.or(depth + 1)
		if p.err == nil && !p.accept(")") {
			return p.fail(") or an operator")
		}
		return "(" + e + ")"
	}
	return p.condition()
}

// unsupported are the conditions that the engine cannot answer.
var unsupported = []string{"CONTAINS", "STARTS", "VECTOR_FILTER"}

func (p *filterParser) condition() string {
	for _, word := range unsupported {
		if p.is(word) {
			return p.fail("a filter without " + word + ", which this server does not have")
		}
	}
	for _, area := range []func() (string, bool){p.radius, p.boundingBox, p.polygon} {
		if e, ok := area(); ok {
			return e
		}
	}
	if p.word == "" || !p.quoted && strings.ContainsAny(p.word, "()[],=<>!") {
		return p.fail("the name of an attribute")
	}
	if strings.ContainsAny(p.word, "`\n") {
		return p.fail("the name of an attribute without backquotes and line breaks")
	}
	field := "`" + p.word + "`"
	p.next()
	negated := p.accept("NOT")
	negate := func(e string) string {
		if negated && p.err == nil {
			return "NOT (" + e + ")"
		}
		return e
	}
	switch {
	case p.accept("IN"):
		if !p.accept("[") {
			return p.fail("[")
		}
		var some []string
		for p.err == nil && !p.accept("]") {
			some = append(some, equal(field, p.value()))
			if !p.accept(",") && !p.is("]") {
				p.fail(", or ]")
			}
		}
		if len(some) == 0 {
			some = []string{"(" + field + " EXISTS AND NOT " + field + " EXISTS)"} // never
		}
		return negate("(" + strings.Join(some, " OR ") + ")")
	case p.accept("EXISTS"):
		return negate(field + " EXISTS")
	case negated:
		return p.fail("IN or EXISTS after NOT")
	case p.accept("IS"):
		negated = p.accept("NOT")
		switch {
		case p.accept("NULL"):
			return negate("NOT " + field + " EXISTS")
		case p.accept("EMPTY"):
			return negate(field + " = ''")
		}
		return p.fail("NULL or EMPTY")
	case p.accept("="):
		return equal(field, p.value())
	case p.accept("!="):
		return "NOT " + equal(field, p.value())
	}
	for _, op := range []string{">=", "<=", ">", "<"} {
		if p.accept(op) {
			return field + " " + op + " " + p.limit()
		}
	}
	for _, word := range unsupported {
		if p.is(word) {
			return p.fail("another operator than " + word + ", which this server does not have")
		}
	}
	from := p.limitOrFail("=, !=, >, >=, <, <=, IN, NOT IN, EXISTS, IS NULL, IS EMPTY or a range")
	if p.err != nil {
		return ""
	}
	if !p.accept("TO") {
		return p.fail("TO")
	}
	return "(" + field + " >= " + from + " AND " + field + " <= " + p.limit() + ")"
}

// value reads a value.
func (p *filterParser) value() string {
	if p.word == "" && !p.quoted || !p.quoted && strings.ContainsAny(p.word, "()[],=<>!") {
		return p.fail("a value")
	}
	v := p.word
	p.next()
	return v
}

// equal is the condition that a field has a value, which Meilisearch compares as text and, where it
// looks like one, as a number or a boolean.
func equal(field, value string) string {
	text := field + " = " + quote(value)
	if _, ok := filter.ParseNumber(value); ok || value == "true" || value == "false" {
		return "(" + field + " = " + value + " OR " + text + ")"
	}
	return text
}

// limit reads a limit: a number, or a text such as a date.
func (p *filterParser) limit() string { return p.limitOrFail("a number or a date") }

func (p *filterParser) limitOrFail(expected string) string {
	if p.word == "" || !p.quoted && strings.ContainsAny(p.word, "()[],=<>!") {
		return p.fail(expected)
	}
	v := p.word
	if _, ok := filter.ParseNumber(v); !ok {
		if !p.quoted && !strings.ContainsAny(v, "0123456789") {
			return p.fail(expected)
		}
		v = quote(v)
	}
	p.next()
	return v
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
