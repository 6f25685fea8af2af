package ui

import (
	"io/fs"
	"os"
	"regexp"
	"testing"
)

// TestPageWritesNoMarkup: the page puts texts of documents in as text, never as markup.
func TestPageWritesNoMarkup(t *testing.T) {
	markup := regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|setHTMLUnsafe|srcdoc|document\.write|eval|new Function)\b`)
	files, err := fs.Glob(os.DirFS("."), "*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range append(files, "index.html") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := markup.Find(b); found != nil {
			t.Errorf("%s uses %s", name, found)
		}
	}
	if !markup.MatchString("p.innerHTML = text") {
		t.Error("innerHTML is not found")
	}
}
