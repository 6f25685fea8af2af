package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrSyntax is a template that cannot be parsed, or uses a part of Jinja that is not supported.
var ErrSyntax = errors.New("jinja: bad template")

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokText
	tokOutput // {{
	tokBlock  // {%
	tokClose  // }} or %}
	tokName
	tokString
	tokNumber
	tokOperator
)

type token struct {
	kind tokenKind
	text string
	line int
}

// lex splits a template into tokens. As transformers configures Jinja, the first newline after a
// block is dropped, and blanks before a block at the beginning of a line; a minus sign at a
// delimiter drops all white space there, a plus sign keeps it.
func lex(src string) (out []token, err error) {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.TrimSuffix(src, "\n")
	line := 1
	trim, newline := false, false // white space to drop at the beginning of the next text
	for len(src) > 0 {
		at := nextDelimiter(src)
		text := src[:at]
		consumed := strings.Count(text, "\n")
		rest := src[at:]
		if trim {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		} else if newline {
			text = strings.TrimPrefix(text, "\n")
		}
		begin := at == 0 || strings.Trim(src[strings.LastIndexByte(src[:at], '\n')+1:at], " \t") == "" && (strings.Contains(src[:at], "\n") || len(out) == 0)
		if at == 0 {
			begin = len(out) == 0
		}
		trim, newline = false, false
		if len(rest) > 0 {
			switch {
			case len(rest) > 2 && rest[2] == '-':
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			case len(rest) > 2 && rest[2] == '+' || rest[1] == '{':
			case begin:
				text = strings.TrimRight(text, " \t")
			}
		}
		if text != "" {
			out = append(out, token{tokText, text, line})
		}
		line += consumed
		if len(rest) == 0 {
			break
		}
		body := rest[2:]
		if len(body) > 0 && (body[0] == '-' || body[0] == '+') {
			body = body[1:]
		}
		if rest[1] == '#' {
			end := strings.Index(body, "#}")
			if end < 0 {
				return nil, fmt.Errorf("%w: line %d: a comment does not end", ErrSyntax, line)
			}
			trim, newline = end > 0 && body[end-1] == '-', !(end > 0 && body[end-1] == '+')
			line += strings.Count(body[:end], "\n")
			src = body[end+2:]
			continue
		}
		kind, close := tokOutput, "}}"
		if rest[1] == '%' {
			kind, close = tokBlock, "%}"
		}
		if raw := strings.TrimLeft(body, " \t\n"); kind == tokBlock && strings.HasPrefix(raw, "raw") {
			if text, after, ok := rawBlock(raw); ok {
				out = append(out, token{tokText, text, line})
				line += strings.Count(body[:len(body)-len(after)], "\n")
				src, newline = after, true
				continue
			}
		}
		out = append(out, token{kind, rest[:2], line})
		for {
			body = skipSpace(body, &line)
			if body == "" {
				return nil, fmt.Errorf("%w: line %d: %s does not end", ErrSyntax, line, rest[:2])
			}
			if signed := strings.TrimPrefix(body, "-"); strings.HasPrefix(signed, close) {
				trim = len(signed) < len(body)
				newline = kind == tokBlock
				body = signed[2:]
				break
			}
			if kind == tokBlock && strings.HasPrefix(body, "+"+close) {
				body = body[3:]
				break
			}
			t, n, err := lexOne(body)
			if err != nil {
				return nil, fmt.Errorf("%w: line %d: %v", ErrSyntax, line, err)
			}
			t.line = line
			line += strings.Count(body[:n], "\n")
			out = append(out, t)
			body = body[n:]
		}
		out = append(out, token{tokClose, close, line})
		src = body
	}
	return append(out, token{kind: tokEnd, line: line}), nil
}

func skipSpace(s string, line *int) string {
	rest := strings.TrimLeft(s, " \t\n\r")
	*line += strings.Count(s[:len(s)-len(rest)], "\n")
	return rest
}

// nextDelimiter returns where the next {{, {% or {# begins.
func nextDelimiter(s string) int {
	for i := 0; ; i++ {
		k := strings.IndexByte(s[i:], '{')
		if k < 0 || i+k+1 >= len(s) {
			return len(s)
		}
		if i += k; s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#' {
			return i
		}
	}
}

// rawBlock returns what stands between {% raw %} and {% endraw %}.
func rawBlock(body string) (text, after string, ok bool) {
	head, rest, ok := strings.Cut(body, "%}")
	if !ok || strings.Trim(strings.TrimPrefix(head, "raw"), " -+\n\t") != "" {
		return "", "", false
	}
	for at := 0; ; at += 2 {
		k := strings.Index(rest[at:], "{%")
		if k < 0 {
			return "", "", false
		}
		at += k
		inner, tail, ok := strings.Cut(rest[at+2:], "%}")
		if ok && strings.Trim(inner, " -+\n\t") == "endraw" {
			return strings.TrimPrefix(rest[:at], "\n"), tail, true
		}
	}
}

var operators = []string{"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "|", ".", ",", ":", "(", ")", "[", "]", "{", "}", "<", ">", "="}

func lexOne(s string) (t token, n int, err error) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == '_' || unicode.IsLetter(r):
		n = size
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				break
			}
			n += size
		}
		return token{kind: tokName, text: s[:n]}, n, nil
	case r >= '0' && r <= '9':
		for n = 1; n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '_'); n++ {
		}
		if n+1 < len(s) && s[n] == '.' && s[n+1] >= '0' && s[n+1] <= '9' {
			for n++; n < len(s) && s[n] >= '0' && s[n] <= '9'; n++ {
			}
		}
		return token{kind: tokNumber, text: strings.ReplaceAll(s[:n], "_", "")}, n, nil
	case r == '"' || r == '\'':
		text, n, ok := unquote(s)
		if !ok {
			return t, 0, errors.New("a string does not end")
		}
		return token{kind: tokString, text: text}, n, nil
	}
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return token{kind: tokOperator, text: op}, len(op), nil
		}
	}
	return t, 0, fmt.Errorf("unexpected %q", r)
}

// unquote reads a string literal of Python at the beginning of s.
func unquote(s string) (text string, n int, ok bool) {
	var sb strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return sb.String(), i + 1, true
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				sb.WriteByte('\n')
			case 't':
				sb.WriteByte('\t')
			case 'r':
				sb.WriteByte('\r')
			case '\\', '\'', '"':
				sb.WriteByte(s[i])
			case '\n':
			case 'u':
				var v rune
				if _, err := fmt.Sscanf(s[min(i+1, len(s)):min(i+5, len(s))], "%04x", &v); err != nil || i+5 > len(s) {
					return "", 0, false
				}
				sb.WriteRune(v)
				i += 4
			default:
				sb.WriteByte('\\')
				sb.WriteByte(s[i])
			}
		default:
			sb.WriteByte(c)
		}
	}
	return "", 0, false
}
