package api

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/searchd/internal/edits"
	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// checkMembers checks one JSON value against the type that it will be decoded into, nil for any
// value:
//
//  1. Its syntax is valid, and nothing follows it.
//  2. No object has a member twice.
//  3. The members of an object that becomes a struct have the exact names of the struct's.
//     encoding/json alone accepts LIMIT for limit.
//  4. A value has a kind that the type accepts; null is allowed only as the value of a
//     member. The kind is not checked for a type with UnmarshalJSON or UnmarshalText.
//  5. An array that becomes a slice has at most maxElements items: they need more memory than
//     their JSON.
//
// Its errors have a pointer from the top of the body.
func checkMembers(data []byte, t reflect.Type) error {
	w := memberWalk{dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber()
	if err := w.value(t); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(data[w.dec.InputOffset():]); len(rest) > 0 {
		return &requestError{kind: errMalformed, detail: fmt.Sprintf("body: unexpected data after the JSON value at byte %d", w.dec.InputOffset())}
	}
	return nil
}

// maxElements is more than any route allows; each has a limit of its own.
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
	member := false
	if n := len(w.at); n > 0 {
		_, member = w.at[n-1].(string)
	}
	if !decodes && t != nil && (!takes(t, tok) || tok == nil && !member) {
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
				return &requestError{kind: search.ErrInvalid, pointer: w.pointer(), detail: fmt.Sprintf("member %q: unknown, %s", short(name), instead(name, known.names))}
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
			return w.wrong(literal("more items"), fmt.Sprintf("at most %d", maxElements))
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

// cut returns an error of the decoder as one for the client. Token returns io.EOF for a value that
// is cut off.
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
	value := any(tok)
	switch v := tok.(type) {
	case nil:
		value = literal("null")
	case json.Delim:
		value = literal(map[json.Delim]string{'{': "an object", '[': "an array"}[v])
	case json.Number:
		value = literal(v)
	}
	return w.wrong(value, kindName(t))
}

// wrong returns an error about the value where the walk is.
func (w *memberWalk) wrong(value any, allowed string) error {
	if len(w.at) == 0 {
		return &requestError{kind: errMalformed, detail: (&search.FieldError{Field: "body", Value: value, Allowed: allowed}).Error()}
	}
	return pointedError(w.pointer(), &search.FieldError{Field: w.field(), Value: value, Allowed: allowed})
}

// pointer returns where the walk is as a JSON pointer, field as fields.a.weight or sort[1].order.
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
		return nil, true // its JSON may have any form
	}
	return t, decodes
}

// takes reports whether a value that begins with tok can become a t.
func takes(t reflect.Type, tok json.Token) bool {
	switch tok {
	case json.Delim('{'):
		return t.Kind() == reflect.Struct && t != clock || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
	case json.Delim('['):
		return t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Interface
	}
	if _, text := tok.(string); text && t.Kind() == reflect.String {
		return true
	}
	if n, number := tok.(json.Number); number && (t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64) { // as of vectors, which are long
		_, err := strconv.ParseFloat(string(n), t.Bits())
		return err == nil
	}
	b, err := json.Marshal(tok)
	return err == nil && json.Unmarshal(b, reflect.New(t).Interface()) == nil
}

// kindName describes the JSON that becomes a t.
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

// membersOf returns the names as encoding/json does; those of an embedded struct are the struct's
// own.
func membersOf(t reflect.Type) *members {
	if m, ok := knownMembers.Load(t); ok {
		return m.(*members)
	}
	m := &members{types: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		name = cmp.Or(name, f.Name)
		m.names = append(m.names, name)
		m.types[name] = f.Type
	}
	knownMembers.Store(t, m)
	return m
}

// instead suggests the nearest of the known names for one that is unknown, or lists all of them.
func instead(name string, known []string) string {
	if near := edits.Nearest(name, known); near != "" {
		return fmt.Sprintf("the nearest name is %q", near)
	}
	return "allowed: " + cmp.Or(strings.Join(known, ", "), "none")
}
