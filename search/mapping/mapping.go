// Package mapping decides how each field of a document is used: as text that is searched, as values
// for filters, or neither.
package mapping

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Limits of a document.
const (
	MaxFields      = 1000    // dotted names of one document
	MaxDepth       = 16      // of nested objects, and of lists in lists
	MaxFilterBytes = 256     // longer strings of fields that are not [Filter] only support EXISTS
	MaxListValues  = 1000    // of one dotted name
	maxNested      = 100_000 // objects and lists: each takes far more memory than its two bytes
	maxFieldName   = 256     // bytes of a dotted name
	maxRunBytes    = 256     // longer runs of ASCII without white space, such as base64, are not indexed as words
	MaxDocument    = 8 << 20 // bytes of JSON
)

// Type is how a field is used.
type Type string

// The types.
const (
	Text   Type = "text"   // searched by words and by meaning; values of up to 256 bytes also support filters
	Filter Type = "filter" // exact values only, strings of any length
	Stored Type = "stored" // neither
)

// Field is the setting of one field.
type Field struct {
	Type   Type    `json:"type"`
	Weight float64 `json:"weight,omitempty"` // in keyword search; 0 means [TitleWeight] for a title, 1 for other fields
}

// Mapping maps the names of a collection's fields to their settings. Fields without an entry are
// dynamic: those with a name in wellKnown are text. In a document without any text field by setting
// or by name, all dynamic strings are text. Other dynamic strings, and lists of strings, are only
// searched by words.
type Mapping map[string]Field

// wellKnown lists the names of dynamic fields that are text, titles first.
var wellKnown = []string{
	"title", "name", "heading", "headline", "subject",
	"text", "body", "content", "abstract", "summary", "description", "question", "answer",
}

// titles is the number of names at the start of wellKnown that are titles.
const titles = 5

// TitleWeight is the default weight of title fields in keyword search; other text has weight 1.
const TitleWeight = 2

// AsideWeight is the weight of the fields of [Parts].Words in keyword search. File paths, mail
// recipients and tags help to find a document but say less about it than its text.
const AsideWeight = 0.5

// Version is raised whenever [Mapping.Split] changes what it returns as Text or Words, so that
// indexes are rebuilt.
const Version = 3

// TextField is one searched field of a document.
type TextField struct{ Name, Text string }

// Parts is a document split into text and values.
type Parts struct {
	Text  []TextField // titles first, then by name in the order of wellKnown, then alphabetically
	Title string      // text of the first title field, or ""
	Words []TextField // searched only by words, in the same order as Text; not cut into passages
	// Starts has, by field name, the offsets in the field's text at which its second and later
	// strings begin. Fields of a single string have no entry.
	Starts map[string][]int
	// Values are the filterable values by dotted name: string, float64, json.Number if float64 is
	// not exact, bool, filter.Present for a string that is too long to compare, geo.Point, or []any
	// of these.
	Values  map[string]any
	Blank   bool     // all fields of all types are empty or white space
	NotText []string // in a document without text: fields with well-known names whose values are not strings
}

// ErrDocument is matched by the errors of all rejected documents. Except in a [Refusal], the text
// after it says what is allowed.
var ErrDocument = errors.New("document refused")

// Refusal is the error for an invalid value of a document. It matches [ErrDocument].
type Refusal struct {
	Path    []any // to the value: names of members, string, and indexes of elements, int
	Value   any   // the invalid value, or the name if that is invalid
	Allowed string
}

// Phrase is a description of a value, used in a [Refusal] in place of the value.
type Phrase string

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%v: field %.80q: %.80v, allowed: %s", ErrDocument, PathText(r.Path), r.Value, r.Allowed)
}

