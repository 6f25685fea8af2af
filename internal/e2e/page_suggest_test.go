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
	p.look(t, 390, 800, "light")
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
	p.clean(t)
}
