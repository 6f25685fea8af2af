package extract

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNesting is the depth to which front matter may nest lists and tables.
const maxNesting = 16

// tomlReader reads the part of TOML that people write in front matter: key = value and [tables],
// with strings of all four kinds, numbers, booleans, lists and inline tables; dates and times stay
// as they are written.
type tomlReader struct {
	s    string
	pos  int
	line int // of the file
}

type tomlError string

func (e tomlError) Error() string { return string(e) }

// toml reads the lines of front matter, of which the first is line 2 of the file. What cannot be
// read comes back in bad, by lines.
func toml(head string) (fields map[string]any, bad []badLine) {
	r := &tomlReader{s: head, line: 2}
	fields = map[string]any{}
	table := fields // nil in one that cannot be read
	for r.pos < len(r.s) {
		at, start := r.line, r.pos
		if err := r.statement(fields, &table); err != nil {
			bad = append(bad, badLine{at, err.Error()})
			if r.pos == start || r.s[r.pos-1] != '\n' { // else what follows may be well
				r.skipLine()
			}
		}
	}
	return fields, bad
}

// statement reads one line, or several where the value goes on.
func (r *tomlReader) statement(fields map[string]any, table *map[string]any) error {
	r.blanks()
	if r.pos == len(r.s) || r.s[r.pos] == '#' || r.s[r.pos] == '\n' {
		r.skipLine()
		return nil
	}
	if r.s[r.pos] == '[' {
		many := strings.HasPrefix(r.s[r.pos:], "[[")
		*table = nil
		r.pos++
		if many {
			r.pos++
		}
		path, err := r.keys()
		switch {
		case err != nil:
			return err
		case !strings.HasPrefix(r.s[r.pos:], "]"):
			return tomlError("want \"]\" behind the name of a table")
		}
		r.skipLine()
		*table, err = tomlTable(fields, path, many)
		return err
	}
	path, err := r.keys()
	if err != nil {
		return err
	}
	if r.pos == len(r.s) || r.s[r.pos] != '=' {
		return tomlError("want \"key = value\"")
	}
	r.pos++
	v, err := r.value(0)
	if err != nil {
		return err
	}
	if r.blanks(); r.pos < len(r.s) && r.s[r.pos] != '\n' && r.s[r.pos] != '#' {
		return tomlError(fmt.Sprintf("key %q: more stands behind its value", path[0]))
	}
	r.skipLine()
	if *table == nil {
		return nil // its name has been told
	}
	in, err := tomlTable(*table, path[:len(path)-1], false)
	if err != nil {
		return err
	}
	key := path[len(path)-1]
	if _, twice := in[key]; twice {
		return tomlError(keyTwice(key))
	}
	in[key] = v
	return nil
}

// tomlTable returns the table of that path, made if it is missing; with many a new one in a list.
func tomlTable(in map[string]any, path []string, many bool) (map[string]any, error) {
	for i, key := range path {
		last := many && i == len(path)-1
		switch v := in[key].(type) {
		case nil:
			next := map[string]any{}
			if in[key] = next; last {
				in[key] = []any{next}
			}
			in = next
		case map[string]any:
			if last {
				return nil, tomlError(fmt.Sprintf("key %q is a table already", key))
			}
			in = v
		case []any:
			if last {
				next := map[string]any{}
				in[key] = append(v, next)
				in = next
				continue
			}
			next, ok := any(nil), false
			if len(v) > 0 {
				next = v[len(v)-1]
			}
			if in, ok = next.(map[string]any); !ok {
				return nil, tomlError(fmt.Sprintf("key %q is no table", key))
			}
		default:
			return nil, tomlError(fmt.Sprintf("key %q is no table", key))
		}
	}
	return in, nil
}

// blanks passes over blanks within a line; space over comments and line ends, too.
func (r *tomlReader) blanks() {
	for r.pos < len(r.s) && (r.s[r.pos] == ' ' || r.s[r.pos] == '\t') {
		r.pos++
	}
}

func (r *tomlReader) space() {
	for {
		r.blanks()
		if r.pos == len(r.s) || r.s[r.pos] != '#' && r.s[r.pos] != '\n' {
			return
		}
		r.skipLine()
	}
}

func (r *tomlReader) skipLine() {
	i := strings.IndexByte(r.s[r.pos:], '\n')
	if i < 0 {
		r.pos = len(r.s)
		return
	}
	r.pos += i + 1
	r.line++
}

