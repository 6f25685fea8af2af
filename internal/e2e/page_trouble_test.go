package e2e

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/searchd/api"
	"example.com/searchd/internal/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// unsteady is a server that closes connections while it is away, and answers nothing while hangs is
// not nil. The page itself always comes, as from a cache.
type unsteady struct {
	next  http.Handler
	away  atomic.Bool
	files atomic.Bool // the files of the page come while it is away, too
	hangs atomic.Pointer[chan struct{}]
}

// newUnsteady serves a small collection.
func newUnsteady(t *testing.T) (u *unsteady, base string) {
	t.Helper()
	engine := kitchen(t)
	s, err := api.New(api.Options{Engine: engine, Inference: engine.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	u = &unsteady{next: s.Handler()}
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return u, server.URL
}

func (u *unsteady) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := u.hangs.Load(); c != nil {
		<-*c
	}
	if u.away.Load() && r.URL.Path != "/" && !(u.files.Load() && strings.HasPrefix(r.URL.Path, "/ui/")) {
		panic(http.ErrAbortHandler)
	}
	u.next.ServeHTTP(w, r)
}

// writeFile writes a file into a folder of the test and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// lost expects that the browser has reported requests without an answer, and nothing else, and
// clears them.
func (p *page) lost(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		if !strings.Contains(problem, "net::ERR_") {
			t.Error(problem)
		}
	}
	if len(p.problems) == 0 {
		t.Error("no request was lost")
	}
	p.problems = nil
}

// TestPageServerAway loses the server while somebody types and looks around, and has everything
// again by itself once it is back.
func TestPageServerAway(t *testing.T) {
	longtest.Skip(t)
	u, base := newUnsteady(t)
	p := open(t, base)
	away := "document.querySelector('.view:not([hidden]) .failed')?.innerText.includes('The server does not answer') === true"

	t.Run("slow", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?q=flip"))
		p.until(t, idle+" && document.activeElement.id === 'q'")
		wait := make(chan struct{})
		u.hangs.Store(&wait)
		goOn := sync.OnceFunc(func() { u.hangs.Store(nil); close(wait) })
		defer goOn() // the server ends with its requests
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " pancakes"))
		p.until(t, "document.querySelector('#status').textContent === 'Waiting for the server …'")
		goOn()
		p.until(t, idle+" && document.querySelector('#q').value === 'flip pancakes'")
		p.clean(t)
	})
	t.Run("away while somebody types", func(t *testing.T) {
		u.away.Store(true)
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " in a pan"))
		p.until(t, away)
		p.looks(t, "away")
		u.away.Store(false)
		p.until(t, idle+" && document.querySelector('#q').value === 'flip pancakes in a pan'")
		p.lost(t)
	})
	t.Run("away while a view is opened for the first time", func(t *testing.T) {
		u.away.Store(true)
		for _, view := range []string{"compare", "collections"} {
			p.js(t, "document.querySelector('[data-view="+view+"]').click()")
			p.until(t, away)
		}
		u.away.Store(false)
		p.until(t, "document.querySelector('article.collection dl') !== null && getComputedStyle(document.querySelector('.cards')).display === 'grid'")
		p.js(t, "document.querySelector('[data-view=compare]').click()")
		p.until(t, "document.querySelectorAll('.column article').length > 4")
		p.lost(t)
	})
	t.Run("away while two settings are compared, which is said once", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?view=compare&q=flip"))
		p.until(t, "document.querySelectorAll('.column article').length > 4")
		u.away.Store(true)
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " it"))
		p.until(t, "document.querySelectorAll('#view-compare .failed').length === 1 && document.querySelector('.column article') === null")
		p.looks(t, "away-compare")
		u.away.Store(false)
		p.until(t, "document.querySelectorAll('.column article').length > 4 && document.querySelector('#view-compare .failed') === null")
		p.lost(t)
	})
	t.Run("away when the page is opened", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?q=flip"))
		p.until(t, idle)
		u.files.Store(true)
		u.away.Store(true)
		p.do(t, chromedp.Reload())
		p.until(t, away)
		u.away.Store(false)
		p.until(t, idle+" && document.activeElement.id === 'q'")
		p.lost(t)
	})
}

