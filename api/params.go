package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/search"
)

// pathParams maps the parameters of paths to the check of their values. Those in wholePaths take
// the rest of the path, slashes included.
var (
	pathParams = map[string]func(field, value string) error{
		"collection": checkPathName, "alias": checkPathName, "id": checkLength(512), "task": checkLength(512), "snapshot": checkLength(64), "node": checkLength(64), "key": checkLength(128), "of": checkLength(64), "setting": checkLength(64),
		"model": checkNothing, "file": checkNothing,
	}
	wholePaths = map[string]bool{"id": true, "model": true, "file": true}
)

// readPath sets the path values of r, each percent-decoded once.
func (rt route) readPath(r *http.Request) error {
	rest := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	for segment := range strings.SplitSeq(strings.TrimPrefix(rt.path, "/"), "/") {
		name := strings.Trim(segment, "{}")
		value := rest
		if !wholePaths[name] {
			value, rest, _ = strings.Cut(rest, "/")
		}
		if name == segment {
			continue
		}
		decoded, err := url.PathUnescape(value)
		if err != nil {
			return &search.FieldError{Field: name, Value: value, Allowed: "percent-encoded UTF-8"}
		}
		if err := pathParams[name](name, decoded); err != nil {
			return err
		}
		r.SetPathValue(name, decoded)
	}
	return nil
}

func checkNothing(_, _ string) error { return nil }

func checkLength(limit int) func(field, value string) error {
	return func(field, value string) error { return checkName(field, value, limit) }
}

// checkPathName refuses names of collections and aliases that are likely attacks or mistakes. Other
// invalid names are merely not found.
func checkPathName(field, v string) error {
	if checkName(field, v, 128) == nil && !strings.ContainsAny(v, `/\`) && v != "." && v != ".." {
		return nil
	}
	return checkCollection(field, v)
}

// checkCollection checks the name of a new collection or alias.
func checkCollection(field, v string) error {
	err := search.CheckCollectionName(v)
	if fe := (*search.FieldError)(nil); errors.As(err, &fe) {
		return &search.FieldError{Field: field, Value: v, Allowed: fe.Allowed}
	}
	return err
}

// checkName requires valid UTF-8 of 1 to limit bytes without control characters.
func checkName(field, v string, limit int) error {
	bad := v == "" || len(v) > limit || !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
	})
	if bad {
		return &search.FieldError{Field: field, Value: v, Allowed: fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", limit)}
	}
	return nil
}

// params reads a query string. Its methods keep the first error for err, which also refuses unknown
// parameters.
type params struct {
	values url.Values
	known  map[string]bool
	first  error
}

func queryParams(r *http.Request) *params {
	p := &params{known: map[string]bool{}}
	p.values, p.first = url.ParseQuery(r.URL.RawQuery)
	if p.first != nil {
		p.first = &requestError{kind: errMalformed, detail: "query string: " + p.first.Error()}
	}
	return p
}

// text returns the value of a parameter, and whether it was given.
func (p *params) text(name string) (string, bool) {
	p.known[name] = true
	v, ok := p.values[name]
	if !ok {
		return "", false
	}
	if len(v) > 1 {
		p.fail(name, strings.Join(v, ", "), "one value")
	}
	if !utf8.ValidString(v[0]) {
		p.fail(name, v[0], "valid UTF-8")
	}
	return v[0], true
}

// list returns the comma-separated values of a parameter.
func (p *params) list(name string) []string {
	v, ok := p.text(name)
	if !ok {
		return nil
	}
	return strings.Split(v, ",")
}

// names is list, but an empty parameter is an empty list, and an absent one nil.
func (p *params) names(name string) []string {
	names := p.list(name)
	if len(names) == 1 && names[0] == "" {
		return []string{}
	}
	return names
}

func (p *params) integer(name string) (int, bool) {
	v, ok := p.text(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(v)
	if err != nil || !decimal(v) {
		p.fail(name, v, "an integer")
	}
	return n, true
}

func (p *params) number(name string) (float64, bool) {
	v, ok := p.text(name)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !decimal(v) {
		p.fail(name, v, "a number")
	}
	return f, true
}

// decimal reports whether a number that strconv accepts has no plus sign, hexadecimal digits or
// words.
func decimal(v string) bool {
	return !strings.HasPrefix(v, "+") && strings.Trim(v, "0123456789.eE+-") == ""
}

func (p *params) boolean(name string) (bool, bool) {
	v, ok := p.text(name)
	switch {
	case !ok:
		return false, false
	case v == "true" || v == "1" || v == "":
		return true, true
	case v == "false" || v == "0":
		return false, true
	}
	p.fail(name, v, "true or false")
	return false, true
}

// oneOf requires a parameter to be absent or one of some values.
func oneOf[T ~string](p *params, name, value string, allowed ...T) {
	if value == "" || slices.Contains(allowed, T(value)) {
		return
	}
	var names []string
	for _, a := range allowed {
		names = append(names, string(a))
	}
	p.fail(name, value, strings.Join(names, ", "))
}

func (p *params) fail(name, value, allowed string) {
	p.keep(&search.FieldError{Field: name, Value: value, Allowed: allowed})
}

func (p *params) keep(err error) {
	if p.first == nil {
		p.first = err
	}
}

func (p *params) err() error {
	if p.first != nil {
		return p.first
	}
	known := slices.Sorted(maps.Keys(p.known))
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if !p.known[name] {
			return &requestError{kind: search.ErrInvalid, pointer: pointerTo(name), detail: fmt.Sprintf("parameter %q: unknown, %s", short(name), instead(name, known))}
		}
	}
	return nil
}
