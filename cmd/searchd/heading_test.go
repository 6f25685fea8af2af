package main

import (
	"strings"
	"testing"

	"example.com/searchd/search"
)

func TestHeading(t *testing.T) {
	const hash = "3ecc7964fc21b4451ba4a53300b74c14"
	for name, c := range map[string]struct{ id, document, passage, want string }{
		"a title":                      {id: "notes/a.md", document: `{"text":"# No","title":"Apples"}`, want: "Apples"},
		"a first heading":              {id: "notes/a.md", document: `{"text":"\n---\nbefore\n## Apples\n# Pears"}`, want: "Apples"},
		"a first line":                 {id: "a.txt", document: `{"text":"\n== 12 ==\nApples are red.\nPears are not."}`, want: "Apples are red."},
		"a hash tag is no heading":     {id: "a.txt", document: `{"text":"#fruit\nApples"}`, want: "#fruit"},
		"a file name":                  {id: "notes/a.md", document: `{"lang":"en"}`, want: "a.md"},
		"a hash and a title":           {id: hash, document: `{"text":"Long.","title":"Apples"}`, want: "Apples"},
		"a row":                        {id: hash, document: `{"Betrag":"-84,00","Buchungstag":"2026-01-03T10:00:00Z","Empfänger":"Stadtwerke München","Zweck":"Abschlag\nStrom","url":"https://example.org/"}`, want: "Stadtwerke München · Abschlag Strom"},
		"a row in its own order":       {id: hash, document: `{"z":"first","a":"then"}`, want: "first · then"},
		"a row of numbers":             {id: hash, document: `{"a":1.50,"b":true,"c":null,"d":[1],"e":"7"}`, want: "1.50 · true · 7"},
		"the beginning of a text":      {id: hash, document: `{"level":"warn","text":"` + strings.Repeat("word ", 40) + `"}`, want: strings.TrimSpace(strings.Repeat("word ", 16)) + " …"},
		"a text without spaces":        {id: hash, document: `{"text":"` + strings.Repeat("語", 100) + `"}`, want: strings.Repeat("語", 80) + " …"},
		"nothing but what is nested":   {id: hash, document: `{"a":{"b":"deep"}}`, passage: "deep", want: "deep"},
		"words that are nested":        {id: hash, document: `{"a":{"b":"deep"},"n":1}`, passage: "deep", want: "deep"},
		"a document that is not there": {id: hash, want: hash},
		"what a terminal would obey":   {id: hash, document: `{"a":"be\u001b[2Jll"}`, want: "be[2Jll"},
	} {
		h := search.Hit{ID: c.id, Document: []byte(c.document)}
		if c.passage != "" {
			h.Passages = []search.PassageHit{{Text: c.passage}}
		}
		if got := heading(h); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The id is below a title that differs.
func TestPrintHeading(t *testing.T) {
	var b strings.Builder
	printHits(&b, &search.Response{Hits: []search.Hit{{ID: "3ecc7964fc21b4451ba4a53300b74c14", Score: 0.5, Document: []byte(`{"a":"Strom","b":"Januar"}`)}, {ID: "x.md"}}}, styles{})
	for _, want := range []string{" 1  Strom · Januar  0.500\n    3ecc7964fc21b4451ba4a53300b74c14\n", " 2  x.md  0.000\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q, want %q in it", b.String(), want)
		}
	}
}
