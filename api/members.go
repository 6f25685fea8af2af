package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"searchd/search"
	"searchd/search/mapping"
)

// checkMembers walks one JSON value beside the type that it will be decoded into, nil for any
// value:
//
//  1. Its syntax is right, and nothing follows it.
//  2. No object names a member twice.
//  3. A member of an object that becomes a struct has a name of the struct's, letter for letter:
//     encoding/json alone takes LIMIT for limit.
//  4. A value is of a kind that the type takes. null stands for a member that is not given, and for
//     no body or item of an array. A type that decodes itself says so itself.
//  5. An array that becomes a slice has at most maxElements items, which take more memory than
//     their JSON.
//
// Its errors point to the value from the top of the body.
func checkMembers(data []byte, t reflect.Type) error {
	w := memberWalk{dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber()
	if err := w.value(t); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(data[w.dec.InputOffset():]); len(rest) > 0 {
		return &requestError{kind: errMalformed, detail: fmt.Sprintf("body: something follows the JSON value at byte %d", w.dec.InputOffset())}
	}
	return nil
}

// maxElements is beyond what any route takes; each says itself how many that is.
const maxElements = 1 << 20

type memberWalk struct {
	dec *json.Decoder
	at  []any // where the walk is: names and indexes from the top
}

func (w *memberWalk) value(t reflect.Type) error {
	tok, err := w.dec.Token()
	if err != nil {
		return w.cut(err)
	}
	t, decodes := target(t)
	if !decodes && t != nil && (!takes(t, tok) || tok == nil && !w.inMember()) {
		return w.wrongKind(tok, t)
	}
	switch tok {
	case json.Delim('{'):
		return w.object(t)
	case json.Delim('['):
		return w.array(t, decodes)
	}
	return nil
}

// inMember says whether the walk is at the value of a member.
func (w *memberWalk) inMember() bool {
	if len(w.at) == 0 {
		return false
	}
	_, named := w.at[len(w.at)-1].(string)
	return named
}

func (w *memberWalk) object(t reflect.Type) error {
	var known *members
	var element reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		known = membersOf(t)
	} else if t != nil && t.Kind() == reflect.Map {
		element = t.Elem()
	}
	seen := map[string]bool{}
	for w.dec.More() {
		tok, err := w.dec.Token()
		if err != nil {
			return w.cut(err)
		}
		name := tok.(string)
		w.at = append(w.at, name)
		if seen[name] {
			return &requestError{kind: errMalformed, pointer: w.pointer(), detail: fmt.Sprintf("member %q: given more than once", short(name))}
		}
		seen[name] = true
		if known != nil {
			var ok bool
			if element, ok = known.types[name]; !ok {
				return &requestError{kind: search.ErrInvalid, pointer: w.pointer(), detail: fmt.Sprintf("member %q: not known here, %s", short(name), instead(name, known.names))}
			}
		}
		if err := w.value(element); err != nil {
			return err
		}
		w.at = w.at[:len(w.at)-1]
	}
	_, err := w.dec.Token()
	return w.cut(err)
}

func (w *memberWalk) array(t reflect.Type, decodes bool) error {
	var element reflect.Type
	if !decodes && t != nil && t.Kind() != reflect.Interface {
		element = t.Elem()
	}
	for i := 0; w.dec.More(); i++ {
		if element != nil && i == maxElements {
			e := &search.FieldError{Field: w.field(), Value: literal("more items"), Allowed: fmt.Sprintf("at most %d", maxElements)}
			return &requestError{kind: search.ErrInvalid, pointer: w.pointer(), detail: e.Error(), said: e.Said()}
		}
		w.at = append(w.at, i)
		if err := w.value(element); err != nil {
			return err
		}
		w.at = w.at[:len(w.at)-1]
	}
	_, err := w.dec.Token()
	return w.cut(err)
}

