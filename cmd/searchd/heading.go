package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"searchd/search"
)

var (
	hashID    = regexp.MustCompile(`^[0-9a-f]{32}$`) // of a record without an id
	wordy     = regexp.MustCompile(`\p{L}{2}`)
	webScheme = regexp.MustCompile(`^https?:`)
)

const longestHeading = 80 // characters

// heading returns what a hit is headed by for a person: its id, or where that is a hash, which says
// nothing to anybody, as the page does:
//
//   - the title;
//   - the beginning of the text;
//   - of a row the values with words, in their order;
//   - the beginning of a passage with words;
//   - the numbers, dates and addresses of a row.
func heading(h search.Hit) string {
	if !hashID.MatchString(h.ID) {
		return oneLine(h.ID)
	}
	names, fields := fieldsInOrder(h.Document)
	for _, list := range [][]string{{"title", "name", "heading", "headline", "subject", "question"}, {"text", "body", "content", "abstract", "summary", "description", "answer"}} {
		for _, name := range list {
			if s, ok := fields[name].(string); ok && strings.TrimSpace(s) != "" {
				return begin(s)
			}
		}
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
