package filter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a filter.
const (
	MaxLength = 4096 // bytes
	MaxDepth  = 20   // parentheses and NOTs inside one another
	MaxList   = 1024 // values after IN
)

// ErrSyntax is matched by every error of Parse, each a *SyntaxError.
var ErrSyntax = errors.New("filter: syntax error")

// SyntaxError tells where a filter could not be parsed.
type SyntaxError struct {
	Pos      int    // byte offset into the filter
	Expected string // what is allowed there, or the limit that was exceeded
	Found    string // "" for a limit
	Hint     string // how to write what was probably meant; "" if unknown
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("filter: at byte %d: %s", e.Pos, e.Expected)
	}
	s := fmt.Sprintf("filter: at byte %d: expected %s, found %s", e.Pos, e.Expected, e.Found)
	if e.Hint != "" {
		s += "; write " + e.Hint
	}
	return s
}

// Is makes errors.Is(err, ErrSyntax) true.
func (e *SyntaxError) Is(target error) bool { return target == ErrSyntax }

const (
	wantField    = "a field name, NOT or ("
	wantOperator = "=, !=, <, <=, >, >=, IN, EXISTS, CONTAINS, STARTS WITH or WITHIN"
	wantValue    = "a value ('text', a number, true or false)"
)

// Parse reads a filter. Its errors are *SyntaxError and name the byte at which it stopped.
func Parse(s string) (Expr, error) {
	if len(s) > MaxLength {
		return nil, &SyntaxError{Pos: MaxLength, Expected: fmt.Sprintf("a filter has at most %d bytes, this one has %d", MaxLength, len(s))}
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return nil, &SyntaxError{Pos: i, Expected: "UTF-8", Found: fmt.Sprintf("the byte 0x%02x", s[i])}
			}
		}
	}
	p := &parser{scanner: scanner{text: s}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.expected("AND, OR or the end of the filter")
	}
	return e, nil
}

// parser is one function per rule of the grammar; tok is the token that has been read and not yet
// used.
type parser struct {
	scanner
	tok token
}

func (p *parser) advance() error {
	tok, err := p.next()
	p.tok = tok
	return err
}

func (p *parser) expected(what string) error {
	return &SyntaxError{Pos: p.tok.pos, Expected: what, Found: p.tok.describe()}
}

// suggest is expected with a hint.
func (p *parser) suggest(what, hint string) error {
	return &SyntaxError{Pos: p.tok.pos, Expected: what, Found: p.tok.describe(), Hint: hint}
}

// isWord reports whether the token is an unquoted word that the language itself does not use.
func (p *parser) isWord(words ...string) bool {
	return p.tok.kind == tokField && p.text[p.tok.pos] != '`' && slices.Contains(words, strings.ToUpper(p.tok.text))
}

// isNull reports whether the token is a name that other languages have for no value.
func (p *parser) isNull() bool { return p.isWord("NULL", "NIL", "NONE", "UNDEFINED") }

// presence is the condition that field has a value, or has none.
func presence(field string, present bool) string {
	if present {
		return fieldName(field) + " EXISTS"
	}
	return fieldName(field) + " NOT EXISTS"
}

func (p *parser) isKeyword(word string) bool { return p.tok.kind == tokKeyword && p.tok.text == word }

// or = and { "OR" and }
func (p *parser) or(depth int) (Expr, error) {
	all, err := operands[Or](p, "OR", func() (Expr, error) { return p.and(depth) })
	if len(all) == 1 {
		return all[0], nil
	}
	return all, err
}

// and = not { "AND" not }
func (p *parser) and(depth int) (Expr, error) {
	all, err := operands[And](p, "AND", func() (Expr, error) { return p.not(depth) })
	if len(all) == 1 {
		return all[0], nil
	}
	return all, err
}

