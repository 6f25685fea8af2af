package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPageDocument opens documents from the results, and keeps each state of the page in its
// address.
func TestPageDocument(t *testing.T) {
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.look(t, 1400, 900, "light")
	const asked = "?q=flip+pancakes&filter=lang+%3D+%27en%27&sort=year%3Adesc"
	results := idle + " && document.querySelector('#q').value === 'flip pancakes' && document.querySelector('#filter').value === \"lang = 'en'\" && document.querySelector('#order').value === 'year:desc' && document.querySelectorAll('#results .hit').length > 0"
	shown := "document.querySelector('.document h2') !== null && document.querySelector('#similar ul, #similar p:not(:empty)')?.textContent !== 'Searching …'"

	p.do(t, chromedp.Navigate(base+"/?q=bread"))
	p.until(t, idle)
	p.js(t, "const a = document.createElement('a'); a.href = '"+asked+"'; document.body.append(a); a.click(); a.remove()")
	p.until(t, results)
	title := eval[string](t, p, "(() => { const a = document.querySelector('#results h2 a'); a.click(); return a.textContent; })()")
	p.until(t, shown+" && location.search.includes('view=document') && location.search.includes('doc=')")
	if got := eval[string](t, p, "document.querySelector('.document h2').textContent"); got != title {
		t.Errorf("the document is headed %q, its result %q", got, title)
	}
	if got := eval[string](t, p, "document.querySelector('.document').innerText"); !contains(got, "Copy link", "More like this", "Fields", "id") {
		t.Errorf("the document shows %q", got)
	}
	if n := eval[int](t, p, "document.querySelectorAll('.document .full mark, .document .full .passage, .document .full .near').length"); n == 0 {
		t.Error("nothing that matches is marked in the text")
	}
	address := eval[string](t, p, "location.href")
	other := open(t, base) // a shared address
	other.do(t, chromedp.Navigate(address))
	other.until(t, shown+" && document.querySelector('.document h2').textContent === "+quoteJS(title))
	other.do(t, chromedp.Reload())
	other.until(t, shown+" && document.querySelector('.document h2').textContent === "+quoteJS(title))
	other.clean(t)
	p.js(t, "history.back()")
	p.until(t, results)
	p.js(t, "history.back()")
	p.until(t, idle+" && document.querySelector('#q').value === 'bread'")

	// By the keyboard alone.
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), kb.ArrowDown))
	p.until(t, "document.activeElement.matches('#results article')")
	p.key(t, "o")
	p.until(t, shown+" && location.search.includes('doc=')") // the document seen before is still in the page
	p.js(t, "document.querySelector('.back a').click()")
	p.until(t, idle+" && document.querySelector('#q').value === 'bread' && !location.search.includes('doc=')")

	p.do(t, chromedp.Navigate(base+"/?view=document&doc=nothing"))
	p.until(t, "document.querySelector('#view-document').innerText.includes('There is no such document')")
	p.expect(t, "404")
}

