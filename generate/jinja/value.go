package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Errors of rendering.
var (
	ErrLimit  = errors.New("jinja: the template takes too long or writes too much")
	ErrRender = errors.New("jinja: the template fails")
)

// Values are nil, bool, int64, float64, string, []any, *Dict, undefined and callables.

// Dict is a dictionary that keeps the order of its keys.
type Dict struct {
	keys   []string
	values map[string]any
}

// NewDict returns a dictionary of keys and values in turn.
func NewDict(pairs ...any) *Dict {
	d := &Dict{values: map[string]any{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Set(fmt.Sprint(pairs[i]), pairs[i+1])
	}
	return d
}

// Set sets a value; a new key comes last.
func (d *Dict) Set(key string, value any) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = value
}

func (d *Dict) pairs() []any {
	out := make([]any, len(d.keys))
	for i, k := range d.keys {
		out[i] = []any{k, d.values[k]}
	}
	return out
}

func keysOf(d *Dict) []any {
	out := make([]any, len(d.keys))
	for i, k := range d.keys {
		out[i] = k
	}
	return out
}

// namespace is a dictionary whose members a template may set.
type namespace struct{ *Dict }

// undefined is a value that is not there; the text names it.
type undefined string

// callable is a function of the template.
type callable func(r *run, args []any, named map[string]any) (any, error)

// Decode reads JSON as values.
func Decode(b []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	return decode(d, 0)
}

func decode(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: JSON of more than %d levels", ErrLimit, maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := decode(d, depth+1)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := d.Token()
			return list, err
		}
		dict := NewDict()
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			dict.Set(k.(string), v)
		}
		_, err := d.Token()
		return dict, err
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	}
	return t, nil
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true
}

// str is str() of Python.
func str(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case undefined:
		return ""
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v)
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = repr(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *Dict:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = repr(k) + ": " + repr(v.values[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "<object>"
}

func floatText(v float64) string {
	if math.Abs(v) >= 1e16 || v != 0 && math.Abs(v) < 1e-4 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.ContainsAny(s, ".IN") {
		s += ".0"
	}
	return s
}

// repr is repr() of Python.
func repr(v any) string {
	s, ok := v.(string)
	if !ok {
		return str(v)
	}
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	return quote + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, quote, `\`+quote).Replace(s) + quote
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func equal(a, b any) bool {
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x == y
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for k, v := range a.values {
			if w, ok := b.values[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case callable:
		return false
	case undefined:
		_, ok := b.(undefined)
		return ok
	}
	if b != nil && !reflect.TypeOf(b).Comparable() {
		return false
	}
	return a == b
}

// less compares numbers and strings.
func less(a, b any) (bool, error) {
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x < y, nil
	}
	s, okS := a.(string)
	t, okT := b.(string)
	if okS && okT {
		return s < t, nil
	}
	return false, fmt.Errorf("%w: %s and %s cannot be compared", ErrRender, kind(a), kind(b))
}

// kind names the type of a value.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case undefined:
		return fmt.Sprintf("%q, which is undefined", string(v))
	case bool:
		return "a bool"
	case int64, float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	case *Dict, *namespace:
		return "a dictionary"
	}
	return "a function"
}

// elements returns what a loop over v sees.
func elements(v any) ([]any, error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case *Dict:
		return keysOf(v), nil
	case string:
		var out []any
		for _, r := range v {
			out = append(out, string(r))
		}
		return out, nil
	case undefined:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %s cannot be looped over", ErrRender, kind(v))
}

// tojson writes JSON as json.dumps of Python does with ensure_ascii=False.
func tojson(sb *strings.Builder, v any, indent, depth int) error {
	newline := func(depth int) {
		if indent >= 0 {
			sb.WriteByte('\n')
			sb.WriteString(strings.Repeat(" ", indent*depth))
		}
	}
	separator := ", "
	if indent >= 0 {
		separator = ","
	}
	if depth > maxDepth || sb.Len() > maxOutput {
		return ErrLimit
	}
	switch v := v.(type) {
	case nil:
		sb.WriteString("null")
	case bool:
		sb.WriteString(strconv.FormatBool(v))
	case int64, float64:
		sb.WriteString(str(v))
	case string:
		jsonString(sb, v)
	case []any:
		sb.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				sb.WriteString(separator)
			}
			newline(depth + 1)
			if err := tojson(sb, x, indent, depth+1); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			newline(depth)
		}
		sb.WriteByte(']')
	case *Dict:
		sb.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				sb.WriteString(separator)
			}
			newline(depth + 1)
			jsonString(sb, k)
			sb.WriteString(": ")
			if err := tojson(sb, v.values[k], indent, depth+1); err != nil {
				return err
			}
		}
		if len(v.keys) > 0 {
			newline(depth)
		}
		sb.WriteByte('}')
	default:
		return fmt.Errorf("%w: %s has no JSON", ErrRender, kind(v))
	}
	return nil
}

func jsonString(sb *strings.Builder, s string) {
	sb.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			sb.WriteByte('\\')
			sb.WriteRune(r)
		case r == '\n':
			sb.WriteString(`\n`)
		case r == '\r':
			sb.WriteString(`\r`)
		case r == '\t':
			sb.WriteString(`\t`)
		case r == '\b':
			sb.WriteString(`\b`)
		case r == '\f':
			sb.WriteString(`\f`)
		case r < 0x20:
			fmt.Fprintf(sb, `\u%04x`, r)
		default:
			sb.WriteRune(r)
		}
	}
	sb.WriteByte('"')
}
