// Package given reads the vectors that come with documents.
//
// A document has one vector, {"vector": [0.1, …]}, or several, {"vectors": [[0.1, …], …]}. An
// element of vectors may also say which part of the document it stands for: {"vector": [0.1, …],
// "field": "text", "start": 0, "end": 120}, in bytes of the field's text.
package given

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
)

// The members of a document that have its vectors.
const (
	One     = "vector"
	Several = "vectors"
)

// Members are the raw values of the members of a document that have its vectors; nil: it has no
// such member.
type Members struct{ Vector, Vectors []byte }

// Vector is a vector of a document, of unit length, and what it stands for.
type Vector struct {
	Values []float32
	Part   *backend.Passage // nil: the document
}

// Set notes the value of a member if it has vectors.
func (m *Members) Set(name string, value []byte) {
	switch name {
	case One:
		m.Vector = value
	case Several:
		m.Vectors = value
	}
}

// Into returns an object, which is JSON, with the members in front of its own.
func (m Members) Into(object []byte) ([]byte, error) {
	if m.Vector == nil && m.Vectors == nil {
		return object, nil
	}
	if _, inside := Cut(object); inside.Vector != nil || inside.Vectors != nil {
		return nil, fmt.Errorf("vector: given in the document and beside it, allowed: one of them")
	}
	out := make([]byte, 0, len(object)+len(m.Vector)+len(m.Vectors)+len(`"vector":,"vectors":,`))
	out = append(out, '{')
	for _, v := range []struct {
		name  string
		value []byte
	}{{One, m.Vector}, {Several, m.Vectors}} {
		if v.value != nil {
			out = append(append(strconv.AppendQuote(out, v.name), ':'), v.value...)
			out = append(out, ',')
		}
	}
	rest := bytes.TrimSpace(object[1:])
	if rest[0] == '}' {
		out = out[:len(out)-1]
	}
	return append(out, rest...), nil
}

// Cut takes the members vector and vectors off a JSON object. What is not an object, or has one of
// them twice, is returned as it is, for others to refuse.
func Cut(object []byte) (rest []byte, m Members) {
	s := scanner{b: object}
	if !s.take('{') {
		return object, m
	}
	type span struct{ from, to int }
	var kept []span
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return object, Members{}
		}
		s.space()
		from := s.at
		key := s.value()
		if len(key) < 2 || key[0] != '"' || !s.take(':') {
			return object, Members{}
		}
		value := s.value()
		if value == nil {
			return object, Members{}
		}
		var have *[]byte
		switch string(key) {
		case `"` + One + `"`:
			have = &m.Vector
		case `"` + Several + `"`:
			have = &m.Vectors
		default:
			kept = append(kept, span{from, s.at})
			continue
		}
		if *have != nil {
			return object, Members{}
		}
		*have = value
	}
	if m.Vector == nil && m.Vectors == nil {
		return object, m
	}
	rest = append(make([]byte, 0, len(object)-len(m.Vector)-len(m.Vectors)), '{')
	for i, k := range kept {
		if i > 0 {
			rest = append(rest, ',')
		}
		rest = append(rest, object[k.from:k.to]...)
	}
	rest = append(rest, '}')
	return append(rest, object[s.at:]...), m
}

// CutNumbers takes the member vector off an object if it is a list with the characters of numbers
// alone.
func CutNumbers(object []byte) (rest []byte, m Members) {
	if !bytes.Contains(object, []byte(`"vector"`)) {
		return object, m
	}
	rest, m = Cut(object)
	if m.Vectors != nil || len(m.Vector) == 0 || m.Vector[0] != '[' || !ofNumbers(m.Vector[1:len(m.Vector)-1]) {
		return object, Members{}
	}
	return rest, m
}

// ofNumbers reports whether a list has the characters of numbers alone.
func ofNumbers(list []byte) bool {
	for _, c := range list {
		switch c {
		case ',', ' ', '\n', '\r', '\t', '-', '+', '.', 'e', 'E':
		default:
			if c < '0' || c > '9' {
				return false
			}
		}
	}
	return true
}

// scanner finds the ends of JSON values by their brackets and quotes.
type scanner struct {
	b  []byte
	at int
}

func (s *scanner) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\n' || s.b[s.at] == '\r' || s.b[s.at] == '\t') {
		s.at++
	}
}

// take takes c after white space, if it is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value takes the next value; nil where it does not end.
func (s *scanner) value() []byte {
	s.space()
	from, depth := s.at, 0
	for s.at < len(s.b) {
		switch c := s.b[s.at]; c {
		case '"':
			s.at++
			for s.at < len(s.b) && s.b[s.at] != '"' {
				if s.b[s.at] == '\\' {
					s.at++
				}
				s.at++
			}
			if s.at >= len(s.b) {
				return nil
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return s.b[from:s.at:s.at]
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return s.b[from:s.at:s.at]
			}
		}
		s.at++
		if depth == 0 && (s.b[s.at-1] == '"' || s.b[s.at-1] == ']' || s.b[s.at-1] == '}') {
			return s.b[from:s.at:s.at]
		}
	}
	return nil
}

