package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/index/geo"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokField
	tokKeyword // text is the keyword in capitals
	tokString  // text is without quotes
	tokNumber
	tokOp
	tokOpen
	tokClose
	tokOpenList
	tokCloseList
	tokComma
)

type token struct {
	kind tokenKind
	pos  int
	text string
	op   Op
}

// describe names the token in an error.
func (t token) describe() string {
	const most = 40
	switch t.kind {
	case tokEnd:
		return "the end of the filter"
	case tokString:
		return "the string " + strconv.Quote(cut(t.text, most))
	default:
		return strconv.Quote(cut(t.text, most))
	}
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}

// scanner splits valid UTF-8 into tokens.
type scanner struct {
	text string
	pos  int
}

var punctuation = map[byte]tokenKind{'(': tokOpen, ')': tokClose, '[': tokOpenList, ']': tokCloseList, ',': tokComma}

func (s *scanner) next() (token, error) {
	for s.pos < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		if !unicode.IsSpace(r) {
			break
		}
		s.pos += size
	}
	if s.pos == len(s.text) {
		return token{kind: tokEnd, pos: s.pos}, nil
	}
	c := s.text[s.pos]
	if kind, ok := punctuation[c]; ok {
		s.pos++
		return token{kind: kind, pos: s.pos - 1, text: string(c)}, nil
	}
	switch {
	case c == '\'' || c == '"':
		return s.quoted(c, tokString, "string")
	case c == '`':
		t, err := s.quoted(c, tokField, "field name")
		if err == nil && (t.text == "" || t.text == DocumentID) {
			err = &SyntaxError{Pos: t.pos, Expected: "a field name", Found: strconv.Quote("`" + t.text + "`")}
		}
		return t, err
	case strings.IndexByte("=!<>", c) >= 0:
		return s.operator()
	case c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9':
		return s.number()
	}
	return s.word()
}

// quoted reads up to the quote that is not doubled. Backquotes cannot be doubled: no field name
// holds one.
func (s *scanner) quoted(quote byte, kind tokenKind, what string) (token, error) {
	start := s.pos
	var b strings.Builder
	for i := start + 1; i < len(s.text); i++ {
		if s.text[i] != quote {
			b.WriteByte(s.text[i])
			continue
		}
		if quote != '`' && i+1 < len(s.text) && s.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		s.pos = i + 1
		return token{kind: kind, pos: start, text: b.String()}, nil
	}
	return token{}, &SyntaxError{Pos: len(s.text), Expected: fmt.Sprintf("%c to end the %s that begins at byte %d", quote, what, start), Found: "the end of the filter"}
}

// operatorHints and runeHints name the forms of this language for those of others.
var (
	operatorHints = map[string]string{
		"==": "=", "===": "=", "<>": "!=", "!==": "!=", "=!": "!=", "=<": "<=", "=>": ">=", "!": "NOT before a condition",
	}
	runeHints = map[rune]string{'&': "AND", '|': "OR", ':': "= between a field and its value", '{': "[...] for a list", '“': "'...' for a text", '‘': "'...' for a text"}
)

func (s *scanner) operator() (token, error) {
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte("=!<>", s.text[s.pos]) >= 0 {
		s.pos++
	}
	text := s.text[start:s.pos]
	for op := Equal; op <= GreaterOrEqual; op++ {
		if op.String() == text {
			return token{kind: tokOp, pos: start, text: text, op: op}, nil
		}
	}
	return token{}, &SyntaxError{Pos: start, Expected: wantOperator, Found: strconv.Quote(cut(text, 40)), Hint: operatorHints[text]}
}

func (s *scanner) number() (token, error) {
	start := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' ||
			(c == '+' || c == '-') && (s.pos == start || s.text[s.pos-1]|0x20 == 'e') {
			s.pos++
			continue
		}
		break
	}
	end := s.pos
	for i, r := range s.text[end:] {
		if !nameRune(r, false) {
			break
		}
		s.pos = end + i + utf8.RuneLen(r) // 2024-01-02 or 3rd: the error shows all of it
	}
	if _, unit := geo.Metres(s.text[end:s.pos]); unit {
		s.pos = end // 5km: the unit is a word of its own
	}
	text := s.text[start:s.pos]
	if _, err := strconv.ParseFloat(text, 64); s.pos > end || err != nil && !isRange(err) {
		return token{}, &SyntaxError{Pos: start, Expected: "a number (dates and names stand in quotes)", Found: strconv.Quote(cut(text, 40))}
	}
	return token{kind: tokNumber, pos: start, text: text}, nil
}

// isRange reports whether a number is well-formed and too large.
func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// word reads a keyword or a field name.
func (s *scanner) word() (token, error) {
	start := s.pos
	for s.pos < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		if r != '.' && !nameRune(r, false) {
			break
		}
		s.pos += size
	}
	text := s.text[start:s.pos]
	if text == "" {
		r, _ := utf8.DecodeRuneInString(s.text[start:])
		return token{}, &SyntaxError{Pos: start, Expected: "a field, an operator, a value or a parenthesis", Found: strconv.QuoteRune(r), Hint: runeHints[r]}
	}
	if k := keyword(text); k != "" {
		return token{kind: tokKeyword, pos: start, text: k}, nil
	}
	if !plainField(text) {
		return token{}, &SyntaxError{Pos: start, Expected: "a field name (names joined by single dots, or any text between backquotes)", Found: strconv.Quote(cut(text, 40))}
	}
	return token{kind: tokField, pos: start, text: text}, nil
}
