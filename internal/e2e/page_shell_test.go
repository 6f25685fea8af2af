package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/searchd/api"
	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const idle = "document.querySelectorAll('#results li').length > 0 && !document.querySelector('#status').textContent.includes('…')"

// The page can be used without a mouse, and in the colours that one likes.
func TestPageKeysAndColours(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=flip+pancakes"))
	p.until(t, idle+" && document.activeElement.id === 'q'")

	t.Run("the list of keys", func(t *testing.T) {
		p.do(t, chromedp.KeyEvent(kb.ArrowDown))
		p.key(t, "?")
		p.until(t, "document.querySelector('#keys').open && document.querySelector('#keys').contains(document.activeElement)")
		p.shoot(t, "keys-1440-light")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, "!document.querySelector('#keys').open && document.activeElement.matches('#results article')")
	})
	t.Run("escape goes back to the box, then clears it", func(t *testing.T) {
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, "!document.querySelector('#results li .text').hidden")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, "document.querySelector('#results li .text').hidden && document.activeElement.matches('#results article')")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, "document.activeElement.id === 'q' && document.querySelector('#q').value === 'flip pancakes'")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, "document.querySelector('#q').value === '' && document.querySelectorAll('#results li').length === 0 && !location.search.includes('q=')")
		p.do(t, chromedp.NavigateBack())
		p.until(t, "document.querySelector('#q').value === 'flip pancakes' && "+idle)
	})
	t.Run("every control is reached with Tab, and its focus seen", func(t *testing.T) {
		p.js(t, "document.querySelector('.skip').focus()")
		seen := map[string]bool{}
		for range 110 {
			p.do(t, chromedp.KeyEvent(kb.Tab))
			at := eval[[]string](t, p, "(() => { const a = document.activeElement, s = getComputedStyle(a.matches('.modes input') ? a.nextElementSibling : a.matches('#q') ? a.parentElement : a); return [a.id || a.dataset.view || a.dataset.role || a.value || a.className || a.tagName, String(s.outlineStyle !== 'none' || s.boxShadow !== 'none'), a.outerHTML.slice(0, 200)]; })()")
			if strings.HasPrefix(at[2], "<body") {
				break // behind the last one
			}
			seen[at[0]] = true
			if at[1] != "true" {
				t.Errorf("%s has the focus and does not show it: %s", at[0], at[2])
			}
		}
		for _, name := range []string{"compare", "map", "inside", "collections", "theme", "help", "q", "hybrid", "alpha", "filterToggle", "curl", "card", "text", "why"} {
			if !seen[name] {
				t.Errorf("Tab does not reach %s; it reaches %v", name, seen)
			}
		}
	})
	t.Run("all of the page by keys alone", func(t *testing.T) {
		tab := func(selector string) {
			t.Helper()
			for range 60 {
				p.do(t, chromedp.KeyEvent(kb.Tab))
				if eval[bool](t, p, "document.activeElement.matches('"+selector+"')") {
					return
				}
			}
			t.Fatalf("Tab does not come to %s", selector)
		}
		p.do(t, chromedp.Navigate(base+"/"))
		p.until(t, "document.activeElement.id === 'q' && document.querySelectorAll('.try').length > 0")
		tab(".try") // an example to begin with
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, idle+" && document.querySelector('#q').value !== ''")
		p.key(t, "/")
		p.until(t, "document.activeElement.id === 'q'")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "flip pancakes")) // what stood there was selected
		p.until(t, idle+" && document.querySelector('#q').value === 'flip pancakes'")
		p.until(t, "document.querySelector('#alphaValue').textContent !== 'auto'") // the weight of the first fused answer
		tab("#alpha")
		p.do(t, chromedp.KeyEvent(kb.ArrowRight))
		p.until(t, "/alpha=0\\.[0-9]+(&|$)/.test(location.search) && "+idle)
		tab("#results article")
		tab("[data-role=why]")
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelector('#results .why .nearness .facts') !== null")
		p.key(t, "i")
		p.until(t, "location.search.includes('view=inside') && document.querySelectorAll('.head').length === 36")
		tab(".head[data-head=\"3\"]")
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelector('.head[aria-pressed=true]').dataset.head === '3'")
		for i, view := range []string{"search", "compare", "map", "inside", "collections"} {
			p.key(t, string(rune('1'+i)))
			p.until(t, "!document.querySelector('#view-"+view+"').hidden && document.querySelector('#views [aria-current]').dataset.view === '"+view+"'")
		}
		p.until(t, "document.querySelector('article.collection') !== null")
		tab("#newName")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#newName"), "bykeys"), chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelectorAll('article.collection').length === 2")
		tab("[aria-label=\"Delete bykeys\"]")
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.activeElement.id === 'sureName'")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#sureName"), "bykeys"), chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelectorAll('article.collection').length === 1 && document.querySelector('dialog[open]') === null")
		p.key(t, "1")
		p.until(t, idle)
	})
	t.Run("light, dark, and as the system", func(t *testing.T) {
		background := "getComputedStyle(document.documentElement).backgroundColor"
		p.look(t, 1440, 1000, "dark")
		dark := eval[string](t, p, background)
		p.look(t, 1440, 1000, "light")
		light := eval[string](t, p, background)
		if dark == light {
			t.Fatalf("the same background in the dark: %s", dark)
		}
		p.js(t, "document.querySelector('#theme').click(); document.querySelector('#theme').click()")
		p.until(t, background+" === '"+dark+"' && document.querySelector('#themeName').textContent === 'dark'")
		p.do(t, chromedp.Reload())
		p.until(t, background+" === '"+dark+"' && document.querySelector('#themeName').textContent === 'dark'")
		p.js(t, "document.querySelector('#theme').click()")
		p.until(t, background+" === '"+light+"'")
	})
	p.clean(t)
}

