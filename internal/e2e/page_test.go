package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/api"
	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"
	"example.com/searchd/search/inference"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// served is an engine that a server can stand on.
type served interface {
	api.Engine
	Inference() *inference.Service
}

// serve starts a server over an engine.
func serve(t *testing.T, engine served) string {
	t.Helper()
	return serveWith(t, engine, api.Options{})
}

// serveWith is serve with options of the server.
func serveWith(t *testing.T, engine served, o api.Options) string {
	t.Helper()
	o.Engine, o.Inference, o.Logger, o.PDF = engine, engine.Inference(), slog.New(slog.DiscardHandler), pdfReader.Read
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if slow {
		l = lateListener{l}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// kitchen is an engine with a small collection, whose passages are paragraphs, and with a document
// whose text tries to become markup.
func kitchen(t *testing.T) *search.Engine {
	t.Helper()
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "kitchen", search.Settings{Passages: search.PassageSettings{MaxTokens: 64}}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	if err := json.Unmarshal([]byte(kitchenDocs), &docs); err != nil {
		t.Fatal(err)
	}
	results, err := engine.Ingest(t.Context(), "kitchen", docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return engine
}

const kitchenDocs = `[
{"id":"breakfast/pancakes.md","fields":{"title":"Fluffy pancakes for breakfast","lang":"en","year":2021,"tags":["breakfast","sweet"],
 "text":"Whisk flour, eggs and milk into a smooth batter and let it rest for half an hour. Heat a heavy pan with a little butter until it foams.\n\nTo flip pancakes, wait until bubbles show on the top and the rim is dry. Loosen the pancake with a spatula, then turn it with one quick movement of the wrist – naïve cooks turn it too early.\n\nServe with maple syrup, or with lemon and sugar."}},
{"id":"breakfast/omelette.md","fields":{"title":"A soft omelette","lang":"en","year":2019,"tags":["breakfast"],
 "text":"Beat three eggs with salt. Cook them over a low flame and fold the omelette when the middle is still soft.\n\nFlip it onto a warm plate."}},
{"id":"bread/sourdough.md","fields":{"title":"Sourdough from a starter","lang":"en","year":2023,"tags":["bread","fermentation"],
 "text":"Feed the starter the evening before. Mix flour and water, wait an hour, then add starter and salt.\n\nFold the dough four times while it ferments; shape it and let it rise overnight in the cold."}},
{"id":"bread/rye.md","fields":{"title":"Dark rye bread","lang":"de","year":2018,"tags":["bread"],
 "text":"Rye has little gluten. The batter-like dough goes straight into the tin.\n\nBake it long and at falling heat."}},
{"id":"tools/pans.md","fields":{"title":"Which pan for what","lang":"en","year":2020,"url":"https://example.com/pans",
 "text":"A heavy pan keeps its heat when the batter goes in. Cast iron needs seasoning; steel is lighter, and easier to flip things in.\n\nNon-stick pans must not be heated empty."}},
{"id":"trap","fields":{"title":"Markup <img src=x onerror=alert(1)> in a title","text":"A flip & a <script>document.title='owned'</script> <b>bold</b> claim about pancakes in markup."}}
]`

func TestPage(t *testing.T) {
	base := serve(t, kitchen(t))
	p := open(t, base)
	first := "document.querySelector('#results article')?.getAttribute('aria-label')"

	t.Run("types a query and sees the right document first", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#q")))
		p.until(t, "document.activeElement.id === 'q' && document.querySelector('#about').textContent.includes('6 documents')")
		p.shoot(t, "empty-1440-light")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "how to flip pancakes"))
		p.until(t, first+" === 'Fluffy pancakes for breakfast' && document.querySelector('#status').textContent.includes('result') && !document.querySelector('#status').textContent.includes('…')")
		if marks := eval[[]string](t, p, "[...document.querySelectorAll('#results li:first-child .snippet mark')].map(m => m.textContent)"); !strings.Contains(strings.Join(marks, " "), "pancakes") {
			t.Errorf("marked words of the first hit: %q", marks)
		}
		if q := eval[string](t, p, "new URLSearchParams(location.search).get('q')"); q != "how to flip pancakes" {
			t.Errorf("q in the URL = %q", q)
		}
		p.clean(t)
	})

	t.Run("text of documents stays text", func(t *testing.T) {
		p.until(t, "[...document.querySelectorAll('#results h2')].some(h => h.textContent === 'Markup <img src=x onerror=alert(1)> in a title')")
		p.js(t, "for (const b of document.querySelectorAll('[data-role=text], [data-role=why]')) b.click()")
		if n := eval[int](t, p, "document.querySelectorAll('#results img, #results script, #results b').length"); n != 0 {
			t.Errorf("%d elements came out of a document's text", n)
		}
		if text := eval[string](t, p, "document.querySelector('#results').innerText"); strings.Contains(text, "null") || strings.Contains(text, "undefined") {
			t.Errorf("what a document does not have is shown: %s", text)
		}
		p.js(t, "for (const b of document.querySelectorAll('[data-role=text], [data-role=why]')) b.click()")
		p.clean(t)
	})

	t.Run("keyboard", func(t *testing.T) {
		p.do(t, chromedp.Focus(chromedp.CSS("#q")), chromedp.KeyEvent(kb.ArrowDown))
		p.until(t, "document.activeElement === document.querySelectorAll('#results article')[0]")
		p.do(t, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelector('#results li .text .passage.best')?.textContent.startsWith('To flip pancakes')")
		if got := eval[string](t, p, "document.querySelector('#results li .text .passage.best').textContent"); !strings.HasSuffix(got, "or with lemon and sugar.") {
			t.Errorf("best passage in the full text: %q", got)
		}
		p.key(t, "w")
		p.until(t, "!document.querySelector('#results li .why').hidden && document.querySelector('#results li .why table tbody tr') !== null")
		p.until(t, "document.querySelectorAll('#results li .why .share').length > 5") // the words of the passage, by their share in its cosine
		p.shoot(t, "open-1440-light")
		p.look(t, 1440, 1000, "dark")
		p.shoot(t, "open-1440-dark")
		for _, scheme := range []string{"light", "dark"} {
			p.look(t, 390, 844, scheme)
			p.shoot(t, "open-390-"+scheme)
			p.js(t, "document.querySelector('#results li .why').scrollIntoView({block: 'center'})")
			p.shoot(t, "why-390-"+scheme)
			p.js(t, "scrollTo(0, 0)")
			if wide := eval[int](t, p, "document.documentElement.scrollWidth"); wide > 390 {
				t.Errorf("at 390 pixels the page is %d wide", wide)
			}
		}
		p.look(t, 1440, 1000, "light")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.key(t, "/")
		p.until(t, "document.activeElement.id === 'q' && document.querySelector('#results li .text').hidden")
		p.shoot(t, "results-1440-light")
		p.clean(t)
	})

	t.Run("mode, slider and history", func(t *testing.T) {
		p.js(t, "document.querySelector('input[value=keyword]').click()")
		p.until(t, "location.search.includes('mode=keyword') && document.querySelector('#alpha').disabled")
		p.do(t, chromedp.NavigateBack())
		p.until(t, "!location.search.includes('mode') && !document.querySelector('#alpha').disabled && document.querySelectorAll('#results li').length > 2")
		p.js(t, "{ const a = document.querySelector('#alpha'); a.value = 0.2; a.dispatchEvent(new Event('input', {bubbles: true})); }")
		p.until(t, "location.search.includes('alpha=0.2') && document.querySelector('#alphaValue').textContent === '0.20' && "+first+" === 'Fluffy pancakes for breakfast'")
		p.clean(t)
	})

	t.Run("filter by a chip, and a filter that is wrong", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?q=bread+batter"))
		p.until(t, "document.querySelectorAll('#results li').length > 2")
		p.js(t, "[...document.querySelectorAll('.chip')].find(c => c.textContent === 'langde').click()")
		p.until(t, "document.querySelectorAll('#results li').length === 1 && "+first+" === 'Dark rye bread' && document.querySelector('#filter').value === \"lang = 'de'\"")
		p.js(t, "document.querySelector('#timingsToggle').click()")
		p.until(t, "document.querySelectorAll('#timings dt').length >= 3")
		p.shoot(t, "filter-1440-light")
		p.clean(t)
		p.js(t, "{ const f = document.querySelector('#filter'); f.value = 'lang ='; f.dispatchEvent(new Event('input', {bubbles: true})); }")
		p.until(t, "document.querySelector('#filterError').textContent.includes('expected a value')")
		p.shoot(t, "filter-wrong-1440-light")
		p.expect(t, "400")
	})

	t.Run("copy as curl", func(t *testing.T) {
		p.js(t, "navigator.clipboard.writeText = async (s) => { window.copied = s; }")
		p.js(t, "document.querySelector('#curl').click()")
		p.until(t, "window.copied?.startsWith('curl -s') && document.querySelector('#toast').textContent === 'Copied'")
		if got, want := eval[string](t, p, "window.copied"), "curl -s '"+base+"/v1/collections/kitchen/search' -H 'Content-Type: application/json' -d '{\"q\":\"bread batter\",\"mode\":\"hybrid\",\"filter\":\"lang =\",\"cutoff\":\"auto\",\"less_relevant\":10,\"limit\":10,\"passages\":3,\"explain\":true}'"; got != want {
			t.Errorf("copied %s\nwant   %s", got, want)
		}
		p.clean(t)
	})

	t.Run("nothing found and a bad request", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?q=zzzz&mode=keyword"))
		p.until(t, "document.querySelector('#blank').innerText.includes('No results')")
		p.shoot(t, "nothing-1440-light")
		p.clean(t)
		p.do(t, chromedp.Navigate(base+"/?q=x&c=none"))
		p.until(t, "document.querySelector('#blank').innerText.includes('collection_not_found')")
		p.shoot(t, "error-1440-light")
		p.expect(t, "404")
	})
}

