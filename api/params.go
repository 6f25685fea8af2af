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

	"searchd/search"
)

// names reads the collection and, where the route has one, the document id from the path as it was
// sent: /v1/collections/{collection}[/documents/{id...}], or explain for documents. Each is
// percent-decoded once.
func names(r *http.Request) (collection, id string, err error) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v1/collections/")
	if !ok {
		return "", "", errNoRoute
	}
	collection, rest, _ := strings.Cut(path, "/")
	if collection, err = pathName("collection", collection); err != nil {
		return "", "", err
	}
	for _, before := range []string{"documents/", "explain/"} {
		if raw, ok := strings.CutPrefix(rest, before); ok {
			id, err = pathValue("id", raw, 512)
		}
	}
	return collection, id, err
}

// collectionName reads the collection from the path.
func collectionName(r *http.Request) (string, error) {
	c, _, err := names(r)
	return c, err
}

func pathValue(field, raw string, limit int) (string, error) {
	v, err := unescaped(field, raw)
	if err != nil {
		return "", err
	}
	return v, checkName(field, v, limit)
}

func unescaped(field, raw string) (string, error) {
	v, err := url.PathUnescape(raw)
	if err != nil {
		return "", &search.FieldError{Field: field, Value: raw, Allowed: "percent-encoded UTF-8"}
	}
	return v, nil
}

// pathName reads the name of a collection or an alias from the path.
func pathName(field, raw string) (string, error) {
	v, err := unescaped(field, raw)
	if err != nil {
		return "", err
	}
	return v, checkMeant(field, v)
}

// checkMeant refuses what nobody can mean as the name of a collection or an alias. Another that
// none can have is not found.
func checkMeant(field, v string) error {
	if checkName(field, v, 128) == nil && !strings.ContainsAny(v, `/\`) && v != "." && v != ".." {
		return nil
	}
	return checkCollection(field, v)
}

// checkCollection holds the name of a collection or an alias to the rule for these.
func checkCollection(field, v string) error {
	err := search.CheckCollectionName(v)
	if fe := (*search.FieldError)(nil); errors.As(err, &fe) {
		return &search.FieldError{Field: field, Value: v, Allowed: fe.Allowed}
	}
	return err
}

// checkName holds names and ids to valid UTF-8 of 1 to limit bytes without control characters.
func checkName(field, v string, limit int) error {
	bad := v == "" || len(v) > limit || !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
	})
	if bad {
		return &search.FieldError{Field: field, Value: v, Allowed: fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", limit)}
	}
	return nil
}

// params reads the query string of a GET. Its methods remember the first error, and err() tells it,
// or names a parameter that nobody asked for.
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

// text returns the parameter's value, and whether it was given.
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

// list returns a parameter's values, separated by commas.
func (p *params) list(name string) []string {
	v, ok := p.text(name)
	if !ok {
		return nil
	}
	return strings.Split(v, ",")
}

// names is list for what may be no name at all: an empty parameter is a list without one, an absent
// one nil.
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

// decimal says of what strconv takes for a number whether it is written as in JSON: without a plus
// before it, and neither hexadecimal nor in words. A point may come first or last.
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

// oneOf holds a parameter to some values, or none.
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

// keep remembers err, if it is the first that is not nil.
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
			return &requestError{kind: search.ErrInvalid, pointer: pointerTo(name), detail: fmt.Sprintf("parameter %q: not known here, %s", short(name), instead(name, known))}
		}
	}
	return nil
}