// keys reads a key, which may be dotted, and the blanks behind it.
func (r *tomlReader) keys() (path []string, err error) {
	for {
		r.blanks()
		start := r.pos
		var key string
		if r.pos < len(r.s) && (r.s[r.pos] == '"' || r.s[r.pos] == '\'') {
			if key, err = r.str(); err != nil {
				return nil, err
			}
		} else {
			for r.pos < len(r.s) && !strings.ContainsRune(" \t\n.=[]{},#\"'", rune(r.s[r.pos])) {
				r.pos++
			}
			key = r.s[start:r.pos]
		}
		if path = append(path, key); key == "" || len(path) > maxNesting {
			return nil, tomlError("want \"key = value\"")
		}
		if r.blanks(); r.pos == len(r.s) || r.s[r.pos] != '.' {
			return path, nil
		}
		r.pos++
	}
}

func (r *tomlReader) value(depth int) (any, error) {
	r.blanks()
	rest := r.s[r.pos:]
	switch {
	case rest == "" || depth > maxNesting:
		return nil, tomlError("a value is missing, or nested too deeply")
	case rest[0] == '"' || rest[0] == '\'':
		return r.str()
	case rest[0] == '[':
		return r.list(depth)
	case rest[0] == '{':
		return r.inline(depth)
	}
	end := strings.IndexAny(rest, ",]}#\n")
	if end < 0 {
		end = len(rest)
	}
	r.pos += end
	word := strings.TrimSpace(rest[:end])
	if word == "" {
		return nil, tomlError("a value is missing")
	}
	return typed(strings.ReplaceAll(word, "_", "")), nil
}

func (r *tomlReader) list(depth int) (any, error) {
	list := []any{}
	for r.pos++; ; {
		if r.space(); strings.HasPrefix(r.s[r.pos:], "]") {
			r.pos++
			return list, nil
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if r.space(); strings.HasPrefix(r.s[r.pos:], ",") {
			r.pos++
		} else if !strings.HasPrefix(r.s[r.pos:], "]") {
			return nil, tomlError("want \",\" or \"]\" in a list")
		}
	}
}

func (r *tomlReader) inline(depth int) (any, error) {
	fields := map[string]any{}
	for r.pos++; ; {
		if r.space(); strings.HasPrefix(r.s[r.pos:], "}") {
			r.pos++
			return fields, nil
		}
		path, err := r.keys()
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(r.s[r.pos:], "=") {
			return nil, tomlError("want \"=\" in a table")
		}
		r.pos++
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		in, err := tomlTable(fields, path[:len(path)-1], false)
		if err != nil {
			return nil, err
		}
		in[path[len(path)-1]] = v
		if r.space(); strings.HasPrefix(r.s[r.pos:], ",") {
			r.pos++
		} else if !strings.HasPrefix(r.s[r.pos:], "}") {
			return nil, tomlError("want \",\" or \"}\" in a table")
		}
	}
}

// str reads a string of any of the four kinds.
func (r *tomlReader) str() (string, error) {
	rest := r.s[r.pos:]
	quote := rest[:1]
	if strings.HasPrefix(rest, strings.Repeat(quote, 3)) {
		quote = rest[:3]
	}
	body := rest[len(quote):]
	end := 0
	for {
		switch {
		case end >= len(body), len(quote) == 1 && body[end] == '\n':
			return "", tomlError("a string does not end")
		case quote[0] == '"' && body[end] == '\\':
			end += 2
			continue
		case !strings.HasPrefix(body[end:], quote):
			end++
			continue
		}
		break
	}
	if len(quote) == 3 {
		for end+3 < len(body) && body[end+3] == quote[0] { // quotes before the end belong to the string
			end++
		}
	}
	s := body[:end]
	r.pos += 2*len(quote) + end
	r.line += strings.Count(s, "\n")
	if len(quote) == 3 {
		s = strings.TrimPrefix(s, "\n")
	}
	if quote[0] == '\'' {
		return s, nil
	}
	return tomlUnescape(s), nil
}

// tomlUnescape undoes the backslashes of s. One at the end of a line takes the white space behind
// it away; others that mean nothing stay.
func tomlUnescape(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, `\`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if after == "" {
			b.WriteByte('\\')
			return b.String()
		}
		n := 1
		switch c := after[0]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '"', '\\':
			b.WriteByte(c)
		case 'b', 'f', 'r':
			b.WriteByte(' ')
		case 'u', 'U':
			if n = 5; c == 'U' {
				n = 9
			}
			code, err := uint64(0), error(strconv.ErrSyntax)
			if len(after) >= n {
				code, err = strconv.ParseUint(after[1:n], 16, 32)
			}
			if err != nil {
				b.WriteByte('\\')
				n = 0
			} else {
				b.WriteString(string(rune(code)))
			}
		case ' ', '\t', '\n':
			n = len(after) - len(strings.TrimLeft(after, " \t\n"))
		default:
			b.WriteByte('\\')
			n = 0
		}
		s = after[n:]
	}
}
