package mapping

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

// flattener collects the values of a document under dotted names.
//
//  1. A member of an object has the name of the object, a dot, and its own.
//  2. Each element of a list is a value of the list's name, those of lists in it too. An object in
//     a list is as if it stood there alone: {"v": [{"color": "red"}, {"color": "blue"}]} gives
//     v.color two values.
//  3. Where several ways lead to one name, as in {"a.b": 1, "a": {"b": 2}}, all values count, those
//     of the member first whose own name is first in the order of bytes.
//  4. null is no value.
//  5. An object that is a point, see [geo.Of], is also a value of its own name.
type flattener struct {
	leaves  map[string]*leaf
	points  map[string][]any // geo.Point
	lenient bool             // what is beyond a limit is left out instead of refused
}

// leaf is what a document has under one dotted name.
type leaf struct {
	name   string
	rank   int   // of the name in wellKnown, or its length
	values []any // string, json.Number, bool; at least one
	list   bool  // one of them at least is an element of a list, not a member of an object
}

// object collects the members of o, which is nested depth deep.
func (f *flattener) object(prefix string, o map[string]any, depth int) error {
	if depth > MaxDepth {
		return f.refuse(Phrase("an object"), fmt.Sprintf("nothing nested deeper than %d", MaxDepth))
	}
	if p, ok := geo.Of(o); ok && prefix != "" {
		if len(f.points[prefix]) == MaxListValues {
			return f.refuse(Phrase(fmt.Sprintf("more than %d points", MaxListValues)), fmt.Sprintf("at most %d", MaxListValues))
		}
		if f.points == nil {
			f.points = map[string][]any{}
		}
		f.points[prefix] = append(f.points[prefix], p)
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		name := key
		if prefix != "" {
			name = prefix + "." + key
		}
		if key == "" || !utf8.ValidString(key) || len(name) > maxFieldName {
			if f.lenient {
				continue
			}
			return within(key, &Refusal{Value: name, Allowed: fieldNames})
		}
		if err := f.value(name, o[key], depth, false); err != nil {
			return within(key, err)
		}
	}
	return nil
}

// value collects v, which may be anything that JSON has.
func (f *flattener) value(name string, v any, depth int, element bool) error {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		return f.object(name, v, depth+1)
	case []any:
		return f.list(name, v, depth)
	case json.Number:
		if _, ok := filter.ParseNumber(string(v)); !ok {
			return f.refuse(v, "numbers of float64, up to 1.79e308")
		}
	}
	l := f.leaves[name]
	switch {
	case l == nil && len(f.leaves) == MaxFields:
		return f.refuse(Phrase(fmt.Sprintf("field %d", MaxFields+1)), fmt.Sprintf("at most %d fields", MaxFields))
	case l == nil:
		l = &leaf{}
		f.leaves[name] = l
	case len(l.values) == MaxListValues:
		return f.refuse(Phrase(fmt.Sprintf("more than %d values", MaxListValues)), fmt.Sprintf("at most %d", MaxListValues))
	}
	l.values, l.list = append(l.values, v), l.list || element
	return nil
}

// list collects the elements of list.
func (f *flattener) list(name string, list []any, depth int) error {
	if len(list) > MaxListValues && !f.lenient {
		return f.refuse(Phrase(fmt.Sprintf("%d values", len(list))), fmt.Sprintf("at most %d", MaxListValues))
	}
	for i, e := range list {
		inner := depth
		if _, ok := e.([]any); ok {
			if inner++; inner > MaxDepth {
				return within(i, f.refuse(Phrase("a list"), fmt.Sprintf("nothing nested deeper than %d", MaxDepth)))
			}
		}
		if err := f.value(name, e, inner, true); err != nil {
			return within(i, err)
		}
	}
	return nil
}

// refuse returns the error about a value, whose path its callers put before it, or nil where what
// is wrong is left out.
func (f *flattener) refuse(value any, allowed string) error {
	if f.lenient {
		return nil
	}
	return &Refusal{Value: value, Allowed: allowed}
}

// within puts a step before the path of a refusal: what is refused was found within the member or
// the element.
func within(step any, err error) error {
	if r, ok := err.(*Refusal); ok {
		r.Path = slices.Insert(r.Path, 0, step)
	}
	return err
}

// text returns the strings of a leaf, one per line, and where each begins but the first. With spell
// numbers and booleans are as they are written; else ok is false if there are any.
func (l *leaf) text(spell bool) (text string, starts []int, ok bool) {
	if s, ok := l.values[0].(string); ok && len(l.values) == 1 {
		return s, nil, true
	}
	var b lines
	for _, v := range l.values {
		s, ok := v.(string)
		switch {
		case !ok && spell:
			s = fmt.Sprint(v)
		case !ok:
			return "", nil, false
		}
		b.add(s)
	}
	return b.text.String(), b.starts, true
}

// blank reports whether a leaf has only strings of white space.
func (l *leaf) blank() bool {
	return !slices.ContainsFunc(l.values, func(v any) bool {
		s, ok := v.(string)
		return !ok || strings.TrimSpace(s) != ""
	})
}

// words returns the strings of a leaf that have words, one per line, and "" where there is none,
// and where each begins but the first. Dates alone, which are found as values, and long runs of
// ASCII do not.
func (l *leaf) words() (text string, starts []int) {
	var b lines
	for _, v := range l.values {
		s, ok := v.(string)
		if !ok || strings.TrimSpace(s) == "" || isDate(s) || isRun(s) {
			continue
		}
		b.add(s)
	}
	return b.text.String(), b.starts
}

// lines joins strings.
type lines struct {
	text   strings.Builder
	starts []int // of all but the first
	any    bool
}

func (b *lines) add(s string) {
	if b.any {
		b.text.WriteByte('\n')
		b.starts = append(b.starts, b.text.Len())
	}
	b.any = true
	b.text.WriteString(s)
}

// isDate reports whether a string is a date to a filter.
func isDate(s string) bool {
	var room [2]filter.Value
	return slices.ContainsFunc(filter.Values(room[:0], s), func(v filter.Value) bool { return v.Kind == filter.Date })
}

// isRun reports whether a string is longer than maxRunBytes, ASCII, and without white space.
// Scripts that put no spaces between words are not ASCII.
func isRun(s string) bool {
	return len(s) > maxRunBytes && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || unicode.IsSpace(r) }) < 0
}

// filterable returns the values of a leaf as the filter index takes them: one, or a list. With
// long, strings of any length have a value.
func (l *leaf) filterable(long bool) any {
	list := make([]any, len(l.values))
	for i, v := range l.values {
		list[i] = filterable(v, long)
	}
	if len(list) == 1 && !l.list {
		return list[0]
	}
	return list
}

// filterable returns v as the filter index takes it: string, filter.Present, bool, float64, or
// json.Number where that is not exact.
func filterable(v any, long bool) any {
	switch v := v.(type) {
	case string:
		if len(v) > MaxFilterBytes && !long {
			return filter.Present{}
		}
	case json.Number:
		if n, ok := filter.ParseNumber(string(v)); ok && !n.Wide() {
			return n.Num
		}
	}
	return v
}
