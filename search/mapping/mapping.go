// Package mapping says what the fields of a document are: text that is searched, values that are
// filtered on, or neither.
package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"unicode/utf8"
)

// Limits of a document.
const (
	MaxFields      = 1000    // dotted names of one document
	MaxDepth       = 16      // of nested objects, and of lists in lists
	MaxFilterBytes = 256     // longer strings of fields that are not [Filter] have no value to compare; they do EXIST
	MaxListValues  = 1000    // of one dotted name
	maxFieldName   = 256     // bytes of a field's name with dots
	maxRunBytes    = 256     // longer strings of ASCII without white space, base64 and the like, have no words
	MaxDocument    = 8 << 20 // bytes of JSON
)

// Type says what a field is for.
type Type string

// The types.
const (
	Text   Type = "text"   // searched by words and by meaning, numbers and booleans as they are written; all but strings of more than 256 bytes are values, too
	Filter Type = "filter" // exact values only, strings of any length
	Stored Type = "stored" // neither
)

// Field is the setting of one field.
type Field struct {
	Type   Type    `json:"type"`
	Weight float64 `json:"weight,omitempty"` // in keyword search; 0 means [TitleWeight] for a title, 1 for other fields
}

// Mapping is a collection's; fields without an entry are dynamic. The nil Mapping is all dynamic:
// fields named in the list of wellKnown are text; in a document without any of them every string
// is. Strings of dynamic fields that are not text, and lists of strings, are searched by words
// alone.
type Mapping map[string]Field

// wellKnown lists the names that are text without being told, titles first.
var wellKnown = []string{
	"title", "name", "heading", "headline", "subject",
	"text", "body", "content", "abstract", "summary", "description", "question", "answer",
}

// titles is how many of wellKnown stand for a document's title.
const titles = 5

// TitleWeight is what a word of a title counts in keyword search where the mapping does not say:
// so many times one of the text.
const TitleWeight = 2

// AsideWeight is what a word of a field of [Parts].Words counts in keyword search. Where a file
// lies, whom a mail went to and which tags somebody gave help to find a document, and say less
// about it than its text does.
const AsideWeight = 0.5

// Version changes whenever [Mapping.Split] gives other Text or Words than before, so that what was
// indexed from them is built again.
const Version = 3

// TextField is one searched field of a document.
type TextField struct{ Name, Text string }

// Parts is a document taken apart.
type Parts struct {
	Text  []TextField // titles first, then by name in the order of wellKnown, then alphabetically
	Title string      // the first title field's text; empty where there is none
	Words []TextField // searched by words alone, in the same order as Text: no passage is cut from them, and none of them is in Text
	// Where in its text each string of a field of Text or Words begins but the first, by name;
	// fields of one string are left out.
	Starts map[string][]int
	// filterable: string, float64, json.Number where that is not exact, bool, filter.Present for a
	// string that is too long to be compared, []any of these; nested names joined with dots
	Values  map[string]any
	Blank   bool     // no field of any type holds more than white space
	NotText []string // of a document without text: fields of usual names that would be it if they held strings
}

// ErrDocument is what every refused document matches. What follows it in the text of an error, a
// [Refusal] apart, says what is allowed.
var ErrDocument = errors.New("document refused")

// Refusal says which value of a document is wrong, and what is allowed. It matches [ErrDocument].
type Refusal struct {
	Path    []any // to the value: names of members, string, and indexes of elements, int
	Value   any   // with a name that is not allowed, that
	Allowed string
}

// Phrase is what a refusal says of a value in place of it.
type Phrase string

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%v: field %.80q: %.80v, allowed: %s", ErrDocument, PathText(r.Path), r.Value, r.Allowed)
}

// PathText writes a path as people do: a.b[0].c.
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

// Split takes the JSON object apart, as [flattener] says. Numbers beyond float64, more than
// [MaxFields] names, more than [MaxListValues] values of one of them and deeper nesting than
// [MaxDepth] are refused with a [Refusal].
func (m Mapping) Split(fields []byte) (Parts, error) {
	if len(fields) > MaxDocument {
		return Parts{}, fmt.Errorf("%w: at most %d bytes of JSON, not %d", ErrDocument, MaxDocument, len(fields))
	}
	return m.split(fields, &flattener{})
}

// SplitStored takes a stored document apart: one that was accepted, perhaps when other limits held.
// What is beyond a limit is left out.
func (m Mapping) SplitStored(fields []byte) (Parts, error) {
	return m.split(fields, &flattener{lenient: true})
}

func (m Mapping) split(fields []byte, flat *flattener) (Parts, error) {
	var p Parts
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(fields))
	dec.UseNumber()
	if err := dec.Decode(&object); err != nil {
		return p, fmt.Errorf("%w: a JSON object: %v", ErrDocument, err)
	}
	if object == nil {
		return p, fmt.Errorf("%w: a JSON object, not null", ErrDocument)
	}
	flat.leaves = map[string]*leaf{}
	if err := flat.object("", object, 0); err != nil {
		return p, err
	}
	names := make([]string, 0, len(flat.leaves))
	for name := range flat.leaves {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := rank(names[i]), rank(names[j])
		return a < b || a == b && names[i] < names[j]
	})
	known := m.anyKnown(names, flat.leaves)
	p.Values = make(map[string]any, len(names))
	p.Blank = true
	for _, name := range names {
		l := flat.leaves[name]
		p.Blank = p.Blank && l.blank()
		f, set := m[name]
		if f.Type == Stored {
			continue
		}
		usual := !set && !l.list && rank(name) < len(wellKnown)
		s, starts, ok := l.text(f.Type == Text)
		if !ok && usual {
			p.NotText = append(p.NotText, name)
		}
		if ok && (f.Type == Text || usual || !set && !l.list && !known) {
			if strings.TrimSpace(s) != "" {
				p.Text = append(p.Text, TextField{name, s})
				p.startsOf(name, starts)
				if p.Title == "" && rank(name) < titles {
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

// anyKnown reports whether the document has a text field by name or by setting.
func (m Mapping) anyKnown(names []string, leaves map[string]*leaf) bool {
	for _, name := range names {
		if f, set := m[name]; set {
			if f.Type == Text {
				return true
			}
			continue
		}
		if l := leaves[name]; !l.list && rank(name) < len(wellKnown) {
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

// IsTitle reports whether a text field is the document's title. Others of such names are text like
// any other.
func (p Parts) IsTitle(name string) bool {
	return len(p.Text) > 0 && p.Text[0].Name == name && IsTitle(name)
}

// TitleOver returns the title over a text of a field; empty where that is of the title itself.
func (p Parts) TitleOver(field string) string {
	if p.IsTitle(field) {
		return ""
	}
	return p.Title
}

// Weight is what an occurrence of a word in a text field counts in keyword search.
func (m Mapping) Weight(name string) float64 {
	if w := m[name].Weight; w > 0 {
		return w
	}
	if IsTitle(name) {
		return TitleWeight
	}
	return 1
}

// Named reports whether a field has a setting, or a name that is text without being told.
func (m Mapping) Named(name string) bool {
	_, set := m[name]
	return set || rank(name) < len(wellKnown)
}

// IsTitle reports whether a text field of this name stands for the document's title.
func IsTitle(name string) bool { return rank(name) < titles }

// Fault is a wrong setting of a mapping.
type Fault struct {
	Field   string // e.g. fields.title.type
	Value   any
	Allowed string
}

// fieldNames says which names a field may have.
const fieldNames = "field names of 1 to 256 bytes of UTF-8"

// Faults names every wrong setting, in the order of the fields' names.
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
			continue // what else is wrong with it would be named by it
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