// Read reads the vectors of a document with so many components. Its error is a *mapping.Refusal.
func (m Members) Read(dimension int, doc mapping.Parts) ([]Vector, error) {
	null := func(b []byte) bool { return b == nil || string(b) == "null" }
	switch {
	case null(m.Vector) && null(m.Vectors):
		return nil, nil
	case null(m.Vectors):
		v, err := readNumbers(m.Vector, dimension, One)
		if err != nil {
			return nil, err
		}
		return []Vector{{Values: v}}, nil
	case !null(m.Vector):
		return nil, refuse(mapping.Phrase("vector and vectors"), "one of them", Several)
	}
	if m.Vectors[0] != '[' {
		return nil, refuse(mapping.Phrase(kind(m.Vectors)), "a list of vectors", Several)
	}
	var list []Vector
	s := scanner{b: m.Vectors, at: 1}
	for !s.take(']') {
		if len(list) > 0 && !s.take(',') {
			return nil, refuse(mapping.Phrase("a list that is no JSON"), "a list of vectors", Several)
		}
		raw := s.value()
		if len(raw) == 0 {
			return nil, refuse(mapping.Phrase("a list that is no JSON"), "a list of vectors", Several)
		}
		if len(list) == backend.MaxPassages {
			return nil, refuse(mapping.Phrase(fmt.Sprintf("more than %d vectors", backend.MaxPassages)), fmt.Sprintf("at most %d", backend.MaxPassages), Several)
		}
		v, err := readOne(raw, dimension, doc, Several, len(list))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b Vector) int { // passages of a field are together and in its order
		switch {
		case a.Part == nil && b.Part == nil:
			return 0
		case a.Part == nil:
			return -1
		case b.Part == nil:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Part.Field, b.Part.Field), cmp.Compare(a.Part.Start, b.Part.Start))
	})
	return list, nil
}

// readOne reads an element of vectors: a list of numbers, or an object.
func readOne(raw []byte, dimension int, doc mapping.Parts, at ...any) (v Vector, err error) {
	if raw[0] != '{' {
		v.Values, err = readNumbers(raw, dimension, at...)
		return v, err
	}
	var o struct {
		Vector json.RawMessage `json:"vector"`
		Field  string          `json:"field"`
		Start  *int            `json:"start"`
		End    *int            `json:"end"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil || o.Vector == nil {
		return v, refuse(mapping.Phrase("another object"), "an object with vector, field, start and end", at...)
	}
	if v.Values, err = readNumbers(o.Vector, dimension, append(at, "vector")...); err != nil {
		return v, err
	}
	if o.Field == "" && o.Start == nil && o.End == nil {
		return v, nil
	}
	f, ok := doc.Field(o.Field)
	if !ok {
		return v, refuse(o.Field, "the name of a field of the document that is text", append(at, "field")...)
	}
	p := backend.Passage{Field: o.Field, End: len(f.Text)}
	if o.Start != nil {
		p.Start = *o.Start
	}
	if o.End != nil {
		p.End = *o.End
	}
	whole := func(i int) bool { return i == len(f.Text) || utf8.RuneStart(f.Text[i]) }
	if p.Start < 0 || p.Start >= p.End || p.End > len(f.Text) || !whole(p.Start) || !whole(p.End) {
		return v, refuse(mapping.Phrase(fmt.Sprintf("%d to %d", p.Start, p.End)), fmt.Sprintf("bytes of the text, which has %d, at characters", len(f.Text)), append(at, "end")...)
	}
	v.Part = &p
	return v, nil
}

// readNumbers reads a vector.
func readNumbers(raw []byte, dimension int, at ...any) ([]float32, error) {
	want := fmt.Sprintf("a list of %d numbers", dimension)
	if raw[0] != '[' {
		return nil, refuse(mapping.Phrase(kind(raw)), want, at...)
	}
	v := make([]float32, 0, dimension)
	s := scanner{b: raw, at: 1}
	n := 0
	for ; !s.take(']'); n++ {
		if n > 0 && !s.take(',') {
			return nil, refuse(mapping.Phrase("a list that is no JSON"), want, at...)
		}
		s.space()
		text := s.number()
		if len(text) == 0 {
			return nil, refuse(mapping.Phrase(kind(s.b[s.at:])), "a number", append(at, n)...)
		}
		if n >= dimension {
			continue // counted for the message
		}
		x, err := strconv.ParseFloat(unsafe.String(&text[0], len(text)), 32)
		if err != nil {
			return nil, refuse(json.Number(text), "a number of float32, up to 3.4e38", append(at, n)...)
		}
		v = append(v, float32(x))
	}
	if n != dimension {
		return nil, refuse(mapping.Phrase(fmt.Sprintf("%d numbers", n)), fmt.Sprintf("%d, the dimension of the collection", dimension), at...)
	}
	if !Unit(v) {
		return nil, refuse(mapping.Phrase("a vector of zeros"), "one that is not zero: it has no direction", at...)
	}
	return v, nil
}

// number takes the characters of a number.
func (s *scanner) number() []byte {
	from := s.at
	for s.at < len(s.b) {
		if c := s.b[s.at]; (c < '0' || c > '9') && c != '-' && c != '.' && c != 'e' && c != 'E' && c != '+' {
			break
		}
		s.at++
	}
	return s.b[from:s.at]
}

// kind names what a JSON value is.
func kind(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// unitTolerance is how far the square of a length may be from 1 where a vector stays as it is, so
// that an exported one is the same when it comes back.
const unitTolerance = 1e-6

// Unit gives a vector unit length in place. It reports false for one without a direction: zero, NaN
// or infinite.
func Unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	if math.Abs(sum-1) <= unitTolerance {
		return true
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return true
}

func refuse(value any, allowed string, at ...any) error {
	return &mapping.Refusal{Path: at, Value: value, Allowed: allowed}
}

// AppendHash appends to b what the vectors add to the hash of a document.
func AppendHash(b []byte, list []Vector) []byte {
	for _, v := range list {
		b = append(b, 'v')
		for _, x := range v.Values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		if v.Part != nil {
			b = fmt.Appendf(b, "%d %d %s", v.Part.Start, v.Part.End, v.Part.Field)
		}
	}
	return b
}