// operands parses operands that a keyword joins, with those of nested T in their place.
func operands[T interface {
	~[]Expr
	Expr
}](p *parser, word string, operand func() (Expr, error)) (all T, err error) {
	for {
		x, err := operand()
		if err != nil {
			return nil, err
		}
		if inner, ok := x.(T); ok {
			all = append(all, inner...)
		} else {
			all = append(all, x)
		}
		if !p.isKeyword(word) {
			return all, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

// not = "NOT" not | "(" or ")" | condition
func (p *parser) not(depth int) (Expr, error) {
	if depth > MaxDepth {
		return nil, &SyntaxError{Pos: p.tok.pos, Expected: fmt.Sprintf("a filter is nested at most %d deep", MaxDepth)}
	}
	switch {
	case p.isKeyword("NOT"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return Not{x}, nil
	case p.tok.kind == tokOpen:
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.tok.kind != tokClose {
			return nil, p.expected("AND, OR or )")
		}
		return x, p.advance()
	case p.tok.kind == tokField:
		return p.condition()
	case p.tok.kind == tokString:
		return nil, p.suggest(wantField, "a field name without quotes, or in backquotes")
	case p.isKeyword("EXISTS"):
		return nil, p.existsFirst(depth)
	default:
		return nil, p.expected(wantField)
	}
}

// existsFirst is the error for EXISTS before its field, in parentheses or not.
func (p *parser) existsFirst(depth int) error {
	err := &SyntaxError{Pos: p.tok.pos, Expected: wantField, Found: p.tok.describe(), Hint: "EXISTS after the field name"}
	negated := strings.HasSuffix(strings.ToUpper(strings.TrimRightFunc(p.text[:p.tok.pos], unicode.IsSpace)), "NOT")
	for p.advance() == nil && p.tok.kind == tokOpen {
	}
	if p.tok.kind == tokField {
		err.Hint = presence(p.tok.text, !negated)
	}
	return err
}

func (p *parser) condition() (Expr, error) {
	field := p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokOp {
		return p.comparison(field)
	}
	negated := p.isKeyword("NOT")
	if negated {
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	var e Expr
	switch {
	case p.isKeyword("IN"):
		values, err := p.list()
		if err != nil {
			return nil, err
		}
		e = In{Field: field, Values: values}
	case p.isKeyword("EXISTS"):
		e = Exists{Field: field}
		if err := p.advance(); err != nil {
			return nil, err
		}
	case p.isWord("CONTAINS", "STARTS"):
		var err error
		if e, err = p.part(field); err != nil {
			return nil, err
		}
	case p.isWord("WITHIN"):
		var err error
		if e, err = p.area(field); err != nil {
			return nil, err
		}
	case p.isWord("IS"):
		return nil, p.isNullCondition(field)
	case p.isNull():
		return nil, p.suggest(wantOperator, presence(field, negated))
	case p.isWord("LIKE", "ILIKE", "MATCH", "MATCHES", "REGEXP", "ENDS", "STARTSWITH", "STARTS_WITH", "BEGINS"):
		return nil, p.suggest(wantOperator, fmt.Sprintf("%[1]s CONTAINS '...' or %[1]s STARTS WITH '...'", fieldName(field)))
	case negated:
		return nil, p.expected("IN, EXISTS, CONTAINS, STARTS WITH or WITHIN")
	case p.isWord("BETWEEN"):
		return nil, p.suggest(wantOperator, fmt.Sprintf("%[1]s >= ... AND %[1]s <= ...", fieldName(field)))
	default:
		return nil, p.expected(wantOperator)
	}
	if negated {
		e = Not{e}
	}
	return e, nil
}

// part = "CONTAINS" string | "STARTS" "WITH" string
func (p *parser) part(field string) (Expr, error) {
	e := Compare{Field: field, Op: Contains}
	if p.isWord("STARTS") {
		e.Op = StartsWith
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.isWord("WITH") {
			return nil, p.expected("WITH after STARTS")
		}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokString {
		return nil, p.expected("a text in quotes after " + e.Op.String())
	}
	e.Value = Value{Kind: String, Str: p.tok.text}
	return e, p.advance()
}

// isNullCondition is the error for field IS NULL and field IS NOT NULL.
func (p *parser) isNullCondition(field string) error {
	err := &SyntaxError{Pos: p.tok.pos, Expected: wantOperator, Found: p.tok.describe(), Hint: fieldName(field) + " = ..."}
	negated := false
	for p.advance() == nil && p.isKeyword("NOT") {
		negated = true
	}
	if p.isNull() {
		err.Hint = presence(field, negated)
	}
	return err
}

func (p *parser) comparison(field string) (Expr, error) {
	e := Compare{Field: field, Op: p.tok.op}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if e.Op >= Less && (p.isKeyword("TRUE") || p.isKeyword("FALSE")) {
		return nil, p.expected("a string or a number after " + e.Op.String())
	}
	if p.isNull() && e.Op <= NotEqual {
		return nil, p.suggest(wantValue, presence(field, e.Op == NotEqual))
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	e.Value = v
	return e, nil
}

// list = "IN" ( "[" [ value { "," value } ] "]" | "(" [ value { "," value } ] ")" )
func (p *parser) list() ([]Value, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	end, endText := tokCloseList, "]"
	switch p.tok.kind {
	case tokOpenList:
	case tokOpen: // as SQL writes it
		end, endText = tokClose, ")"
	default:
		return nil, p.expected("[ after IN")
	}
	var values []Value
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if len(values) == 0 && p.tok.kind == end {
			return nil, p.advance()
		}
		if len(values) == MaxList {
			return nil, &SyntaxError{Pos: p.tok.pos, Expected: fmt.Sprintf("a list has at most %d values", MaxList)}
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
		switch p.tok.kind {
		case tokComma:
		case end:
			return values, p.advance()
		default:
			return nil, p.expected(", or " + endText)
		}
	}
}

func (p *parser) value() (Value, error) {
	var v Value
	switch {
	case p.tok.kind == tokString:
		v = literal(p.tok.text)
	case p.tok.kind == tokNumber:
		var ok bool
		if v, ok = ParseNumber(p.tok.text); !ok {
			return v, p.expected("a finite number")
		}
	case p.isKeyword("TRUE"):
		v = boolValue(true)
	case p.isKeyword("FALSE"):
		v = boolValue(false)
	case p.tok.kind == tokField:
		return v, &SyntaxError{Pos: p.tok.pos, Expected: wantValue, Found: strconv.Quote(p.tok.text) + " without quotes"}
	default:
		return v, p.expected(wantValue)
	}
	return v, p.advance()
}
