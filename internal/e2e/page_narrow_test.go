package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// oddKinds are values that have to survive the way into a filter and back.
var oddKinds = []string{"o'neill \"&\" `sons`", "ünïcode ☕ AND x = 'y'", strings.Repeat("long ", 40), "", "true", "12"}

// stock is an engine with a collection of 60 things, of which each field is for one kind of value,
// a folder of notes, and a single document.
func stock(t *testing.T) *search.Engine {
	t.Helper()
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	fill := func(name string, n int, fields func(i int) map[string]any) {
		t.Helper()
		if _, err := engine.CreateCollection(t.Context(), name, search.Settings{Fields: map[string]search.FieldSettings{"hidden": {Type: "stored"}}}); err != nil {
			t.Fatal(err)
		}
		var docs []search.Document
		for i := range n {
			docs = append(docs, search.Document{ID: fmt.Sprintf("%s%d", name, i), Fields: must(json.Marshal(fields(i)))})
		}
		results, err := engine.Ingest(t.Context(), name, docs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	fill("stock", 60, func(i int) map[string]any {
		return map[string]any{
			"title": fmt.Sprintf("Thing %d", i), "text": fmt.Sprintf("A useful thing, which is %s.", []string{"red", "blue"}[i%2]), "kind": oddKinds[i%6], "in stock": i%3 == 0, "stars": i % 5,
			"maker": map[string]any{"name": []string{"Acme", "Bolt"}[i%2]}, "tags": []string{"t" + fmt.Sprint(i%4), "all"}, "serial": json.Number(fmt.Sprint(1234567890123456789 + i%2)),
			"price": float64(i) + 0.5, "added": fmt.Sprintf("2026-01-%02d", i%28+1), "sku": fmt.Sprintf("S%04d", i), "hidden": "x",
		}
	})
	fill("notes", 8, func(i int) map[string]any {
		return map[string]any{"title": "Note", "text": fmt.Sprintf("A note on a thing, the %d.", i), "path": fmt.Sprintf("notes/%d.md", i), "modified": "2026-01-01T10:00:00Z"}
	})
	fill("one", 1, func(int) map[string]any { return map[string]any{"text": "A thing."} })
	return engine
}

// press is a press of the first button within what the selector names that a JavaScript condition
// on b holds for.
func press(selector, condition string) string {
	return "[...document.querySelectorAll('" + selector + " button')].find(b => " + condition + ").click()"
}

// watchSearches keeps the bodies of the searches that the page sends from here on in window.sent.
const watchSearches = `window.sent = []; const old = window.fetch; window.fetch = (path, init) => { if (init?.body) window.sent.push(JSON.parse(init.body)); return old(path, init); }`

func TestPageNarrow(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	p.look(t, 1000, 900, "light") // too narrow for the values to be shown unasked
	closed := idle + " && !document.querySelector('#narrowToggle').hidden && document.querySelector('#facets').hidden"
	opened := idle + " && document.querySelectorAll('.facet').length > 0"
	chips := func(n int) string { return fmt.Sprintf("document.querySelectorAll('#chosen button').length === %d", n) }
	matches := func(n int) string {
		return idle + fmt.Sprintf(" && document.querySelector('#status').textContent.startsWith('%d result')", n)
	}

	t.Run("nothing is counted before it is wanted", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing"))
		p.until(t, closed)
		p.js(t, watchSearches)
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "s"))
		p.until(t, "window.sent.length > 0 && "+closed)
		p.js(t, "document.querySelector('#narrowToggle').click()")
		p.until(t, opened+" && location.search.includes('narrow=open')")
		if got := eval[[]bool](t, p, "window.sent.map(q => 'facets' in q)"); got[0] || !got[len(got)-1] {
			t.Errorf("searches with facets: %v", got)
		}
		if got := eval[string](t, p, "[...document.querySelectorAll('.facet h2')].map(e => e.textContent).join('|')"); got != "in stock|kind|maker.name|stars|tags|added|price|serial" {
			t.Errorf("offered: %s", got)
		}
		if got := eval[string](t, p, "document.querySelector('.facet ul').innerText.replace(/\\s+/g, ' ')"); got != "false 40 true 20" {
			t.Errorf("in stock: %s", got)
		}
		p.looks(t, "narrow")
	})
	t.Run("a field that is stored alone cannot be pressed", func(t *testing.T) {
		if got := eval[string](t, p, "[...document.querySelectorAll('.hit .chip')].filter(c => /^(hidden|price)/.test(c.textContent)).slice(0, 2).map(c => c.tagName + ' ' + c.textContent.replace(/[\\d.]+/, '')).join('|')"); got != "SPAN hiddenx|BUTTON price" {
			t.Errorf("chips: %s", got)
		}
	})
	t.Run("each value narrows to its count, and its chip takes that back", func(t *testing.T) {
		values := eval[[][]string](t, p, "[...document.querySelectorAll('.facet .choice')].map(b => [b.dataset.same, b.querySelector('.n').textContent])")
		if len(values) != 2+6+2+5+5 {
			t.Fatalf("%d values: %q", len(values), values)
		}
		for _, v := range values {
			same := string(must(json.Marshal(v[0])))
			p.js(t, press("#facets", "b.dataset.same === "+same))
			p.until(t, chips(1)+" && "+idle+" && document.querySelector('#status').textContent.startsWith('"+v[1]+" result') && document.querySelector('#facets [aria-pressed=true]')?.dataset.same === "+same)
			if got := eval[string](t, p, "new URLSearchParams(location.search).get('filter')"); got != v[0] {
				t.Errorf("the address has the filter %s, want %s", got, v[0])
			}
			p.js(t, press("#chosen", "true"))
			p.until(t, chips(0)+" && "+matches(60)+" && !location.search.includes('filter') && document.querySelector('#facets [aria-pressed=true]') === null")
		}
		if open := eval[bool](t, p, "document.querySelector('#filterRow').hidden"); !open {
			t.Error("the text of a filter that chips say in full is shown as well")
		}
	})
	t.Run("fields go together, back goes back, and a link keeps them", func(t *testing.T) {
		p.js(t, press("#facets", "b.dataset.same === '`in stock` = true'"))
		p.until(t, chips(1)+" && "+matches(20))
		p.js(t, "document.querySelector('#facets [aria-pressed=true]').focus()")
		p.js(t, press("#facets", "b.dataset.same.startsWith('maker.name = \\'Acme')"))
		p.until(t, chips(2)+" && "+matches(10)+" && document.querySelectorAll('#facets [aria-pressed=true]').length === 2")
		if same := eval[string](t, p, "document.activeElement.dataset.same ?? document.activeElement.tagName"); same != "`in stock` = true" {
			t.Errorf("the focus is on %s", same)
		}
		p.do(t, chromedp.NavigateBack())
		p.until(t, chips(1)+" && "+matches(20))
		p.do(t, chromedp.NavigateForward())
		p.until(t, chips(2)+" && "+matches(10))
		p.do(t, chromedp.Reload())
		p.until(t, chips(2)+" && "+matches(10)+" && document.querySelectorAll('#facets [aria-pressed=true]').length === 2")
		p.js(t, "document.querySelector('#chosen button').focus()")
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, chips(1)+" && "+matches(30)+" && document.activeElement.matches('#chosen button')")
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.until(t, chips(0)+" && "+matches(60)+" && document.activeElement.id === 'narrowToggle'")
	})
	t.Run("a chosen value without a document stays where it can be taken back", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=red&narrow=open&filter="+url.QueryEscape("maker.name = 'Bolt' AND stars > 0")))
		p.until(t, "document.querySelector('#facets [aria-pressed=true]')?.innerText.replace(/\\s+/g, ' ') === 'Bolt –' && !document.querySelector('#filterRow').hidden && "+chips(1))
		p.js(t, press("#facets", "b.getAttribute('aria-pressed') === 'true'"))
		p.until(t, chips(0)+" && "+idle+" && document.querySelector('#filter').value === 'stars > 0'")
	})
	t.Run("the hits stay where they are while counts come", func(t *testing.T) {
		p.look(t, 390, 844, "light")
		p.do(t, chromedp.Navigate(base+"/?c=stock&q=thing&narrow=open"))
		p.until(t, opened)
		p.js(t, `window.tops = new Set(); const note = () => { const a = document.querySelector('#results'); if (a.firstChild) window.tops.add(Math.round(a.getBoundingClientRect().top + scrollY)); requestAnimationFrame(note); }; note()`)
		p.js(t, watchSearches)
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " red"))
		p.until(t, idle+" && window.sent.some(q => q.q === 'thing red' && q.facets)")
		p.js(t, press("#facets", "b.dataset.same.startsWith('stars')"))
		p.until(t, chips(1)+" && "+idle)
		p.js(t, press("#chosen", "true"))
		p.until(t, chips(0)+" && "+idle)
		if tops := eval[[]int](t, p, "[...window.tops]"); len(tops) > 2 || len(tops) == 2 && max(tops[0], tops[1])-min(tops[0], tops[1]) > 45 {
			t.Errorf("the hits begin at %v; only the line of chips may come and go", tops)
		}
		p.look(t, 1000, 900, "light")
	})
	t.Run("a field that is refused is left out without a word", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=stock&q=thing"))
		p.until(t, closed)
		p.js(t, `const old = window.fetch; window.fetch = (path, init) => JSON.stringify(JSON.parse(init?.body ?? '{}').facets ?? '').includes('"kind"')
			? Promise.resolve(new Response('{"detail":"field \"kind\" has more than 100000 different values"}', {status: 400})) : old(path, init)`)
		p.js(t, "document.querySelector('#narrowToggle').click()")
		p.until(t, opened)
		if got := eval[string](t, p, "[...document.querySelectorAll('.facet h2')].map(e => e.textContent).join('|') + document.querySelector('#warnings').innerText"); got != "in stock|maker.name|stars|tags|added|price|serial" {
			t.Errorf("offered: %s", got)
		}
		p.js(t, `const before = window.fetch; window.fetch = (path, init) => 'facets' in JSON.parse(init?.body ?? '{}') ? Promise.resolve(new Response('{}', {status: 400})) : before(path, init)`)
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " red"))
		p.until(t, idle+" && document.querySelectorAll('.facet').length === 4 && document.querySelector('.choice') === null")
	})
	t.Run("notes show nothing new, and the footer counts one as one", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=notes&q=thing"))
		p.until(t, idle)
		p.js(t, "document.querySelector('#filterToggle').click()")
		p.until(t, "document.querySelector('#filter').placeholder === \"id = 'notes0'\"")
		if hidden := eval[bool](t, p, "document.querySelector('#narrowing').hidden"); !hidden {
			t.Error("notes without values can be narrowed or ordered")
		}
		p.do(t, chromedp.Navigate(base+"/?c=one&q=thing"))
		p.until(t, idle+" && document.querySelector('#about').textContent.startsWith('1 document, 1 passage · ')")
		p.do(t, chromedp.Navigate(base+"/?c=stock&filter=stars+%3E+3"))
		p.until(t, "document.querySelector('#filter').placeholder === "+string(must(json.Marshal("kind = 'o''neill \"&\" `sons`' AND price >= 0.5"))))
	})
	p.clean(t)
}

