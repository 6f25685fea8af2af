package e2e

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageFilters filters by chips whose values are long integers or beginnings of others, by
// fields that no document has, and without a query.
func TestPageFilters(t *testing.T) {
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "parts", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	if err := json.Unmarshal([]byte(`[{"id":"a","fields":{"text":"a left screw","serial":1234567890123456789,"size":1,"row":12}},
		{"id":"b","fields":{"text":"a right screw","serial":1234567890123456790,"size":12,"row":12}}]`), &docs); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Ingest(t.Context(), "parts", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	ask := func(filter string) {
		p.do(t, chromedp.Navigate(base+"/?q=screw&filter="+url.QueryEscape(filter)))
	}
	chip := func(text string) {
		p.until(t, "[...document.querySelectorAll('.chip')].some(c => c.textContent === '"+text+"')")
		p.js(t, "[...document.querySelectorAll('.chip')].find(c => c.textContent === '"+text+"').click()")
	}

	ask("")
	chip("serial1234567890123456789")
	p.until(t, "document.querySelector('#filter').value === 'serial = 1234567890123456789' && document.querySelector('#status').textContent === '1 result'")

	ask("row = 12 AND size <= 12")
	chip("size1")
	p.until(t, "document.querySelector('#filter').value === 'row = 12 AND size <= 12 AND size = 1' && document.querySelector('#status').textContent === '1 result'")
	ask("size = 12 OR size = 1")
	chip("size1")
	p.until(t, "document.querySelector('#filter').value === '(size = 12 OR size = 1) AND size = 1'")
	chip("size1")
	chip("row12")
	p.until(t, "document.querySelector('#filter').value === '(size = 12 OR size = 1) AND size = 1 AND row = 12'")
	if hidden := eval[bool](t, p, "document.querySelector('#warnings').hidden"); !hidden {
		t.Error("a warning, of fields that there are")
	}

	shows := func(query, without, id string) {
		p.do(t, chromedp.Navigate(base+"/?"+query))
		p.until(t, "document.querySelector('#status').textContent === '1 result"+without+"' && document.querySelector('#results .hit')?.card.hit.id === '"+id+"'")
		if got := eval[string](t, p, "document.querySelector('#results article').innerText"); strings.Contains(got, "Relevance") || strings.Contains(got, "Why") {
			t.Errorf("?%s compares with nothing, and shows %q", query, got)
		}
	}
	shows("filter=size+%3D+12", "", "b")
	shows("q=-right", " without “right”", "a")
	shows("q=-%22right+screw%22+-the", " without “right screw”, “the”", "a")

	for phrase, loose := range map[string]string{"right screw": "", "right screws": "looser match"} {
		p.do(t, chromedp.Navigate(base+"/?q="+url.QueryEscape(`"`+phrase+`"`)))
		p.until(t, idle+" && document.querySelectorAll('#results .hit').length === 1 && (document.querySelector('#results .loose')?.textContent ?? '') === '"+loose+"'")
	}

	ask("sizze = 1")
	p.until(t, `document.querySelector('#warnings')?.textContent.includes('no document has a field "sizze"') && !document.querySelector('#warnings').hidden`)
	p.shoot(t, "warnings-1440-light")
	p.clean(t)

	p.do(t, chromedp.Navigate(base+"/?view=compare&q="+url.QueryEscape("-left －right")))
	p.until(t, "Boolean(document.querySelector('#view-compare .lead')?.textContent.startsWith('Type a query with a word'))")
}