// TestPageSendsAgain loses the server while a file is on its way, and sends it once more.
func TestPageSendsAgain(t *testing.T) {
	longtest.Skip(t)
	u, base := newUnsteady(t)
	path := writeFile(t, "whisk.txt", "A whisk beats air into cream.")
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	u.away.Store(true)
	p.choose(t, "#files", path)
	p.until(t, "document.querySelector('.upload.failed .wrongs')?.innerText.includes('cannot be reached') === true")
	u.away.Store(false)
	p.js(t, "document.querySelector('[aria-label=\"Send whisk.txt again\"]').click()")
	p.until(t, "document.querySelector('.upload.done')?.innerText.includes('1 created') === true && document.querySelector('.upload .wrongs').innerText === ''")
	p.lost(t)
}

// TestPageAnotherKey asks for another key where the one that was given may not do what somebody has
// pressed, and does it with that.
func TestPageAnotherKey(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	s, err := api.New(api.Options{Engine: engine, Inference: engine.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization")
		changes := r.Method == "PATCH" || strings.HasSuffix(r.URL.Path, "/import") || r.URL.Path == "/v1/tasks"
		if strings.HasPrefix(r.URL.Path, "/v1/") && (key != "Bearer reader" && key != "Bearer writer" || changes && key != "Bearer writer") {
			status, code := http.StatusUnauthorized, "missing_api_key"
			if key != "" {
				status, code = http.StatusForbidden, "insufficient_scope"
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"title":"No","status":%d,"code":%q,"detail":"this needs more"}`, status, code)
			return
		}
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(guarded.Close)
	p := open(t, guarded.URL)
	give := func(key string) {
		t.Helper()
		p.until(t, "document.activeElement.id === 'apiKey'")
		p.js(t, "document.activeElement.value = '"+key+"'; document.querySelector('dialog.key .primary').click()")
	}
	p.do(t, chromedp.Navigate(guarded.URL+"/?view=collections"))
	give("reader")
	p.until(t, "document.querySelector('article.collection dl') !== null && document.querySelector('dialog[open]') === null") // nobody is asked for what the page asks by itself
	p.js(t, "document.querySelector('[aria-label=\"Settings of kitchen\"]').click()")
	p.until(t, "document.querySelector('.configuring textarea') === document.activeElement && document.activeElement !== null")
	p.do(t, chromedp.SendKeys(chromedp.CSS(".configuring textarea"), "skillet, pan"))
	p.js(t, "document.querySelector('.configuring .primary').click()")
	p.until(t, "document.activeElement.id === 'apiKey' && document.querySelector('dialog.key').innerText.includes('this needs more')")
	p.do(t, chromedp.KeyEvent(kb.Escape))
	p.until(t, "document.querySelector('.configuring > form > .wrong').innerText === 'this needs more' && document.querySelector('.configuring textarea').value === 'skillet, pan'")
	p.js(t, "document.querySelector('.configuring .primary').click()")
	give("writer")
	p.until(t, "document.querySelector('dialog[open]') === null && document.querySelector('article.collection').innerText.includes('1 rule')")
	p.js(t, "sessionStorage.setItem('searchd.key', 'reader')")
	p.choose(t, "#files", writeFile(t, "whisk.txt", "A whisk beats air into cream."))
	give("writer")
	p.until(t, "document.querySelector('.upload.done')?.innerText.includes('1 created') === true")
	if info, err := engine.Collection(t.Context(), "kitchen"); err != nil || len(info.Settings.Synonyms) != 1 {
		t.Errorf("settings %+v, %v", info, err)
	}
}