// TestPageOrder puts hits into the order of a field, up and down, keeps that in the address and
// leaves boosts out of it.
func TestPageOrder(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	choose := func(value string) {
		p.js(t, "const s = document.querySelector('#order'); s.value = '"+value+"'; s.dispatchEvent(new Event('change', {bubbles: true}))")
	}
	first := func(title string) string {
		return idle + " && document.querySelector('#results h2')?.textContent === '" + title + "'"
	}
	p.do(t, chromedp.Navigate(base+"/?c=stock&q=thing&boost=0.3,1,,stars"))
	p.until(t, idle+" && !document.querySelector('#orderLabel').hidden")
	if got := eval[string](t, p, "[...document.querySelectorAll('#order option')].slice(0, 3).map(o => o.textContent).join('|')"); got != "relevance|added, latest first|added, earliest first" {
		t.Errorf("orders: %s", got)
	}
	if got := eval[bool](t, p, "[...document.querySelectorAll('#order option')].some(o => /kind|sku|hidden|tags/.test(o.value))"); got {
		t.Error("strings are offered as an order")
	}
	choose("price:desc")
	p.until(t, first("Thing 59")+" && new URLSearchParams(location.search).get('sort') === 'price:desc'")
	choose("price:asc")
	p.until(t, first("Thing 0"))
	p.js(t, `const order = () => [...document.querySelectorAll('#results h2')].map(h => h.textContent).join(), before = order(), a = document.querySelector('#alpha');
		a.value = 0.9; a.dispatchEvent(new Event('input', {bubbles: true})); window.still = order() === before`)
	if still := eval[bool](t, p, "window.still"); !still {
		t.Error("the slider moves hits that are in the order of a field")
	}
	p.until(t, first("Thing 0")+" && location.search.includes('alpha=0.9')")
	p.do(t, chromedp.NavigateBack())
	p.until(t, first("Thing 59")+" && document.querySelector('#order').value === 'price:desc'")
	p.do(t, chromedp.Reload())
	p.until(t, first("Thing 59")+" && document.querySelector('#order').value === 'price:desc' && document.querySelector('#orderLabel').innerText.startsWith('Sort')")
	// Without words all documents are in the order, and without an order in that of their arrival.
	p.do(t, chromedp.Navigate(base+"/?c=stock&sort=price:desc"))
	p.until(t, first("Thing 59")+" && document.querySelector('#status').textContent === '60 results' && document.querySelector('#order').options[0].textContent === 'order added'")
	// An address may name what is not offered.
	p.do(t, chromedp.Navigate(base+"/?c=stock&q=thing&sort=sku:desc"))
	p.until(t, first("Thing 59")+" && document.querySelector('#order').selectedOptions[0].textContent === 'sku, falling'")
	p.clean(t)
}

