package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/searchd/internal/longtest"
)

// axe finds no fault of any impact, in the look of a wide window and of a phone. AXE_CORE names
// axe.min.js of the npm package axe-core.
func TestPageAxe(t *testing.T) {
	longtest.Skip(t)
	path := os.Getenv("AXE_CORE")
	if path == "" {
		if os.Getenv("NPM_REQUIRE") != "" {
			t.Fatal("AXE_CORE does not name a file")
		}
		t.Skip("AXE_CORE does not name a file; .ci/run fetches one")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, kitchen(t))
	p := open(t, base)
	const faults = `(async () => {
		const r = await axe.run(document, {resultTypes: ['violations']});
		return r.violations.flatMap(v => v.nodes.map(n => v.impact + ' ' + v.id + ': ' + n.target.join(' ') + ' ' + n.failureSummary.replace(/\s+/g, ' ')));
	})()`
	for _, view := range []struct{ name, url, ready string }{
		{"keys", "/?q=flip+pancakes", idle},
		{"suggestions", "/", "document.querySelectorAll('.teach section').length === 3"},
		{"delete", "/?view=collections", "document.querySelector('[aria-label=\"Delete kitchen\"]') !== null"},
		{"settings", "/?view=collections", "document.querySelector('[aria-label=\"Settings of kitchen\"]') !== null"},
		{"leave", "/?view=collections", "document.querySelector('[aria-label=\"Settings of kitchen\"]') !== null"},
		{"boost", "/?q=flip&boost=0.3,52w,now,published&boost=0.3,5,,year", idle + " && document.querySelector('#boostWeight1') !== null"},
		{"empty", "/", "document.querySelectorAll('.teach section').length === 3"},
		{"results", "/?q=flip+pancakes", idle},
		{"narrow", "/?q=flip&narrow=open&sort=year:desc&filter=lang+%3D+%27en%27", idle + " && document.querySelector('#facets [aria-pressed=true]') !== null"},
		{"nothing", "/?q=zzzz&mode=keyword", "document.querySelector('#blank').innerText.includes('No results')"},
		{"closest", "/?q=xqzzyv+qqqwww", "!document.querySelector('#weak').hidden && (document.querySelector('#weakToggle').click(), document.querySelectorAll('#weakResults .hit').length > 0)"},
		{"document", "/?view=document&q=flip+pancakes&doc=breakfast%2Fpancakes.md", "document.querySelector('#similar ul') !== null"},
		{"compare", "/?view=compare&q=flip&a=keyword&b=semantic", "document.querySelectorAll('.column article').length > 6"},
		{"map", "/?view=map&q=flip", "document.querySelectorAll('.nearest li').length > 4"},
		{"inside", "/?view=inside&q=flip", "document.querySelectorAll('.head').length === 36 && document.querySelectorAll('.line').length > 2"},
		{"collections", "/?view=collections", "document.querySelector('article.collection dl') !== null && document.querySelector('[aria-label=Model] dl') !== null"},
		{"docs", "/docs", "document.querySelector('#find') !== null && document.querySelector('#find').offsetParent !== null"},
	} {
		t.Run(view.name, func(t *testing.T) {
			for _, look := range []struct {
				width  int64
				scheme string
			}{{1440, "light"}, {1440, "dark"}, {360, "dark"}} {
				p.look(t, look.width, 900, look.scheme)
				p.do(t, chromedp.Navigate(base+view.url))
				p.until(t, view.ready)
				if view.name == "results" {
					p.js(t, "document.querySelector('[data-role=why]').click(); document.querySelector('[data-role=text]').click()")
					p.until(t, "document.querySelector('.why .nearness .facts') !== null")
				}
				switch view.name {
				case "keys":
					p.js(t, "document.querySelector('#help').click()")
					p.until(t, "document.querySelector('#keys').scrollTop === 0 && [...document.querySelectorAll('#keys dd')].every((d) => d.offsetWidth > 60)")
				case "suggestions":
					p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "sourd"))
					p.until(t, "document.querySelector('#suggestion0') !== null")
					p.do(t, chromedp.KeyEvent(kb.ArrowDown))
					p.until(t, "document.querySelector('#suggestion0')?.getAttribute('aria-selected') === 'true'")
				case "settings":
					p.js(t, "document.querySelector('[aria-label=\"Settings of kitchen\"]').click()")
					p.until(t, "document.querySelector('.configuring .looks') !== null")
					p.js(t, "[...document.querySelectorAll('.configuring .link')].find((b) => b.textContent === 'Name a field').click(); document.querySelector('.configuring textarea').value = 'a'; document.querySelector('.configuring [data-name=name]').value = 'title'; document.querySelector('.configuring .primary').click()")
					p.until(t, "document.querySelector('.configuring .wrongs').innerText !== ''")
					p.expect(t, "400")
				case "leave":
					p.js(t, "document.querySelector('[aria-label=\"Settings of kitchen\"]').click()")
					p.until(t, "document.querySelector('.configuring textarea') === document.activeElement && document.activeElement !== null")
					p.js(t, "document.querySelector('.configuring textarea').value = 'a, b'")
					p.do(t, chromedp.KeyEvent(kb.Escape))
					p.until(t, "document.querySelector('#leaveTitle') !== null")
				case "delete":
					p.js(t, "document.querySelector('[aria-label=\"Delete kitchen\"]').click()")
				case "docs": // takes as long as all other views, and its operations look alike: the other looks see every eighth
					if look.width != 1440 || look.scheme != "light" {
						p.js(t, "document.querySelectorAll('article.operation').forEach((a, i) => { if (i % 8 !== 0) a.remove(); })")
					}
				}
				p.js(t, "document.getAnimations().forEach(a => a.finish())")
				p.js(t, string(axe))
				found, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](faults, chromedp.EvalAwaitPromise))
				if err != nil {
					t.Fatal(err)
				}
				if len(found) > 0 {
					t.Errorf("%d pixels, %s: %s", look.width, look.scheme, strings.Join(found, "\n"))
				}
			}
		})
	}
	p.clean(t)
}