// While the slider moves, the hits are fused again before the server has answered.
func TestPageFusesAgainAtOnce(t *testing.T) {
	longtest.Skip(t)
	engine := &stuck{Engine: kitchen(t), wait: make(chan struct{})}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=batter+flip+pan&alpha=0"))
	p.until(t, idle)
	engine.on.Store(true)
	order := "[...document.querySelectorAll('#results article')].map(a => a.getAttribute('aria-label')).join('|')"
	scores := "[...document.querySelectorAll('#results .score .value')].map(a => a.textContent).join('|')"
	p.js(t, "{ const a = document.querySelector('#alpha'); a.value = 1; a.dispatchEvent(new Event('input', {bubbles: true})); }")
	own := [2]string{eval[string](t, p, order), eval[string](t, p, scores)}
	p.until(t, "document.querySelector('#box').classList.contains('busy')") // the server has been asked
	close(engine.wait)
	p.until(t, "!document.querySelector('#box').classList.contains('busy')")
	// The server may add documents that pass the cutoff with these weights.
	theirs := [2]string{eval[string](t, p, order), eval[string](t, p, scores)}
	for i := range own {
		at := 0
		for _, part := range strings.Split(theirs[i], "|") {
			if left := strings.Split(own[i], "|"); at < len(left) && left[at] == part {
				at++
			}
		}
		if at != strings.Count(own[i], "|")+1 {
			t.Errorf("fused in the page: %s\nby the server: %s", own, theirs)
		}
	}
	p.do(t, chromedp.Navigate(base+"/?q=batter+flip+pan&alpha=0"))
	p.until(t, idle)
	if words := eval[string](t, p, order); words == own[0] {
		t.Errorf("the same order by words and by meaning says nothing: %s", words)
	}
	p.clean(t)
}

// stuck lets searches wait, once it is on.
type stuck struct {
	*search.Engine
	on   atomic.Bool
	wait chan struct{}
}

func (s *stuck) Search(ctx context.Context, c string, q search.Query) (*search.Response, error) {
	if s.on.Load() {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Engine.Search(ctx, c, q)
}

// A server behind a key makes the page ask for it, once, and again where it is wrong.
func TestPageAsksForKey(t *testing.T) {
	engine := kitchen(t)
	s, err := api.New(api.Options{Engine: engine, Inference: engine.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var revoked atomic.Bool
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") && (revoked.Load() || r.Header.Get("Authorization") != "Bearer right") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			w.Write([]byte(`{"type":"about:blank","title":"Unauthorized","status":401,"code":"unauthorized"}`))
			return
		}
		s.Handler().ServeHTTP(w, r)
	}))
	defer guarded.Close()
	p := open(t, guarded.URL)
	p.do(t, chromedp.Navigate(guarded.URL+"/?q=flip"))
	p.until(t, "document.activeElement.id === 'apiKey'")
	p.shoot(t, "key-1440-light")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#apiKey"), "wrong"), chromedp.KeyEvent(kb.Enter))
	p.until(t, "document.activeElement.id === 'apiKey' && document.querySelector('dialog.key').innerText.includes('not accepted') && document.activeElement.value === ''")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#apiKey"), "right"), chromedp.KeyEvent(kb.Enter))
	p.until(t, idle)
	p.do(t, chromedp.Reload())
	p.until(t, idle+" && !document.querySelector('dialog[open]')") // kept for the tab
	revoked.Store(true)
	p.js(t, "document.querySelector('[data-view=collections]').click()")
	p.until(t, "document.activeElement.id === 'apiKey'")
	p.do(t, chromedp.KeyEvent(kb.Escape))
	p.until(t, "document.querySelector('#view-collections .failed') !== null && !document.querySelector('dialog[open]')") // who has no other key is asked once
	p.expect(t, "401")
}
