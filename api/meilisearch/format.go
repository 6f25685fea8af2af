package meilisearch

import (
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/search/mapping"
)

// shown says what hits show.
type shown struct {
	displayed []string // attributes that may be shown; nil: all
	retrieved []string // attributes of a hit; nil: all

	highlighted, cropped map[string]int // by attribute, "*" for all; of a crop the number of words
	pre, post, marker    string
	matches              bool
}

const defaultCropLength = 10

// show reads what a query wants hits to show.
func (x *index) show(m Query) (s shown, err error) {
	s = shown{pre: "<em>", post: "</em>", marker: "…", matches: m.ShowMatchesPosition}
	s.displayed = fieldsOf("", x.settings.DisplayedAttributes)
	if m.AttributesToRetrieve != nil {
		s.retrieved = fieldsOf("", m.AttributesToRetrieve)
	}
	for _, tag := range []struct{ to, from *string }{{&s.pre, m.HighlightPreTag}, {&s.post, m.HighlightPostTag}, {&s.marker, m.CropMarker}} {
		if tag.from != nil {
			*tag.to = *tag.from
		}
	}
	s.highlighted, s.cropped = map[string]int{}, map[string]int{}
	for _, name := range m.AttributesToHighlight {
		s.highlighted[name] = 0
	}
	length := defaultCropLength
	if m.CropLength != nil {
		length = *m.CropLength
	}
	for _, name := range m.AttributesToCrop {
		n := length
		if i := strings.LastIndexByte(name, ':'); i > 0 {
			if n, err = strconv.Atoi(name[i+1:]); err != nil || n < 0 {
				return s, bad("invalid_search_attributes_to_crop", "attributesToCrop: got %.80q, allowed: the name of an attribute, or with its number of words as name:20", name)
			}
			name = name[:i]
		}
		s.cropped[name] = n
	}
	return s, nil
}

// formats reports whether hits have _formatted.
func (s *shown) formats() bool { return len(s.highlighted)+len(s.cropped) > 0 }

// marks reports whether the words that were found are needed.
func (s *shown) marks() bool { return s.formats() || s.matches }

// found returns the words that the engine has marked in its snippets, in lower case.
func found(highlights map[string][]string) map[string]bool {
	words := map[string]bool{}
	for _, snippets := range highlights {
		for _, text := range snippets {
			for {
				_, rest, ok := strings.Cut(text, "<mark>")
				if !ok {
					break
				}
				var marked string
				marked, text, _ = strings.Cut(rest, "</mark>")
				for _, w := range splitWords(html.UnescapeString(marked)) {
					words[strings.ToLower(w.text)] = true
				}
			}
		}
	}
	return words
}

// word is a word of a text with its place.
type word struct {
	text  string
	start int
}

// splitWords returns the words of a text: runs of letters, digits and marks.
func splitWords(text string) (words []word) {
	start := -1
	for i, r := range text {
		in := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if in && start < 0 {
			start = i
		}
		if !in && start >= 0 {
			words, start = append(words, word{text[start:i], start}), -1
		}
	}
	if start >= 0 {
		words = append(words, word{text[start:], start})
	}
	return words
}

// format returns a document with the words that were found marked, and its texts cropped.
func (s *shown) format(doc json.RawMessage, highlights map[string][]string) (any, error) {
	names := s.retrieved
	if names != nil {
		names = slices.Clone(names)
		for _, more := range []map[string]int{s.highlighted, s.cropped} {
			for name := range more {
				if name == "*" {
					continue
				}
				names = append(names, name)
			}
		}
	}
	part, err := mapping.Project(doc, names, nil)
	if err != nil {
		return nil, err
	}
	value, err := plain(part)
	if err != nil {
		return nil, err
	}
	return s.formatted("", value, found(highlights)), nil
}

// plain decodes JSON and keeps numbers as they are.
func plain(raw json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// formatted returns a value of an attribute with its words marked. Numbers become texts, as in
// Meilisearch.
func (s *shown) formatted(name string, v any, words map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		for member := range v {
			v[member] = s.formatted(strings.TrimPrefix(name+"."+member, "."), v[member], words)
		}
	case []any:
		for i := range v {
			v[i] = s.formatted(name, v[i], words)
		}
	case json.Number:
		return s.text(name, v.String(), words)
	case string:
		return s.text(name, v, words)
	}
	return v
}

// of returns the value for an attribute, one above it, or all.
func of(m map[string]int, name string) (n int, ok bool) {
	for at := name; ; {
		if n, ok = m[at]; ok {
			return n, true
		}
		i := strings.LastIndexByte(at, '.')
		if i < 0 {
			break
		}
		at = at[:i]
	}
	n, ok = m["*"]
	return n, ok
}

// text formats a text.
func (s *shown) text(name, text string, found map[string]bool) string {
	_, mark := of(s.highlighted, name)
	length, crop := of(s.cropped, name)
	if !mark && !crop {
		return text
	}
	words := splitWords(text)
	from, to := 0, len(text)
	if crop && length > 0 && len(words) > length {
		at := max(0, slices.IndexFunc(words, func(w word) bool { return found[strings.ToLower(w.text)] }))
		first := max(0, min(at-length/2, len(words)-length))
		last := words[first+length-1]
		from, to = words[first].start, last.start+len(last.text)
		if first == 0 {
			from = 0
		}
		if first+length == len(words) {
			to = len(text)
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(s.marker)
	}
	written := from
	for _, w := range words {
		if w.start < from || w.start >= to || !mark || !found[strings.ToLower(w.text)] {
			continue
		}
		b.WriteString(text[written:w.start] + s.pre + w.text + s.post)
		written = w.start + len(w.text)
	}
	b.WriteString(text[written:to])
	if to < len(text) {
		b.WriteString(s.marker)
	}
	return b.String()
}

// position is where a word that was found stands in an attribute.
type position struct {
	Start   int   `json:"start"`
	Length  int   `json:"length"`
	Indices []int `json:"indices,omitempty"` // of a list
}

// positions returns where the words that were found stand, in UTF-8 bytes, by attribute.
func (s *shown) positions(doc json.RawMessage, highlights map[string][]string) (map[string][]position, error) {
	value, err := plain(doc)
	if err != nil {
		return nil, err
	}
	out, words := map[string][]position{}, found(highlights)
	var walk func(name string, indices []int, v any)
	walk = func(name string, indices []int, v any) {
		switch v := v.(type) {
		case map[string]any:
			for member := range v {
				walk(strings.TrimPrefix(name+"."+member, "."), nil, v[member])
			}
		case []any:
			for i := range v {
				walk(name, append(slices.Clone(indices), i), v[i])
			}
		case string:
			for _, w := range splitWords(v) {
				if words[strings.ToLower(w.text)] && utf8.ValidString(w.text) {
					out[name] = append(out[name], position{w.start, len(w.text), indices})
				}
			}
		}
	}
	walk("", nil, value)
	return out, nil
}
