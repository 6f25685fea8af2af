package e2e

import (
	"encoding/json"
	"testing"

	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageHits shows a title that is read from the right at the right, as its text is, and values
// once.
func TestPageHits(t *testing.T) {
	engine := kitchen(t)
	if _, err := engine.CreateCollection(t.Context(), "odd", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	if err := json.Unmarshal([]byte(`[{"id":"right","fields":{"title":"ספר הבישול","text":"מרק עוף טוב לנשמה."}},{"id":"values","fields":{"kind":"soup","lang":"en"}},
		{"id":"lists","fields":{"by":["Ann","Bea","Cleo","Dora"],"in":["spring","summer","autumn","winter"],"kind":"stew"}}]`), &docs); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Ingest(t.Context(), "odd", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?c=odd&q=%D7%A2%D7%95%D7%A3"))
	p.until(t, idle+" && document.querySelector('#results .id').textContent === 'right'")
	p.looks(t, "right")
	if left := eval[float64](t, p, "(() => { const r = document.createRange(), h = document.querySelector('.hit h2'); r.selectNodeContents(h); return r.getBoundingClientRect().left - h.closest('article').getBoundingClientRect().left; })()"); left < 400 {
		t.Errorf("the title begins %.0f pixels from the left", left)
	}
	p.do(t, chromedp.Navigate(base+"/?c=odd&q=soup"))
	p.until(t, idle+" && document.querySelector('#results h2').textContent === 'values'")
	if got := eval[string](t, p, "[...document.querySelector('.hit').querySelectorAll('.snippet, .chip')].map(e => e.textContent).join('|')"); got != "kindsoup|langen" {
		t.Errorf("the hit shows %s", got)
	}
	p.do(t, chromedp.Navigate(base+"/?c=odd&q=stew"))
	p.until(t, idle+" && document.querySelector('#results h2').textContent === 'lists'")
	if got := eval[string](t, p, "document.querySelector('.hit').querySelector('.snippet, .chip')?.textContent ?? ''"); got != "kindstew" {
		t.Errorf("the value that was found, of more than there is room for, is shown as %q", got)
	}
	p.clean(t)
}