// TestPageFits shows six results on a screen of 1400 by 900 pixels, more in compact mode, and
// nothing beyond the edge of a phone.
func TestPageFits(t *testing.T) {
	engine := kitchen(t)
	var docs []search.Document
	for i := range 12 {
		docs = append(docs, search.Document{ID: fmt.Sprintf("loaves/loaf-%02d.md", i), Fields: fmt.Appendf(nil, `{"title":"Bread of kind %d","tags":["bread","oven"],"year":%d,"lang":"en","text":%q}`, i, 2000+i,
			"A loaf of bread needs flour, water, salt and time. Mix the dough in the evening, fold it twice, and let it rise until the morning. Bake the bread in a hot oven with steam until the crust is dark and the loaf sounds hollow.")})
	}
	if _, err := engine.Ingest(t.Context(), "kitchen", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	p.look(t, 1400, 900, "light")
	p.do(t, chromedp.Navigate(base+"/?q=bread"))
	whole := "[...document.querySelectorAll('#results .hit')].filter((h) => h.getBoundingClientRect().bottom <= innerHeight).length"
	p.until(t, idle+" && document.querySelectorAll('#results .hit').length > 7 && document.querySelector('#results .near') !== null")
	if n := eval[int](t, p, whole); n < 6 {
		t.Errorf("%d whole results at 1400x900, want 6", n)
	}
	p.js(t, "document.querySelector('#density').click()")
	if n := eval[int](t, p, whole); n < 9 {
		t.Errorf("%d whole results in compact mode, want 9", n)
	}
	p.js(t, "document.querySelector('#density').click()")
	for _, url := range []string{"/?q=bread", "/?q=bread&narrow=open", "/", "/?view=collections", "/?view=document&q=bread&doc=" + firstID(t, p)} {
		p.look(t, 360, 740, "light")
		p.do(t, chromedp.Navigate(base+url))
		p.until(t, "document.querySelector('main').innerText.length > 40")
		if over := eval[int](t, p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: %d pixels wider than a phone", url, over)
		}
	}
	// The options of a search are behind a button there, unless some are chosen.
	p.do(t, chromedp.Navigate(base+"/?q=bread"))
	p.until(t, idle)
	if top := eval[float64](t, p, "document.querySelector('#results').getBoundingClientRect().top"); top > 220 {
		t.Errorf("on a phone the results begin at %.0f pixels", top)
	}
	visible := "document.querySelector('#controls').checkVisibility()"
	if eval[bool](t, p, visible) {
		t.Error("the options are open on a phone")
	}
	p.js(t, "document.querySelector('#optionsToggle').click()")
	p.until(t, visible)
	p.do(t, chromedp.Navigate(base+"/?q=bread&mode=keyword"))
	p.until(t, idle+" && "+visible)
	p.clean(t)
}

// TestPageHalfFilter keeps the last results while a filter is typed, and explains beside the field
// what is wrong with it.
func TestPageHalfFilter(t *testing.T) {
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=bread"))
	p.until(t, idle+" && document.querySelectorAll('#results .hit').length > 0")
	p.js(t, "document.querySelector('#filterToggle').click()")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "lang = "))
	p.until(t, "document.querySelector('#filterError').textContent.includes('expected a value')")
	if n := eval[int](t, p, "document.querySelectorAll('#results .hit').length"); n == 0 {
		t.Error("half a filter leaves no results on the page")
	}
	p.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "'en'"))
	p.until(t, idle+" && document.querySelector('#filterError').textContent === '' && document.querySelectorAll('#results .hit').length > 0")
	p.expect(t, "400")
}

// TestPageNoResults calls nothing a result that is not, and shows the closest documents on request.
func TestPageNoResults(t *testing.T) {
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=xqzzyv+qqqwww"))
	p.until(t, "document.querySelector('#status').textContent === 'No results' && document.querySelector('#blank').innerText.includes('No results') && !document.querySelector('#weak').hidden")
	if n := eval[int](t, p, "document.querySelectorAll('#results .hit, #weakResults .hit').length"); n != 0 {
		t.Errorf("%d documents for a query of no words", n)
	}
	p.js(t, "document.querySelector('#weakToggle').click()")
	if n := eval[int](t, p, "document.querySelectorAll('#weakResults .hit').length"); n < 1 || n > 3 {
		t.Errorf("%d closest documents, want 1 to 3", n)
	}
	p.clean(t)
}

// TestPageEmptyCollection shows how to add documents.
func TestPageEmptyCollection(t *testing.T) {
	engine := kitchen(t)
	if _, err := engine.CreateCollection(t.Context(), "empty", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?c=empty"))
	p.until(t, "document.querySelectorAll('.ways section').length === 3")
	if got := eval[string](t, p, "document.querySelector('#blank').innerText"); !contains(got, "Drop files here", "searchd ingest", "curl http") {
		t.Errorf("an empty collection shows %q", got)
	}
	p.clean(t)
}

func firstID(t *testing.T, p *page) string {
	return eval[string](t, p, "encodeURIComponent(document.querySelector('#results .hit').card.hit.id)")
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func quoteJS(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