// cut puts an error of the decoder into words. Its Token ends a value that is cut off with io.EOF.
func (w *memberWalk) cut(err error) error {
	if err == nil {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return jsonError(err)
}

func (w *memberWalk) wrongKind(tok json.Token, t reflect.Type) error {
	var value any = tok
	switch v := tok.(type) {
	case nil:
		value = literal("null")
	case json.Delim:
		value = literal(map[json.Delim]string{'{': "an object", '[': "an array"}[v])
	case json.Number:
		value = literal(v)
	}
	if len(w.at) == 0 {
		return &requestError{kind: errMalformed, detail: (&search.FieldError{Field: "body", Value: value, Allowed: kindName(t)}).Error()}
	}
	e := &search.FieldError{Field: w.field(), Value: value, Allowed: kindName(t)}
	return &requestError{kind: search.ErrInvalid, pointer: w.pointer(), detail: e.Error(), said: e.Said()}
}

// pointer is where the walk is, as a JSON pointer, and field the same as people write it:
// fields.a.weight, sort[1].order.
func (w *memberWalk) pointer() string { return pointerTo(w.at...) }
func (w *memberWalk) field() string   { return mapping.PathText(w.at) }

var (
	decodesJSON = reflect.TypeFor[json.Unmarshaler]()
	decodesText = reflect.TypeFor[encoding.TextUnmarshaler]()
	clock       = reflect.TypeFor[time.Time]()
)

// target returns the type behind pointers, and whether it decodes itself. nil is any value.
func target(t reflect.Type) (_ reflect.Type, decodes bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t == clock {
		return t, false
	}
	p := reflect.PointerTo(t)
	if decodes = p.Implements(decodesJSON) || p.Implements(decodesText); decodes && (t.Kind() != reflect.Struct || len(membersOf(t).names) == 0) {
		return nil, true // what it looks like in JSON is its own affair
	}
	return t, decodes
}

// takes says whether a value that begins with tok can become a t.
func takes(t reflect.Type, tok json.Token) bool {
	if t.Kind() == reflect.Interface || tok == nil {
		return true
	}
	if t == clock {
		s, ok := tok.(string)
		return ok && new(time.Time).UnmarshalText([]byte(s)) == nil
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
		}
		return t.Kind() == reflect.Slice || t.Kind() == reflect.Array
	case string:
		return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 // base64
	case bool:
		return t.Kind() == reflect.Bool
	case json.Number:
		return takesNumber(t, string(v))
	}
	return false
}

func takesNumber(t reflect.Type, n string) bool {
	var err error
	switch {
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		_, err = strconv.ParseInt(n, 10, t.Bits())
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		_, err = strconv.ParseUint(n, 10, t.Bits())
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(n, t.Bits())
		return err == nil && !math.IsInf(f, 0)
	default:
		return false
	}
	return err == nil
}

// kindName says what JSON becomes a t.
func kindName(t reflect.Type) string {
	switch k := t.Kind(); {
	case t == clock:
		return "a time like 2030-01-31T12:00:00Z"
	case k >= reflect.Int && k <= reflect.Int64:
		return "an integer"
	case k >= reflect.Uint && k <= reflect.Uint64:
		return "an integer, 0 or more"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.String:
		return "a string"
	case k == reflect.Slice || k == reflect.Array:
		return "an array"
	}
	return "an object"
}

// members are those of the objects that become a struct, in its order.
type members struct {
	names []string
	types map[string]reflect.Type
}

var knownMembers sync.Map // reflect.Type -> *members

// membersOf reads the names as encoding/json does; those of an embedded struct without a name are
// the struct's own.
func membersOf(t reflect.Type) *members {
	if m, ok := knownMembers.Load(t); ok {
		return m.(*members)
	}
	m := &members{types: map[string]reflect.Type{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch inner, _ := target(f.Type); {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && inner != nil && inner.Kind() == reflect.Struct:
			more := membersOf(inner)
			for _, n := range more.names {
				m.add(n, more.types[n])
			}
		case !f.IsExported():
		case name == "":
			m.add(f.Name, f.Type)
		default:
			m.add(name, f.Type)
		}
	}
	knownMembers.Store(t, m)
	return m
}

func (m *members) add(name string, t reflect.Type) {
	if _, ok := m.types[name]; !ok {
		m.names = append(m.names, name)
		m.types[name] = t
	}
}

// instead says what a name that is not known may have been meant to be: the nearest of the known
// ones, or all of them.
func instead(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("the nearest name is %q", near)
	}
	if len(known) == 0 {
		return "allowed: none"
	}
	return "allowed: " + strings.Join(known, ", ")
}

// nearest returns the name that differs in its case or a third of its letters at most; else the
// longest one that name begins with, or the first that begins with it; else "".
func nearest(name string, known []string) string {
	if utf8.RuneCountInString(name) > 64 {
		return ""
	}
	lower := []rune(strings.ToLower(name))
	best, least := "", max(1, len(lower)/3)+1
	for _, k := range known {
		if d := editDistance(lower, []rune(k)); d < least && d < len(k) {
			best, least = k, d
		}
	}
	if best != "" {
		return best
	}
	for _, k := range known {
		if strings.HasPrefix(string(lower), k) && len(k) > len(best) {
			best = k
		}
	}
	if best != "" || len(lower) < 2 {
		return best
	}
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, string(lower)) }); i >= 0 {
		return known[i]
	}
	return ""
}

// editDistance counts the letters to be put in, taken out or changed, and neighbours that have
// changed places, underscores and hyphens left aside.
func editDistance(a, b []rune) int {
	bare := func(s []rune) []rune {
		return slices.DeleteFunc(slices.Clone(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	a, b = bare(a), bare(b)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := range a {
		for j := range b {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			d[i+1][j+1] = min(d[i][j+1]+1, d[i+1][j]+1, d[i][j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