func TestPageWithoutCollections(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=anything"))
	p.until(t, "document.querySelector('#blank').innerText.includes('--server "+base+"')")
	p.shoot(t, "onboarding-1440-light")
	for _, view := range []string{"map", "compare"} {
		p.do(t, chromedp.Navigate(base+"/?q=anything&view="+view))
		p.until(t, "document.querySelector('#view-"+view+"')?.innerText.includes('There is nothing to search yet: bring documents in.') === true")
	}
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('.drop')?.innerText.includes('There is no collection yet') === true")
	p.looks(t, "first")
	file := filepath.Join(t.TempDir(), "first.md")
	if err := os.WriteFile(file, []byte("# First\n\nA first note."), 0o644); err != nil {
		t.Fatal(err)
	}
	p.drop(t, ".drop", file)
	p.until(t, "document.querySelectorAll('.upload.done').length === 1 && document.querySelector('article.collection')?.innerText.startsWith('docs') && document.querySelector('#target').value === 'docs'")
	_, err = engine.ChangeSettings(t.Context(), "docs", func(s search.Settings) (search.Settings, error) {
		s.Synonyms = []string{"note, memo"}
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.do(t, chromedp.Reload())
	p.until(t, "document.querySelector('article.collection')?.innerText.replace(/\\s+/g, ' ').includes('synonyms 1 rule') === true")
	p.clean(t)
}

func TestPageTellsWhatIsMissing(t *testing.T) {
	longtest.Skip(t)
	state := &troubled{Engine: kitchen(t)}
	base := serve(t, state)
	p := open(t, base)
	state.degraded.Store(true)
	p.do(t, chromedp.Navigate(base+"/?q=flip+pancakes"))
	p.until(t, "document.querySelector('#degraded').innerText.includes('the encoder is busy') && document.querySelectorAll('#results li').length > 0")
	p.shoot(t, "degraded-1440-light")
	p.look(t, 390, 844, "dark")
	p.shoot(t, "degraded-390-dark")
	p.clean(t)
	state.full.Store(true)
	p.do(t, chromedp.Navigate(base+"/?q=flip"))
	p.until(t, "document.querySelector('#blank').innerText.includes('The server is busy')")
	p.shoot(t, "busy-390-dark")
	state.full.Store(false)
	p.js(t, "document.querySelector('#blank button').click()")
	p.until(t, "document.querySelectorAll('#results li').length > 0")
	p.expect(t, "503")
}

// troubled is an engine in trouble.
type troubled struct {
	*search.Engine
	degraded, full atomic.Bool
}

func (s *troubled) Search(ctx context.Context, c string, q search.Query) (*search.Response, error) {
	if s.full.Load() {
		return nil, context.DeadlineExceeded
	}
	res, err := s.Engine.Search(ctx, c, q)
	if err == nil && s.degraded.Load() {
		res.Degraded, res.Reason = true, "Answered by words alone: the encoder is busy."
	}
	return res, err
}

// A better order that arrives while the pointer is on the hits waits until it has left.
func TestPageDoesNotMoveHitsUnderThePointer(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	slow := make(chan struct{})
	hybrid := &slowHybrid{Engine: engine, wait: slow}
	base := serve(t, hybrid)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#q")))
	p.until(t, "document.activeElement.id === 'q'")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "batter flip"))
	p.until(t, "[...document.querySelectorAll('#results mark')].some(m => m.textContent === 'flip')") // the words' answer is there
	order := "[...document.querySelectorAll('#results article')].map(a => a.getAttribute('aria-label')).join('|')"
	before := eval[string](t, p, order)
	p.js(t, "const old = window.fetch; window.fetch = async (path, init) => { const res = await old(path, init); if (JSON.parse(init?.body ?? '{}').sentences) window.told = true; return res; }")
	p.do(t, chromedp.MouseEvent("mouseMoved", 700, 330), chromedp.MouseEvent("mouseMoved", 700, 340))
	p.until(t, "document.querySelector('#results').matches(':hover')")
	close(slow)
	p.until(t, "!document.querySelector('#held').hidden")
	if got := eval[string](t, p, order); got != before {
		t.Errorf("hits moved under the pointer: %s, then %s", before, got)
	}
	p.shoot(t, "held-1440-light")
	p.until(t, "window.told === true")
	time.Sleep(100 * time.Millisecond)
	p.do(t, chromedp.MouseEvent("mouseMoved", 700, 20))
	p.until(t, "document.querySelector('#held').hidden && "+order+" !== "+string(must(json.Marshal(before)))+" && document.querySelector('#results .near') !== null") // with what was told of it meanwhile
	p.clean(t)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// slowHybrid lets hybrid searches wait, and turns their order round.
type slowHybrid struct {
	*search.Engine
	wait chan struct{}
}

func (s *slowHybrid) Search(ctx context.Context, c string, q search.Query) (*search.Response, error) {
	res, err := s.Engine.Search(ctx, c, q)
	if q.Mode == search.Hybrid && err == nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		for i, j := 0, len(res.Hits)-1; i < j; i, j = i+1, j-1 {
			res.Hits[i], res.Hits[j] = res.Hits[j], res.Hits[i]
		}
	}
	return res, err
}
