package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"example.com/searchd/access"
	"example.com/searchd/search"
)

// maxDepth bounds the nesting of JSON in requests.
const maxDepth = 64

// decodeBody decodes the JSON body of r into v by the rules of decodeStrict. If optional, an empty
// body leaves v as it is.
func decodeBody(r *http.Request, optional bool, v any) error {
	data, err := bodyOf(r, optional, "application/json")
	if err != nil || data == nil {
		return err
	}
	return decodeStrict(data, v)
}

// bodyOf returns the body that the route has read, which has one of the media types; nil for an
// empty one if optional.
func bodyOf(r *http.Request, optional bool, types ...string) ([]byte, error) {
	b, _ := r.Body.(*wholeBody)
	empty := b == nil || len(bytes.TrimSpace(b.data)) == 0
	if empty && optional {
		return nil, nil
	}
	if _, err := mediaType(r, types...); err != nil {
		return nil, err
	}
	if empty {
		return nil, &requestError{kind: errMalformed, detail: "body: empty, allowed: a JSON value"}
	}
	return b.data, nil
}

// decodeStrict decodes one JSON value into v: valid UTF-8, at most maxDepth deep, and as
// checkMembers requires.
func decodeStrict(data []byte, v any) error {
	if err := checkText(data); err != nil {
		return err
	}
	if err := checkMembers(data, reflect.TypeOf(v)); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return jsonError(err)
	}
	return nil
}

// checkText refuses invalid UTF-8 and nesting deeper than maxDepth, before anything is decoded.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return &requestError{kind: errMalformed, detail: fmt.Sprintf("body: not valid UTF-8 at byte %d", invalidAt(data))}
	}
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return &requestError{kind: errMalformed, detail: fmt.Sprintf("body: nested deeper than %d at byte %d", maxDepth, i)}
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// jsonError describes an error of encoding/json for the client, with a pointer if possible.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var field *search.FieldError
	var re *requestError
	switch {
	case errors.As(err, &field), errors.As(err, &re), errors.Is(err, access.ErrInvalid):
		return err
	case errors.As(err, &typ) && typ.Field == "":
		return &requestError{kind: errMalformed, detail: fmt.Sprintf("body: got %s, allowed: %s", typ.Value, kindName(typ.Type))}
	case errors.As(err, &typ):
		return &search.FieldError{Field: typ.Field, Value: literal(typ.Value), Allowed: kindName(typ.Type)}
	case errors.As(err, &syntax):
		return &requestError{kind: errMalformed, detail: fmt.Sprintf("body: not JSON at byte %d: %s", syntax.Offset, err)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &requestError{kind: errMalformed, detail: "body: the JSON value is cut off"}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`) // in a value that decodes itself
		return &requestError{kind: search.ErrInvalid, pointer: pointerTo(name), detail: fmt.Sprintf("member %q: unknown", short(name))}
	}
	return &requestError{kind: errMalformed, detail: "body: " + err.Error()}
}

// literal prints without quotes: encoding/json reports "number 1.5" or "string", which is not a
// value.
type literal string
