package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// Names of files, values and titles without a place to break at stay within a narrow page, wherever
// they are shown.
func TestPageUnbroken(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	word := strings.Repeat("x", 200)
	var docs []search.Document
	for _, id := range []string{"a", "b", "c"} {
		docs = append(docs, search.Document{ID: id + strings.Repeat("i", 300), Fields: must(json.Marshal(map[string]any{
			"title": id + word, "text": "A needle. " + strings.Repeat("y", 500), "kind": "k" + strings.Repeat("z", 80), strings.Repeat("f", 60): "v" + strings.Repeat("w", 80)}))})
	}
	if _, err := engine.Ingest(t.Context(), "kitchen", docs); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, strings.Repeat("n", 200)+".ndjson")
	if err := os.WriteFile(file, []byte(`{"id":"`+strings.Repeat("q", 600)+`","text":"x"}`+"\n"+strings.Repeat("Q", 300)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	within := func(what, root string) {
		t.Helper()
		p.look(t, 400, 844, "light")
		p.shoot(t, "unbroken-"+what)
		if out := eval[[]string](t, p, "[...document.querySelectorAll('"+root+" *')].filter(e => !e.closest('.scroll, svg, .hidden, select, .facet ul') && e.getClientRects().length && e.getBoundingClientRect().right > 401).map(e => e.tagName + '.' + e.className)"); len(out) > 0 {
			t.Errorf("%s: at 400 pixels these stick out: %v", what, out)
		}
		if wide := eval[int](t, p, "document.documentElement.scrollWidth"); wide > 400 {
			t.Errorf("%s: at 400 pixels the page is %d wide", what, wide)
		}
	}
	p.look(t, 400, 844, "light")
	p.do(t, chromedp.Navigate(base+"/?view=map&q=needle"))
	p.until(t, "document.querySelectorAll('.nearest li').length > 2")
	p.js(t, "document.querySelector('.nearest button').click()")
	p.until(t, "document.querySelector('.pointed h2') !== null")
	within("map", "#view-map")
	p.do(t, chromedp.Navigate(base+"/?narrow=open"))
	p.until(t, idle+" && document.querySelectorAll('.facet').length > 0")
	within("search", "#main")
	p.do(t, chromedp.Navigate(base+"/?q=needle+"+word)) // the word alone means nothing to the checkpoint
	p.until(t, idle)
	within("words", "#main")
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	p.drop(t, ".drop", file)
	p.until(t, "document.querySelectorAll('.upload.failed').length === 1")
	within("collections", "#view-collections")
	p.clean(t)
}
