package e2e

import (
	"strings"
	"testing"

	"example.com/searchd/api/apitest"
	"example.com/searchd/internal/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestDocsPage reads the page of the REST API as people do: from the search page, by its list, by
// keyboard, on a phone.
func TestDocsPage(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, apitest.New(t).Engine)
	p := open(t, base)
	listed := "[...document.querySelectorAll('#contents li')].filter(l => !l.hidden && l.offsetParent).length"

	t.Run("linked from the search page", func(t *testing.T) {
		p.look(t, 1440, 900, "light")
		p.do(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#foot a")))
		p.js(t, "document.querySelector('#foot a[href=docs]').click()")
		p.until(t, "document.readyState === 'complete' && document.querySelector('h1')?.innerText === 'REST API' && document.querySelector('#find').offsetParent !== null")
		if n := eval[int](t, p, listed); n < 60 {
			t.Errorf("%d operations, want all", n)
		}
		p.shoot(t, "docs-1440-light")
		p.clean(t)
	})

	t.Run("a request to copy goes to this server", func(t *testing.T) {
		got := eval[string](t, p, "document.querySelector('#search .copied code').textContent")
		if !strings.HasPrefix(got, "curl -s '"+base+"/v1/collections/docs/search'") || !strings.Contains(got, `-d '{"q": "flip pancakes"`) {
			t.Errorf("the request of a search: %s", got)
		}
		p.js(t, "document.querySelector('#search .copy').click()")
		p.until(t, "document.querySelector('#toast').textContent === 'Copied'")
		p.clean(t)
	})

	t.Run("keyboard", func(t *testing.T) {
		p.js(t, "document.activeElement.blur()")
		p.key(t, "/")
		p.until(t, "document.activeElement.id === 'find'")
		p.do(t, chromedp.KeyEvent("search batch"))
		p.until(t, listed+" === 1 && document.querySelector('#found').textContent.startsWith('1 of')")
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, "location.hash === '#searchBatch' && Math.abs(document.querySelector('#searchBatch').getBoundingClientRect().top) < 300")
		p.until(t, "document.querySelector('#contents a[aria-current]')?.hash === '#searchBatch'")
		p.shoot(t, "docs-operation-1440-light")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, listed+" > 60")
		p.clean(t)
	})

	t.Run("phone and dark", func(t *testing.T) {
		p.look(t, 390, 844, "dark")
		p.do(t, chromedp.Navigate(base+"/docs"))
		p.until(t, "document.querySelector('#find') !== null && !document.querySelector('#contents details').open")
		if wide := eval[int](t, p, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("the page is %d pixels wide on a phone of 390", wide)
		}
		p.shoot(t, "docs-390-dark")
		p.js(t, "document.querySelector('#contents summary').click()")
		p.until(t, listed+" > 60")
		p.js(t, "document.querySelector('#contents a[href=\"#similar\"]').click()")
		p.until(t, "location.hash === '#similar' && !document.querySelector('#contents details').open")
		p.shoot(t, "docs-operation-390-dark")
		if bg := eval[string](t, p, "getComputedStyle(document.documentElement).backgroundColor"); bg != "rgb(20, 21, 23)" {
			t.Errorf("background in the dark: %s", bg)
		}
		p.clean(t)
	})
}
