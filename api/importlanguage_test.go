package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	german  = "Die Häuser stehen auf der Insel, und wer mit dem Boot kommt, der sieht sie nicht, weil sie hinter dem Wald sind. Das ist so, wie es immer war. "
	english = "The houses stand on the island, and who comes by boat does not see them, as they are behind the wood. That is how it has always been. "
)

// TestImportLanguage says on one line of an import's answer that the texts are in another language
// than the collection is for.
func TestImportLanguage(t *testing.T) {
	f := newFixture(t, Options{})
	for name, settings := range map[string]string{"none": `{}`, "german": `{"language":"de"}`, "any": `{"language":"standard"}`} {
		f.do("POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"settings":%s}`, name, settings)).want(201, nil)
	}
	lines := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":%q}\n", i, text)
		}
		return b.String()
	}
	for _, c := range []struct{ collection, body, want string }{
		{"none", lines(8, german), "de"},
		{"none", lines(8, english), ""},
		{"none", lines(importBatchDocs, german), "de"},       // the last batch is the first
		{"none", lines(3*importBatchDocs, german), "de"},     // told once
		{"none", lines(3, "Haus, Boot."), ""},                // too little
		{"none", "{\"id\":\"\"}\n" + lines(8, german), "de"}, // a line that cannot be read says nothing
		{"german", lines(8, german), ""},
		{"german", lines(8, english), "en"},
		{"any", lines(8, german), ""},
	} {
		var told []string
		items := importLines(t, f.do("POST", "/v1/collections/"+c.collection+"/documents/import", c.body, "Content-Type", "application/x-ndjson"))
		for _, i := range items {
			if i.LooksLike != "" {
				told = append(told, i.LooksLike)
			}
		}
		if got := strings.Join(told, " "); got != c.want {
			t.Errorf("%d lines into %s: looks_like %q, want %q", len(items), c.collection, got, c.want)
		}
	}
	items := imported(t, f, "?name=a.md", "text/markdown", "# Haus\n\n"+strings.Repeat(german, 3))
	if len(items) != 1 || items[0].LooksLike != "de" {
		t.Errorf("a file: %+v", items)
	}
}

// TestLanguageCheckEnds reads no more documents than tell a language, and judges what it has once.
func TestLanguageCheckEnds(t *testing.T) {
	c := languageCheck{has: "en"}
	one, err := json.Marshal(map[string]any{"text": strings.Repeat(english, 10)})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		c.add(one)
	}
	if got := c.report(); got != "" || !c.done {
		t.Errorf("English texts: %q, done %v", got, c.done)
	}
	two, err := json.Marshal(map[string]any{"text": strings.Repeat(german, 10)})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		c.add(two)
	}
	if got := c.report(); got != "" {
		t.Errorf("German texts behind enough English ones: %q", got)
	}
}
