package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// Limits of get_document.
const (
	defaultText, minText, maxText = 20_000, 100, 100_000 // bytes of an answer
	shortText                     = 200                  // bytes of a value that comes before the long ones
	maxLeft                       = 50                   // fields that are named though there was no room for them
	maxFieldOffset                = mapping.MaxDocument
)

const documentText = `Reads a document by its id: its fields, nested ones as object.member. Of long documents a part comes back, and the answer says at which byte ` +
	`of which field to read on: call again with that field and offset. To see what stands around a passage that search found, give its field and an offset a little before it.`

var documentArguments = object{
	"id":         object{"type": "string", "description": "The id of the document, as search shows it."},
	"collection": collectionArgument,
	"field":      object{"type": "string", "description": "Read this field alone."},
	"offset":     object{"type": "integer", "minimum": 0, "maximum": maxFieldOffset, "default": 0, "description": "Byte of the field's text to read from, together with field."},
	"max_bytes":  object{"type": "integer", "minimum": minText, "maximum": maxText, "default": defaultText, "description": "How much text comes back at most."},
}

type documentInput struct {
	ID         string `json:"id"`
	Collection string `json:"collection"`
	Field      string `json:"field"`
	Offset     int    `json:"offset"`
	MaxBytes   int    `json:"max_bytes"`
}

// document is the structured result of get_document.
type document struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Fields     []part `json:"fields"`
	Left       []rest `json:"left,omitempty" jsonschema:"fields of which nothing is shown here"`
	MoreLeft   int    `json:"more_left,omitempty" jsonschema:"how many more of them there are"`
}

// part is a part of the text of a field.
type part struct {
	Name  string `json:"name"`
	Start int    `json:"start" jsonschema:"byte of the field's text at which text begins"`
	Bytes int    `json:"bytes" jsonschema:"how long the text of the whole field is"`
	Text  string `json:"text"`
	Next  int    `json:"next,omitempty" jsonschema:"offset to read on at; absent where this was the end"`
}

type rest struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

func (s *Server) document(ctx context.Context, in documentInput) (document, string, error) {
	offset, room := in.Offset, in.MaxBytes
	if offset > 0 && in.Field == "" {
		return document{}, "", fmt.Errorf("offset: got %d, allowed: 0, or together with field, whose text it counts in", offset)
	}
	name, err := s.choose(ctx, in.Collection)
	if err != nil {
		return document{}, "", err
	}
	d, err := s.engine.Document(ctx, name, in.ID)
	if err != nil {
		return document{}, "", s.rephrase(ctx, err)
	}
	texts, err := textsOf(d.Fields)
	if err != nil {
		return document{}, "", err
	}
	out := document{Collection: name, ID: d.ID, Fields: []part{}}
	if in.Field != "" {
		i := slices.IndexFunc(texts, func(t mapping.TextField) bool { return t.Name == in.Field })
		if i < 0 {
			return document{}, "", fmt.Errorf("field: the document has no %q, allowed: %s", shown([]byte(in.Field)), namesOf(texts))
		}
		if end := len(texts[i].Text); offset > 0 && offset >= end {
			return document{}, "", fmt.Errorf("offset: got %d, allowed: less than the %d bytes of the field", offset, end)
		}
		out.Fields = append(out.Fields, partOf(texts[i], offset, room))
		return out, out.text(), nil
	}
	for _, t := range texts {
		switch {
		case room > 0 && (len(t.Text) <= room || room >= minText):
			p := partOf(t, 0, room)
			out.Fields = append(out.Fields, p)
			room -= len(t.Name) + len(p.Text)
		case len(out.Left) < maxLeft:
			out.Left = append(out.Left, rest{t.Name, len(t.Text)})
		default:
			out.MoreLeft++
		}
	}
	return out, out.text(), nil
}

// partOf returns at most room bytes of a text from offset, or from the start of the character
// there.
func partOf(t mapping.TextField, offset, room int) part {
	start := cutPoint(t.Text, offset)
	end := cutPoint(t.Text, start+room)
	p := part{Name: t.Name, Start: start, Bytes: len(t.Text), Text: t.Text[start:end]}
	if end < len(t.Text) {
		p.Next = end
	}
	return p
}

// textsOf returns the fields of a document as text: titles, short fields, long ones. Offsets equal
// those of passages, since [mapping.Mapping.Split] joins values in the same way.
func textsOf(fields json.RawMessage) ([]mapping.TextField, error) {
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(fields))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, errors.New("the document cannot be read")
	}
	values := map[string][]string{}
	collect(values, "", doc)
	var out []mapping.TextField
	for name, list := range values {
		out = append(out, mapping.TextField{Name: name, Text: strings.Join(list, "\n")})
	}
	class := func(t mapping.TextField) int {
		switch {
		case mapping.IsTitle(t.Name):
			return 0
		case len(t.Text) <= shortText:
			return 1
		}
		return 2
	}
	slices.SortFunc(out, func(a, b mapping.TextField) int {
		return cmp.Or(class(a)-class(b), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// collect adds the values of v under the dotted name of its field.
func collect(values map[string][]string, name string, v any) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if name == "" {
				collect(values, key, v[key])
			} else {
				collect(values, name+"."+key, v[key])
			}
		}
	case []any:
		for _, element := range v {
			collect(values, name, element)
		}
	default:
		values[name] = append(values[name], fmt.Sprint(v))
	}
}

func namesOf(texts []mapping.TextField) string {
	var names []string
	for _, t := range texts {
		names = append(names, shown([]byte(flat(t.Name))))
	}
	return suggested(names)
}

func (d document) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Document %s of %s\n", oneLine(d.ID), d.Collection)
	for _, p := range d.Fields {
		name := flat(p.Name)
		switch {
		case p.Start == 0 && p.Next == 0 && len(p.Text) <= shortText && !strings.ContainsAny(p.Text, breaks):
			fmt.Fprintf(&b, "%s: %s\n", name, p.Text)
		case p.Start == 0 && p.Next == 0:
			fmt.Fprintf(&b, "\n%s:\n%s\n", name, quote(p.Text))
		default:
			fmt.Fprintf(&b, "\n%s, bytes %d-%d of %d:\n%s\n", name, p.Start, p.Start+len(p.Text), p.Bytes, quote(p.Text))
		}
		if p.Next > 0 {
			fmt.Fprintf(&b, "[cut here; to read on: field %q, offset %d]\n", p.Name, p.Next)
		}
	}
	if len(d.Left) > 0 {
		b.WriteString("\nNot shown, to be read with field:\n")
	}
	for _, r := range d.Left {
		fmt.Fprintf(&b, "%s: %d bytes\n", flat(r.Name), r.Bytes)
	}
	if d.MoreLeft > 0 {
		fmt.Fprintf(&b, "and %d more fields\n", d.MoreLeft)
	}
	return b.String()
}

var _ Engine = (*search.Engine)(nil)
