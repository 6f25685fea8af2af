package main

import (
	"strings"
	"testing"

	"searchd/search"
)

// A hit shows the fields without a shown passage in which words were found, and nothing that a terminal would take for a command.
func TestPrintHits(t *testing.T) {
	var b strings.Builder
	printHits(&b, &search.Response{Hits: []search.Hit{{
		ID: "notes/garden.md", Score: 0.5,
		Passages: []search.PassageHit{{Field: "text", Text: "x", Marked: "\x1b]0;title\x07a <mark>garden</mark> &lt;mark&gt; &amp;"}, {Field: "more", Text: "un\x1b[2Jmarked"}},
		Highlights: map[string][]string{
			"title": {"My <mark>garden</mark>", "again"}, "tags": {"<mark>garden</mark> &amp;"}, "text": {"a <mark>garden</mark>"}, "path": {"notes/<mark>garden</mark>.md"},
		},
	}}}, true)
	want := "\x1b[1m 1  notes/garden.md\x1b[0m  0.500\n" +
		"    ]0;titlea \x1b[1mgarden\x1b[0m <mark> &\x1b[0m\n" +
		"    un[2Jmarked\x1b[0m\n" +
		"    tags: \x1b[1mgarden\x1b[0m &\x1b[0m\n" +
		"    title: My \x1b[1mgarden\x1b[0m\x1b[0m\n"
	if got, _, _ := strings.Cut(b.String(), "\n\n"); got+"\n" != want {
		t.Errorf("printHits:\n%q\nwant\n%q", got, want)
	}
}