// holdBack keeps the searches that the page sends in window.sent, and those that count in all of a
// collection waiting for the functions in window.held.
const holdBack = `window.sent = []; window.held = []; const old = window.fetch; window.fetch = (path, init) => {
		const q = JSON.parse(init?.body ?? '{}'); window.sent.push(q);
		return q.facets && q.q === '' ? new Promise((resolve) => window.held.push(resolve)).then(() => old(path, init)) : old(path, init); }`

// TestPageNarrowAtOnce opens the values: the search does not wait for the look at which fields are
// worth it, and an answer that comes late shows nothing of the collection that was left.
func TestPageNarrowAtOnce(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	p.look(t, 1000, 900, "light")
	p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing"))
	p.until(t, idle+" && !document.querySelector('#narrowToggle').hidden")
	// The look at all of the collection is held back.
	p.js(t, holdBack)
	p.js(t, "document.querySelector('#narrowToggle').click()")
	p.until(t, "window.held.length === 1 && window.sent.some(q => q.q === 'thing' && q.facets)")
	if open := eval[bool](t, p, "document.querySelectorAll('.facet').length > 0"); open {
		t.Error("values are shown before it is known which fields are worth it")
	}
	p.js(t, "window.held[0]()")
	p.until(t, idle+" && document.querySelectorAll('.facet').length > 0")
	if got := eval[string](t, p, "[...document.querySelectorAll('.facet h2')].map(e => e.textContent).join('|')"); got != "in stock|kind|maker.name|stars|tags|added|price|serial" {
		t.Errorf("offered: %s", got)
	}
	if n := eval[int](t, p, "window.sent.filter(q => q.q === 'thing').length"); n != 1 {
		t.Errorf("%d searches, want 1", n)
	}
	// Afterwards a search is one call, of the fields that are worth it.
	p.js(t, "window.sent = []")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " red"))
	p.until(t, idle+" && window.sent.some(q => q.q === 'thing red')")
	if got := eval[string](t, p, "[...new Set(window.sent.flatMap(q => q.facets?.map(f => f.field) ?? []))].join('|')"); got != "in stock|kind|maker.name|stars|tags" {
		t.Errorf("facets asked for: %s", got)
	}
	// What is found out of a collection that has been left is not shown in another.
	p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing"))
	p.until(t, idle+" && !document.querySelector('#narrowToggle').hidden")
	p.js(t, holdBack)
	p.js(t, "document.querySelector('#narrowToggle').click()")
	p.until(t, "window.held.length === 1 && window.sent.some(q => q.q === 'thing' && q.facets)")
	p.js(t, "const c = document.querySelector('#collection'); c.value = 'notes'; c.dispatchEvent(new Event('change', {bubbles: true}))")
	p.until(t, idle+" && document.querySelector('#results .id').textContent.startsWith('notes')")
	p.js(t, "window.held[0]()")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), " note"))
	p.until(t, idle+" && window.sent.some(q => q.q === 'thing note') && document.querySelector('#results .id').textContent.startsWith('notes')")
	if got := eval[int](t, p, "document.querySelectorAll('.facet').length"); got != 0 {
		t.Errorf("the notes have %d fields of the other collection beside them", got)
	}
	p.clean(t)
}

