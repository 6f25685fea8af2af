package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/searchd/search"
)

var (
	hashID    = regexp.MustCompile(`^[0-9a-f]{32}$`) // of a record without an id
	wordy     = regexp.MustCompile(`\p{L}{2}`)
	webScheme = regexp.MustCompile(`^https?:`)
)

const longestHeading = 80 // characters

// titleFields and textFields are fields that have the title and the text of a document, as in the
// page.
var (
	titleFields = []string{"title", "name", "heading", "headline", "subject", "question"}
	textFields  = []string{"text", "body", "content", "abstract", "summary", "description", "answer"}
)

// heading returns a title of a hit for a person, the first of these that it has:
//
//   - the title, or the first heading or line of the text;
//   - of a row the values with words, in their order;
//   - the beginning of a passage with words;
//   - the numbers, dates and addresses of a row;
//   - the file name, or else the id.
func heading(h search.Hit) string {
	names, fields := fieldsInOrder(h.Document)
	for _, name := range titleFields {
		if s, ok := fields[name].(string); ok && strings.TrimSpace(s) != "" {
			return begin(s)
		}
	}
	for _, name := range textFields {
		if s, ok := fields[name].(string); ok && strings.TrimSpace(s) != "" {
			return begin(firstLine(s))
		}
	}
	if !hashID.MatchString(h.ID) {
		return cmp.Or(oneLine(path.Base(h.ID)), oneLine(h.ID))
	}
	var all, words []string
	for _, name := range names {
		s, isText := "", false
		switch v := fields[name].(type) {
		case string:
			s, isText = begin(v), true
		case json.Number:
			s = v.String()
		case bool:
			s = map[bool]string{true: "true", false: "false"}[v]
		}
		if s == "" {
			continue
		}
		all = append(all, s)
		if isText && wordy.MatchString(s) && !webScheme.MatchString(s) {
			words = append(words, s)
		}
	}
	found := slices.IndexFunc(h.Passages, func(p search.PassageHit) bool { return wordy.MatchString(p.Text) })
	switch {
	case len(words) > 0:
		return begin(strings.Join(words, " · "))
	case found >= 0:
		return begin(h.Passages[found].Text)
	case len(all) > 0:
		return begin(strings.Join(all, " · "))
	}
	return h.ID
}

// firstLine returns the first heading of a Markdown text, or else its first line with words.
func firstLine(text string) string {
	first := ""
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > 50 {
			break
		}
		line = strings.TrimSpace(line)
		if marked := strings.TrimLeft(line, "#"); marked != line && strings.HasPrefix(marked, " ") {
			return strings.TrimSpace(marked)
		}
		if first == "" && wordy.MatchString(line) {
			first = line
		}
	}
	return cmp.Or(first, text)
}

// fieldsInOrder returns the fields of a document and their names as they come.
func fieldsInOrder(document json.RawMessage) (names []string, fields map[string]any) {
	fields = map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fields
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var v any
		if err := dec.Decode(&v); err != nil {
			break
		}
		s, _ := name.(string)
		names, fields[s] = append(names, s), v
	}
	return names, fields
}

// begin returns the first words of a text, on one line.
func begin(text string) string {
	text = oneLine(text)
	if utf8.RuneCountInString(text) <= longestHeading {
		return text
	}
	cut := string([]rune(text)[:longestHeading+1])
	if to := strings.LastIndexByte(cut, ' '); to > len(cut)/2 {
		return cut[:to] + " …"
	}
	return string([]rune(text)[:longestHeading]) + " …"
}
