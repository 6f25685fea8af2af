package e2e

import (
	"fmt"
	"testing"

	"example.com/searchd/internal/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPageState restores how many results are shown, with query, filter and sort, after a document
// was opened, after a reload, and at a shared address; another query begins with its first page.
func TestPageState(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	hits := func(n int) string {
		return idle + fmt.Sprintf(" && document.querySelectorAll('#results .hit').length === %d", n)
	}
	asked := hits(30) + " && document.querySelector('#q').value === 'thing' && document.querySelector('#order').value === 'price:desc' && document.querySelector('#filter').value === 'price > 2'"
	p.do(t, chromedp.Navigate(base+"/?c=stock&q=thing&sort=price:desc&filter=price+%3E+2"))
	p.until(t, hits(10))
	for n := 20; n <= 30; n += 10 {
		p.js(t, "document.querySelector('#more').click()")
		p.until(t, hits(n)+fmt.Sprintf(" && location.search.includes('shown=%d')", n))
	}
	ids := "[...document.querySelectorAll('#results .hit')].map(h => h.card.hit.id).join(' ')"
	list, address := eval[string](t, p, ids), eval[string](t, p, "location.href")
	same := asked + " && " + ids + " === '" + list + "'"
	p.js(t, "document.querySelectorAll('#results h2 a')[25].click()")
	p.until(t, "document.querySelector('.document h2') !== null && location.search.includes('doc=')")
	p.do(t, chromedp.NavigateBack())
	p.until(t, same)
	p.do(t, chromedp.NavigateForward())
	p.until(t, "document.querySelector('.document h2') !== null && !document.querySelector('#view-document').hidden")
	p.js(t, "document.querySelector('.back a').click()")
	p.until(t, same)
	p.do(t, chromedp.Reload())
	p.until(t, same)
	other := open(t, base) // a shared address
	other.do(t, chromedp.Navigate(address))
	other.until(t, same)
	other.clean(t)
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "s"))
	p.until(t, hits(10)+" && !location.search.includes('shown')")
	p.clean(t)
}

// TestPagePhone walks through the page at 360 pixels with the keyboard alone: a query, the filters,
// the order, a result, its explanation, the document, and back. Nothing is wider than the window.
func TestPagePhone(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	p.look(t, 360, 740, "light")
	press := func(k string) { t.Helper(); p.do(t, chromedp.KeyEvent(k)) }
	tab := func(selector string) {
		t.Helper()
		for range 80 {
			press(kb.Tab)
			if eval[bool](t, p, "document.activeElement.matches("+quoteJS(selector)+")") {
				return
			}
		}
		t.Fatalf("Tab does not come to %s", selector)
	}
	fits := func(where string) {
		t.Helper()
		if over := eval[int](t, p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: %d pixels wider than the window", where, over)
		}
		if cut := eval[bool](t, p, "(() => { const r = document.activeElement.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth || r.bottom < 0 || r.top > innerHeight; })()"); cut {
			t.Errorf("%s: the focus is outside of the window", where)
		}
		p.shoot(t, "phone-"+where)
	}
	p.do(t, chromedp.Navigate(base+"/?c=stock"))
	p.until(t, "document.activeElement.id === 'q'")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "red thing"))
	p.until(t, idle)
	fits("results")
	tab("#narrowToggle")
	press(kb.Enter)
	p.until(t, idle+" && document.querySelectorAll('.facet').length > 0")
	tab(".choice")
	chosen := eval[string](t, p, "document.activeElement.dataset.same")
	press(kb.Enter)
	p.until(t, idle+" && document.querySelectorAll('#chosen button').length === 1")
	if got := eval[string](t, p, "new URLSearchParams(location.search).get('filter')"); got != chosen {
		t.Errorf("Enter on the value %s filters by %s", chosen, got)
	}
	fits("filters")
	p.key(t, "/")
	p.until(t, "document.activeElement.id === 'q'")
	press(kb.ArrowDown)
	p.until(t, "document.activeElement.matches('#results article')")
	press(kb.ArrowDown)
	title := eval[string](t, p, "document.activeElement.querySelector('h2').textContent")
	p.key(t, "w")
	p.until(t, "document.activeElement.querySelector('.why .evidence') !== null")
	fits("why")
	p.key(t, "o")
	p.until(t, "document.querySelector('.document h2')?.textContent === "+quoteJS(title)+" && document.activeElement.id === 'documentTitle'")
	fits("document")
	p.do(t, chromedp.NavigateBack())
	p.until(t, idle+" && document.querySelectorAll('#chosen button').length === 1 && document.querySelector('#q').value === 'red thing'")
	p.js(t, "document.activeElement.blur()")
	p.key(t, "?")
	p.until(t, "document.querySelector('#keys').open")
	fits("help")
	press(kb.Escape)
	p.until(t, "!document.querySelector('#keys').open")
	for _, view := range []string{"2", "3", "4", "5"} {
		p.key(t, view)
		p.until(t, "document.querySelector('#views [aria-current]') === document.querySelectorAll('#views a')["+view+" - 1]")
		if over := eval[int](t, p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("view %s: %d pixels wider than the window", view, over)
		}
	}
	p.clean(t)
}
