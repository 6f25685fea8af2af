package e2e

import (
	"slices"
	"testing"
	"time"

	"example.com/searchd/analytics"
	"example.com/searchd/api"
	"example.com/searchd/internal/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The page of a server that logs searches reports hits that are opened and answers that are read,
// counts one search for a query that is typed and narrowed, and shows the counts.
func TestPageAnalytics(t *testing.T) {
	longtest.Skip(t)
	l, err := analytics.Open(t.TempDir(), analytics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	engine := kitchen(t)
	base := serveWith(t, engine, api.Options{Analytics: l})
	infos, err := engine.Collections(t.Context())
	if err != nil || len(infos) == 0 {
		t.Fatal(infos, err)
	}
	logged := func() (out []string) {
		t.Helper()
		if _, err := l.Events(t.Context(), infos[0].Name, time.Time{}, func(e analytics.Event) error {
			out = append(out, e.Query+e.Document)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	until := func(want ...string) {
		t.Helper()
		got := logged()
		for deadline := time.Now().Add(30 * time.Second); !slices.Equal(got, want) && time.Now().Before(deadline); got = logged() {
			time.Sleep(50 * time.Millisecond)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("logged: %q, want %q", got, want)
		}
	}
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#q")), chromedp.SendKeys(chromedp.CSS("#q"), "how to flip pancakes"))
	p.until(t, idle+" && Boolean(document.querySelector('#results article'))")
	first := eval[string](t, p, "document.querySelector('#results .hit').card.hit.id")
	p.js(t, "document.querySelector('#results [data-role=text]').click()")
	until("how to flip pancakes", first)
	p.do(t, chromedp.KeyEvent(kb.Enter)) // in the box: the same query, finished
	p.js(t, "document.querySelector('input[name=mode][value=keyword]').click()")
	p.until(t, idle+" && new URLSearchParams(location.search).get('mode') === 'keyword'")
	p.js(t, "document.querySelector('#results [data-role=open]').click()")
	p.until(t, "!document.querySelector('#view-document').hidden")
	until("how to flip pancakes", first, first)

	p.do(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#q")), chromedp.SendKeys(chromedp.CSS("#q"), "xylophone"))
	until("how to flip pancakes", first, first, "xylophone") // read, as nothing more is typed
	p.do(t, chromedp.KeyEvent(kb.Enter))
	p.until(t, "document.querySelector('#status').textContent.includes('No results') && !document.querySelector('.box').classList.contains('busy')")
	until("how to flip pancakes", first, first, "xylophone")

	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('.cards.logged .logs')?.offsetWidth > 0")
	p.js(t, "document.querySelector('.logs').click()")
	p.until(t, "[...document.querySelectorAll('dialog .searches tbody th')].some((th) => th.textContent === 'xylophone') && document.querySelector('dialog[open]').textContent.includes('2 searches since ')")
	for _, width := range []int64{1400, 390} {
		p.look(t, width, 800, "light")
	}
	p.shoot(t, "searches")
	p.clean(t)
}
