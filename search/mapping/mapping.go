// Package mapping says what the fields of a document are: text that is searched, values that are filtered on, or neither.
package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a document.
const (
	MaxFields      = 1000    // leaves of one document, nested ones included
	MaxDepth       = 16      // of nested objects
	MaxFilterBytes = 256     // longer strings cannot be filtered on
	MaxListValues  = 1000    // of one field
	MaxDocument    = 8 << 20 // bytes of JSON
)

// Type says what a field is for.
type Type string

// The types.
const (
	Text   Type = "text"   // searched by words and by meaning; strings of at most 256 bytes can also be filtered on
	Filter Type = "filter" // exact values only
	Stored Type = "stored" // neither
)

// Field is the setting of one field.
type Field struct {
	Type   Type    `json:"type"`
	Weight float64 `json:"weight,omitempty"` // of the keyword leg; 0 means [TitleWeight] for a title, 1 for other fields
}

// Mapping is a collection's; fields without an entry are dynamic. The nil Mapping is all dynamic:
// fields named in the list of wellKnown are text; in a document without any of them every string is.
type Mapping map[string]Field

// wellKnown lists the names that are text without being told, titles first.
var wellKnown = []string{
	"title", "name", "heading", "headline", "subject",
	"text", "body", "content", "abstract", "summary", "description", "question", "answer",
}

// titles is how many of wellKnown stand for a document's title.
const titles = 5

// TitleWeight is what a word of a title counts in the keyword leg where the mapping does not say: so many times one of the text.
const TitleWeight = 2

// TextField is one searched field of a document.
type TextField struct{ Name, Text string }

// Parts is a document taken apart.
type Parts struct {
	Text   []TextField    // titles first, then by name in the order of wellKnown, then alphabetically
	Title  string         // the first title field's text; empty where there is none
	Values map[string]any // filterable: string, float64, bool, time.Time, []any of these; nested names joined with dots
}

// ErrDocument is what every refused document matches.
var ErrDocument = errors.New("document refused")

// Split takes the JSON object apart. Numbers beyond float64, more than [MaxFields] leaves and deeper nesting than [MaxDepth] are refused
// with an error that names the field.
func (m Mapping) Split(fields []byte) (Parts, error) {
	var p Parts
	if len(fields) > MaxDocument {
		return p, fmt.Errorf("%w: %d bytes of JSON, allowed: at most %d", ErrDocument, len(fields), MaxDocument)
	}
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(fields))
	if err := dec.Decode(&object); err != nil {
		return p, fmt.Errorf("%w: not a JSON object: %v", ErrDocument, err)
	}
	if object == nil {
		return p, fmt.Errorf("%w: not a JSON object: null", ErrDocument)
	}
	flat := map[string]any{}
	if err := flatten(flat, "", object, 0); err != nil {
		return p, err
	}
	names := make([]string, 0, len(flat))
	for name := range flat {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := rank(names[i]), rank(names[j])
		return a < b || a == b && names[i] < names[j]
	})
	known := m.anyKnown(names, flat)
	p.Values = make(map[string]any, len(flat))
	for _, name := range names {
		v := flat[name]
		f, set := m[name]
		if f.Type == Stored {
			continue
		}
		if s, ok := textOf(v); ok && (set && f.Type == Text || !set && m.dynamicText(name, v, known)) {
			if strings.TrimSpace(s) != "" {
				p.Text = append(p.Text, TextField{name, s})
				if p.Title == "" && rank(name) < titles {
					p.Title = s
				}
			}
		}
		if fv, ok := filterable(v); ok {
			p.Values[name] = fv
		}
	}
	return p, nil
}

// dynamicText reports whether a field without a setting is text.
func (m Mapping) dynamicText(name string, v any, known bool) bool {
	if _, ok := v.(string); !ok {
		return false
	}
	return !known || rank(name) < len(wellKnown)
}

// anyKnown reports whether the document has a text field by name or by setting.
func (m Mapping) anyKnown(names []string, flat map[string]any) bool {
	for _, name := range names {
		if f, set := m[name]; set {
			if f.Type == Text {
				return true
			}
			continue
		}
		if s, ok := flat[name].(string); ok && rank(name) < len(wellKnown) && strings.TrimSpace(s) != "" {
			return true
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

// flatten writes the leaves of v to out under dotted names.
func flatten(out map[string]any, prefix string, v map[string]any, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: field %q: nested deeper than %d", ErrDocument, prefix, MaxDepth)
	}
	for key, value := range v {
		name := key
		if prefix != "" {
			name = prefix + "." + key
		}
		if key == "" || !utf8.ValidString(key) || len(name) > 256 {
			return fmt.Errorf("%w: field name %.80q: allowed: 1 to 256 bytes of UTF-8", ErrDocument, name)
		}
		if sub, ok := value.(map[string]any); ok {
			if err := flatten(out, name, sub, depth+1); err != nil {
				return err
			}
			continue
		}
		if list, ok := value.([]any); ok && len(list) > MaxListValues {
			return fmt.Errorf("%w: field %q: %d values, allowed: at most %d", ErrDocument, name, len(list), MaxListValues)
		}
		if out[name] = value; len(out) > MaxFields {
			return fmt.Errorf("%w: more than %d fields", ErrDocument, MaxFields)
		}
	}
	return nil
}

// textOf returns the text of a string, or of a list of strings one per line.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		var b strings.Builder
		for i, e := range v {
			s, ok := e.(string)
			if !ok {
				return "", false
			}
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(s)
		}
		return b.String(), len(v) > 0
	}
	return "", false
}

// filterable returns v as the filter index takes it: string, float64, bool, or a list of these.
func filterable(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return v, len(v) <= MaxFilterBytes
	case float64:
		return v, !math.IsInf(v, 0)
	case bool:
		return v, true
	case time.Time:
		return v, true
	case []any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			if _, nested := e.([]any); nested {
				return nil, false
			}
			if fe, ok := filterable(e); ok {
				list = append(list, fe)
			}
		}
		return list, len(list) > 0
	}
	return nil, false
}

// Field returns the text of one field of a document, by its dotted name.
func (p Parts) Field(name string) (TextField, bool) {
	for _, f := range p.Text {
		if f.Name == name {
			return f, true
		}
	}
	return TextField{}, false
}

// IsTitle reports whether a text field is the document's title. Others of such names are text like any other.
func (p Parts) IsTitle(name string) bool {
	return len(p.Text) > 0 && p.Text[0].Name == name && IsTitle(name)
}

// Weight is what an occurrence of a word in a field counts in the keyword leg.
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

// Faults names every wrong setting, in the order of the fields' names.
func (m Mapping) Faults() (faults []Fault) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		f := m[name]
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
