package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageBetweenViews expects the query, filter, mode, boosts and order to survive a change of
// view and the way back.
func TestPageBetweenViews(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	if _, err := engine.CreateCollection(t.Context(), "other", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	const asked = "q=pancakes&mode=semantic&alpha=0.3&filter=year+%3E+2019&boost=0.3%2C1%2C%2Cyear&spelling=exact&sort=year%3Adesc&narrow=open"
	p.do(t, chromedp.Navigate(base+"/?"+asked))
	p.until(t, idle)
	for _, view := range []string{"compare", "map", "inside", "collections", "search"} {
		p.js(t, "document.querySelector('#views [data-view="+view+"]').click()")
		p.until(t, "document.querySelector('#views [aria-current]').dataset.view === '"+view+"'")
		if got := eval[string](t, p, "location.search.replace('?', '').replace('view="+view+"&', '')"); got != asked {
			t.Errorf("%s: the address has %s", view, got)
		}
	}
	p.until(t, idle+" && document.querySelector('#filter').value === 'year > 2019' && document.querySelector('#results h2').textContent === 'Sourdough from a starter'")
	p.do(t, chromedp.Navigate(base+"/?view=compare&q=pancakes&a=keyword&b=hybrid.70"))
	p.until(t, "document.querySelectorAll('.column article').length > 0")
	p.js(t, "document.querySelector('#views [data-view=search]').click()")
	p.until(t, idle+" && location.search === '?q=pancakes'") // what another view alone is asked stays there
	// Files are dropped into the collection that was found empty.
	p.do(t, chromedp.Navigate(base+"/?c=other"))
	p.until(t, "document.querySelector('#blank h2')?.textContent === 'other has no documents yet'")
	p.js(t, "document.querySelector('#blank a').click()")
	p.until(t, "document.querySelector('#target')?.value === 'other'")
	p.clean(t)
}

// Hits that Show more brings have the marks of the sentence nearest in meaning as the first ones
// do.
func TestPageMoreMarks(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	var docs []search.Document
	for i := range 45 {
		docs = append(docs, search.Document{ID: fmt.Sprint("pan", i), Fields: must(json.Marshal(map[string]any{
			"title": fmt.Sprintf("Pan %d", i), "text": fmt.Sprintf("The shelf has %d boards. Butter melts in a hot pan before the eggs go in. Nobody has asked for drawer %d.", i, i)}))})
	}
	if _, err := engine.Ingest(t.Context(), "kitchen", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=melting+butter+in+a+pan"))
	marked := func(n int) string {
		return fmt.Sprintf("document.querySelectorAll('#results li').length === %d && [...document.querySelectorAll('#results li')].every(li => li.querySelector('.snippet .near'))", n)
	}
	p.until(t, marked(10))
	for _, n := range []int{20, 30, 40} {
		p.js(t, "document.querySelector('#more').click()")
		p.until(t, marked(n))
	}
	p.clean(t)
}