// TestPageNarrowMixed offers of a collection of all sorts only what the documents found have, most
// of them first.
func TestPageNarrowMixed(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "vault", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	for i := range 60 {
		fields := map[string]any{"text": fmt.Sprintf("A page, the %d, of the garden.", i), "area": i, "beds": 100 - i, "plot": "north"}
		if i%3 == 0 {
			fields["plot"] = "south"
		}
		switch {
		case i < 20: // what all others come with
			fields = map[string]any{"text": "A book to read.", "genre": []string{"novel", "essay"}[i%2]}
			for k := range 7 {
				fields[fmt.Sprintf("rating%d", k)] = float64(i) + 0.5
			}
		case i%5 == 0:
			fields["cost"], fields["when"] = float64(i)+0.25, fmt.Sprintf("2026-01-%02d", i%28+1)
		}
		docs = append(docs, search.Document{ID: fmt.Sprint("d", i), Fields: must(json.Marshal(fields))})
	}
	if _, err := engine.Ingest(t.Context(), "vault", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	offered := "[...document.querySelectorAll('.facet h2')].map(e => e.textContent).join(' ')"
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=garden&narrow=open"))
	p.until(t, idle+" && "+offered+" === 'plot area beds cost when' && !document.querySelector('#facets > .link').hidden")
	p.looks(t, "mixed")
	// What no hit has comes last, when more is wanted.
	p.js(t, "document.querySelector('#facets > .link').click()")
	p.until(t, offered+".startsWith('plot area beds cost when rating0 ') && document.querySelector('#facets > .link').hidden")
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=book&narrow=open"))
	p.until(t, idle+" && "+offered+" === 'genre rating0 rating1 rating2 rating3 rating4 rating5'")
	// What something is chosen of stays, found or not.
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=garden&narrow=open&filter="+url.QueryEscape("rating6 >= 3 AND genre = 'novel'")))
	p.until(t, offered+" === 'genre rating6' && document.querySelector('[aria-label=\"rating6 from\"]').value === '3'")
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=nowhere&narrow=open"))
	p.until(t, "document.querySelector('#status').textContent === 'No results' && "+offered+" === ''")
	p.clean(t)
}