// PathText formats a path as in a.b[0].c.
func PathText(path []any) string {
	var b strings.Builder
	for i, step := range path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			if s == "" {
				s = `""`
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// Is makes errors.Is(err, ErrDocument) true.
func (r *Refusal) Is(target error) bool { return target == ErrDocument }

// Split splits a document, a JSON object, into its parts. Nested names are joined as described at
// [flattener]. It returns a [Refusal] for numbers beyond float64, more than [MaxFields] names, more
// than [MaxListValues] values of one name, nesting deeper than [MaxDepth], and more than 100,000
// objects and lists.
func (m Mapping) Split(fields []byte) (Parts, error) {
	if len(fields) > MaxDocument {
		return Parts{}, fmt.Errorf("%w: at most %d bytes of JSON, not %d", ErrDocument, MaxDocument, len(fields))
	}
	return m.split(fields, &flattener{})
}

// SplitStored is Split for a stored document, which may have been accepted under other limits. It
// leaves out what exceeds a limit instead of failing.
func (m Mapping) SplitStored(fields []byte) (Parts, error) {
	return m.split(fields, &flattener{lenient: true})
}

func (m Mapping) split(fields []byte, flat *flattener) (Parts, error) {
	var p Parts
	object, err := decode(fields, !flat.lenient)
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return p, refusal
	}
	if err != nil {
		return p, fmt.Errorf("%w: a JSON object: %v", ErrDocument, err)
	}
	if object == nil {
		return p, fmt.Errorf("%w: a JSON object, not null", ErrDocument)
	}
	flat.leaves = map[string]*leaf{}
	if err := flat.object("", object, 0); err != nil {
		return p, err
	}
	leaves := make([]*leaf, 0, len(flat.leaves))
	for name, l := range flat.leaves {
		l.name, l.rank = name, rank(name)
		leaves = append(leaves, l)
	}
	slices.SortFunc(leaves, func(a, b *leaf) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.name, b.name)) })
	known := m.anyKnown(leaves)
	p.Values = make(map[string]any, len(leaves))
	p.Blank = true
	for _, l := range leaves {
		name := l.name
		p.Blank = p.Blank && l.blank()
		f, set := m[name]
		if f.Type == Stored {
			continue
		}
		usual := !set && !l.list && l.rank < len(wellKnown)
		s, starts, ok := l.text(f.Type == Text)
		if !ok && usual {
			p.NotText = append(p.NotText, name)
		}
		if ok && (f.Type == Text || usual || !set && !l.list && !known) {
			if strings.TrimSpace(s) != "" {
				p.Text = append(p.Text, TextField{name, s})
				p.startsOf(name, starts)
				if p.Title == "" && l.rank < titles {
					p.Title = s
				}
			}
		} else if !set {
			if s, starts := l.words(); s != "" {
				p.Words = append(p.Words, TextField{name, s})
				p.startsOf(name, starts)
			}
		}
		p.Values[name] = l.filterable(f.Type == Filter)
	}
	for name, points := range flat.points {
		if m[name].Type == Stored {
			continue
		}
		switch v, ok := p.Values[name]; list := v.(type) {
		case []any:
			p.Values[name] = append(list, points...)
		default:
			if ok {
				points = append([]any{v}, points...)
			}
			if p.Values[name] = any(points); len(points) == 1 {
				p.Values[name] = points[0]
			}
		}
	}
	if len(p.Text) > 0 {
		p.NotText = nil
	}
	return p, nil
}

func (p *Parts) startsOf(name string, starts []int) {
	if len(starts) == 0 {
		return
	}
	if p.Starts == nil {
		p.Starts = map[string][]int{}
	}
	p.Starts[name] = starts
}

// anyKnown reports whether the document has a text field, by setting or by name.
func (m Mapping) anyKnown(leaves []*leaf) bool {
	for _, l := range leaves {
		if f, set := m[l.name]; set {
			if f.Type == Text {
				return true
			}
			continue
		}
		if !l.list && l.rank < len(wellKnown) {
			if s, _, ok := l.text(false); ok && strings.TrimSpace(s) != "" {
				return true
			}
		}
	}
	return false
}

func rank(name string) int {
	for i, w := range wellKnown {
		if strings.EqualFold(w, name) {
			return i
		}
	}
	return len(wellKnown)
}

// Field returns the text of one text field of a document, by its dotted name.
func (p Parts) Field(name string) (TextField, bool) {
	for _, f := range p.Text {
		if f.Name == name {
			return f, true
		}
	}
	return TextField{}, false
}

// IsTitle reports whether the named text field is the document's title. Further fields with title
// names are ordinary text.
func (p Parts) IsTitle(name string) bool {
	return len(p.Text) > 0 && p.Text[0].Name == name && IsTitle(name)
}

// TitleOver returns the title to show above text of the given field, or "" if it is the title
// field.
func (p Parts) TitleOver(field string) string {
	if p.IsTitle(field) {
		return ""
	}
	return p.Title
}

// Weight returns the weight of a text field in keyword search.
func (m Mapping) Weight(name string) float64 {
	if w := m[name].Weight; w > 0 {
		return w
	}
	if IsTitle(name) {
		return TitleWeight
	}
	return 1
}

// Named reports whether a field has a setting or a well-known name.
func (m Mapping) Named(name string) bool {
	_, set := m[name]
	return set || rank(name) < len(wellKnown)
}

// IsTitle reports whether name is a well-known name of a title field.
func IsTitle(name string) bool { return rank(name) < titles }

// Fault is an invalid setting of a mapping.
type Fault struct {
	Field   string // e.g. fields.title.type
	Value   any
	Allowed string
}

// fieldNames describes the valid names of fields.
const fieldNames = "field names of 1 to 256 bytes of UTF-8"

// Faults returns all invalid settings, sorted by field name.
func (m Mapping) Faults() (faults []Fault) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		f := m[name]
		if name == "" || !utf8.ValidString(name) || len(name) > maxFieldName {
			faults = append(faults, Fault{"fields", name, fieldNames})
			continue // the name is unusable in further messages
		}
		switch f.Type {
		case Text, Filter, Stored:
		default:
			faults = append(faults, Fault{"fields." + name + ".type", string(f.Type), "text, filter, stored"})
		}
		if f.Weight < 0 || f.Weight > 100 || math.IsNaN(f.Weight) {
			faults = append(faults, Fault{"fields." + name + ".weight", f.Weight, "0 to 100"})
		}
	}
	return faults
}
