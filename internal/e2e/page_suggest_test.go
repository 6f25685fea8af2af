package e2e

import (
	"testing"

	"example.com/searchd/internal/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Suggestions come while a query is typed, are chosen by arrows or the mouse, and go away on
// Escape; roles and states say so to assistive technology.
func TestPageSuggestions(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"))
	typed := func(text, first string) {
		t.Helper()
		p.js(t, "document.querySelector('#q').value = ''")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), text))
		p.until(t, "document.querySelector('#suggestions li')?.textContent === "+quoteJS(first)+" && document.querySelector('#q').getAttribute('aria-expanded') === 'true'")
	}
	title := "Sourdough from a starter"
	typed("sourdogh sta", title)
	p.do(t, chromedp.KeyEvent(kb.ArrowDown))
	p.until(t, "document.querySelector('#q').getAttribute('aria-activedescendant') === 'suggestion0' && document.querySelector('#suggestion0').getAttribute('aria-selected') === 'true'")
	for _, width := range []int64{1400, 390} {
		p.look(t, width, 800, "light")
		p.until(t, "(() => { const [list, box] = ['#suggestions', '.box'].map((s) => document.querySelector(s).getBoundingClientRect()); return list.left === box.left && list.right === box.right && list.top > box.bottom; })()")
	}
	p.shoot(t, "suggestions")
	p.do(t, chromedp.KeyEvent(kb.ArrowUp))
	p.until(t, "!document.querySelector('#q').hasAttribute('aria-activedescendant')")
	p.do(t, chromedp.KeyEvent(kb.Escape))
	p.until(t, "document.querySelector('#suggestions').hidden && document.querySelector('#q').value === 'sourdogh sta'")
	typed("sourdogh sta", title)
	p.do(t, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	p.until(t, idle+" && document.querySelector('#suggestions').hidden && document.querySelector('#q').value === "+quoteJS(title)+" && new URLSearchParams(location.search).get('q') === "+quoteJS(title))
	typed("starter", title)
	p.js(t, "document.querySelector('#suggestion0').click()")
	p.until(t, idle+" && document.querySelector('#q').value === "+quoteJS(title))
	p.do(t, chromedp.KeyEvent(kb.ArrowDown)) // the list is closed: on to the results
	p.until(t, "document.activeElement.matches('#results article')")
	p.look(t, 1400, 800, "light")
	p.js(t, "document.body.style.minHeight = '3000px'; scrollTo(0, 1000)")
	p.until(t, "scrollY > 900 && document.querySelector('.box').getBoundingClientRect().top >= 0") // the box stays in sight
	p.clean(t)
}
