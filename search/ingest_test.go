package search_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// TestRefusedDocumentsAreAlone refuses documents that only show what they are on their way, and
// takes the others of the call.
func TestRefusedDocumentsAreAlone(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	if _, err := e.CreateCollection(t.Context(), "short", search.Settings{Passages: search.PassageSettings{MaxTokens: 16}}); err != nil {
		t.Fatal(err)
	}
	escapes := strings.Repeat("\u2028", mapping.MaxDocument/5) // three bytes, which are stored as six
	for collection, refused := range map[string]search.Document{
		"docs":  doc("bad", `{"text":"hello","pad":"`+escapes+`"}`),
		"short": doc("bad", `{"text":"`+strings.Repeat("a ", 1<<20)+`"}`), // a passage for 13 letters
	} {
		results, err := e.Ingest(t.Context(), collection, []search.Document{doc("good", `{"text":"hello"}`), refused, doc("better", `{"text":"hello again"}`)})
		if err != nil {
			t.Fatalf("%s: %v", collection, err)
		}
		var got []string
		for _, r := range results {
			got = append(got, string(r.Status))
			if r.Status == search.Failed {
				t.Logf("%s: %v", collection, r.Err)
			}
		}
		if fmt.Sprint(got) != "[created error created]" {
			t.Errorf("%s: %v", collection, got)
		}
	}
}

// TestSecondTitle searches texts in fields that are named like titles but are not the document's.
func TestSecondTitle(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("person", `{"name":"Ada Lovelace","title":"Countess"}`),
		doc("mail", `{"title":"Monthly report","subject":"penguins","body":"see below"}`),
		doc("other", `{"title":"Yearly report","subject":"walruses","body":"see below"}`))
	for query, want := range map[string]string{"countess": "person", "lovelace": "person", "penguins": "mail", "walruses": "other"} {
		for _, mode := range []search.Mode{search.Semantic, search.Keyword, search.Hybrid} {
			if got, _, _ := strings.Cut(find(t, e, search.Query{Q: query, Mode: mode}), " "); got != want {
				t.Errorf("%s, %s: %s is first", query, mode, got)
			}
		}
	}
	d, err := e.Document(t.Context(), "docs", "mail")
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, p := range d.Passages {
		fields = append(fields, p.Field)
	}
	if fmt.Sprint(fields) != "[subject body]" {
		t.Errorf("passages of %v", fields)
	}
}
