package encoder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/searchd/internal/strictjson"
)

// ErrConfig is a setting of a checkpoint that is missing, malformed, out of range or not supported.
var ErrConfig = errors.New("encoder: bad checkpoint setting")

// maxConfigBytes bounds the JSON files of a checkpoint other than the tokenizer's.
const maxConfigBytes = 4 << 20

// fields reads one JSON object strictly: a wrong type, a number out of range or an unknown word is
// an error that names file, field, value and what is allowed. Errors are collected, and err returns
// them all. null counts as absent.
type fields struct {
	file string // and, within it, the path of this object
	raw  map[string]json.RawMessage
	errs *[]error
}

// readFields reads the object in the file name. A file that does not exist is fs.ErrNotExist.
func readFields(fsys fs.FS, name string) (*fields, error) {
	b, err := readLimited(fsys, name, maxConfigBytes)
	if err != nil {
		return nil, err
	}
	return parseFields(name, b)
}

// readLimited reads a file of at most limit bytes.
func readLimited(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s is longer than %d bytes", ErrConfig, name, limit)
	}
	if bytes.HasPrefix(b, []byte("version https://git-lfs.")) {
		return nil, fmt.Errorf("%w: %s: a pointer of git-lfs, not the file itself; `git lfs pull` fetches it", ErrConfig, name)
	}
	return b, nil
}

func parseFields(file string, b []byte) (*fields, error) {
	raw, err := parseObject(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrConfig, file, err)
	}
	return &fields{file: file, raw: raw, errs: new([]error)}, nil
}

// parseObject splits an object into its members.
func parseObject(b []byte) (map[string]json.RawMessage, error) {
	r := strictjson.New(b)
	raw := map[string]json.RawMessage{}
	err := r.Object(func(key string) (err error) {
		raw[key], err = r.Raw()
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	return raw, nil
}

// err returns the errors of all reads so far, or nil.
func (f *fields) err() error { return errors.Join(*f.errs...) }

// fail records an error about one field.
func (f *fields) fail(name, format string, args ...any) {
	*f.errs = append(*f.errs, fmt.Errorf("%w: %s: %s %s", ErrConfig, f.file, name, fmt.Sprintf(format, args...)))
}

// has reports whether the field is there and not null.
func (f *fields) has(name string) bool {
	v, ok := f.raw[name]
	return ok && string(v) != "null"
}

// first returns the first of names that is there, or the first of all.
func (f *fields) first(names ...string) string {
	for _, name := range names {
		if f.has(name) {
			return name
		}
	}
	return names[0]
}

// text shortens a raw value for a message.
func (f *fields) text(name string) string {
	const limit = 60
	s := string(f.raw[name])
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}

// int reads an integer from lo to hi; an absent field is def, which need not lie in the range.
func (f *fields) int(name string, def, lo, hi int) int {
	if !f.has(name) {
		return def
	}
	n, err := strconv.ParseInt(string(f.raw[name]), 10, 64)
	if err != nil || n < int64(lo) || n > int64(hi) {
		f.fail(name, "is %s, want an integer from %d to %d", f.text(name), lo, hi)
		return max(lo, min(def, hi))
	}
	return int(n)
}

// needInt reads an integer from 1 to hi that must be there.
func (f *fields) needInt(name string, hi int) int {
	if !f.has(name) {
		f.fail(name, "is missing, want an integer from 1 to %d", hi)
		return 1
	}
	return f.int(name, 1, 1, hi)
}

// float reads a number from lo to hi; an absent field is def.
func (f *fields) float(name string, def, lo, hi float64) float64 {
	if !f.has(name) {
		return def
	}
	s := string(f.raw[name])
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || s[0] == '"' || math.IsNaN(x) || x < lo || x > hi {
		f.fail(name, "is %s, want a number from %g to %g", f.text(name), lo, hi)
		return def
	}
	return x
}

// bool reads true or false; an absent field is def.
func (f *fields) bool(name string, def bool) bool { return read(f, name, "true or false", def) }

// string reads a string; an absent field is def.
func (f *fields) string(name, def string) string { return read(f, name, "a string", def) }

// strings reads an array of strings; an absent field is nil.
func (f *fields) strings(name string) []string {
	return read[[]string](f, name, "an array of strings", nil)
}

// read decodes a field of the type that want describes; an absent field is def.
func read[T any](f *fields, name, want string, def T) T {
	if !f.has(name) {
		return def
	}
	var v T
	if json.Unmarshal(f.raw[name], &v) != nil {
		f.fail(name, "is %s, want %s", f.text(name), want)
		return def
	}
	return v
}

// oneOf reads a string that must be one of allowed; an absent field is def.
func (f *fields) oneOf(name, def string, allowed ...string) string {
	s := f.string(name, def)
	if !slices.Contains(allowed, s) {
		f.fail(name, "is %q, want one of %s", s, strings.Join(allowed, ", "))
		return def
	}
	return s
}

// object reads an object as fields that share the error list; nil if absent.
func (f *fields) object(name string) *fields {
	if !f.has(name) {
		return nil
	}
	raw, err := parseObject(f.raw[name])
	if err != nil {
		f.fail(name, "is %s: %v", f.text(name), err)
		return nil
	}
	return &fields{file: f.file + ": " + name, raw: raw, errs: f.errs}
}

// want refuses a setting that the stack does not support, unless it has the given value.
func (f *fields) want(name string, value bool) {
	if f.bool(name, value) != value {
		f.fail(name, "is %t, only %t is supported", !value, value)
	}
}

// part is object, or without members if it is absent.
func (f *fields) part(name string) *fields {
	if o := f.object(name); o != nil {
		return o
	}
	return &fields{file: f.file + ": " + name, errs: f.errs}
}

// absent refuses a field that would change the computation in an unsupported way.
func (f *fields) absent(name string) {
	if f.has(name) {
		f.fail(name, "is %s, only null is supported", f.text(name))
	}
}
