package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// A long document is opened at the query's words: its snippet and its full text show them, wherever
// they stand.
func TestPageMarks(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if _, err := engine.CreateCollection(t.Context(), "notes", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 40 {
		if i == 3 {
			b.WriteString("## A walk\n\nSomebody saw a zeppelin over the river.\n\n")
		}
		if i == 30 {
			b.WriteString("## Spare parts\n\nScrews are in the tin. The washers came from a shop in Ghent. Nobody has asked for the ladder since spring, and it leans behind the door of the shed, where it keeps the draught out and does no harm to anybody, whatever the neighbours say of it when they come for their parcels on a Saturday. The gaskets lie beside the zeppelin.\n\n")
		}
		fmt.Fprintf(&b, "## Day %d\n\nThe airship of the museum was looked at again. A balloon flies because warm air is light, and an airship because its gas is. Visitor number %d asked how high it went.\n\n", i, i)
	}
	b.WriteString("## The end\n\nTwo zeppelins were drawn on the wall.")
	raw, err := json.Marshal(map[string]any{"title": "Notebook", "text": b.String()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Ingest(t.Context(), "notes", []search.Document{{ID: "notebook", Fields: raw}}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	inView := func(js string) string {
		return "(m => { const r = m.getBoundingClientRect(), b = m.closest('.full').getBoundingClientRect(); return r.top >= Math.max(0, b.top) && r.bottom <= Math.min(b.bottom, innerHeight); })(" + js + ")"
	}
	for _, width := range []int64{390, 1440} {
		p.look(t, width, 900, "light")
		p.do(t, chromedp.Navigate(base+"/?q=%22beside+the+zeppelin%22"))
		p.until(t, "document.querySelector('#results .snippet .near') !== null")
		if got := eval[[]string](t, p, "[...document.querySelectorAll('#results .snippet mark')].map(m => m.textContent)"); strings.Join(got, " ") != "beside zeppelin" {
			t.Errorf("%d: marked in the snippet: %q of %s", width, got, eval[string](t, p, "document.querySelector('#results .snippet').textContent"))
		}
		p.shoot(t, fmt.Sprint("marks-snippet-", width))
		p.js(t, "document.querySelector('#results article').focus()")
		p.key(t, "n")
		p.until(t, "document.querySelector('#results .full mark.at') !== null")
		if got := eval[[]string](t, p, "[...document.querySelectorAll('#results .full mark')].map(m => m.textContent)"); strings.Join(got, " ") != "zeppelin beside zeppelin zeppelins" {
			t.Errorf("%d: marked in the full text: %q", width, got)
		}
		if !eval[bool](t, p, inView("document.querySelector('#results .passage.best mark')")) || eval[string](t, p, "document.querySelector('#results .marks span').textContent") != "2 of 4" {
			t.Errorf("%d: the mark of the best passage is out of view", width)
		}
		p.shoot(t, fmt.Sprint("marks-open-", width))
		p.key(t, "n")
		p.until(t, "document.querySelector('#results .marks span').textContent === '3 of 4' && "+inView("document.querySelector('#results mark.at')"))
		p.shoot(t, fmt.Sprint("marks-next-", width))
		p.key(t, "N")
		p.until(t, "document.querySelector('#results .marks span').textContent === '2 of 4' && "+inView("document.querySelector('#results mark.at')"))
		p.js(t, "for (const _ of [1, 2]) document.querySelector('#results [data-role=mark]').click()")
		p.until(t, "document.querySelector('#results mark.at').textContent === 'zeppelins'")
		if wide := eval[int64](t, p, "document.documentElement.scrollWidth"); wide > width {
			t.Errorf("at %d pixels the page is %d wide", width, wide)
		}
	}
	p.clean(t)
}

// What is marked where the server's marks do not reach, and what of a passage is shown whose
// nearest sentence has no mark.
func TestPageExcerpts(t *testing.T) {
	longtest.Skip(t)
	p := open(t, serve(t, kitchen(t)))
	p.do(t, chromedp.Navigate(p.base+"/"))
	p.js(t, "import('/ui/text.js').then((m) => { window.texts = m; })")
	p.until(t, "window.texts !== undefined")
	for js, want := range map[string]string{
		"[...texts.markedWords({ explain: { keyword: { terms: [{ term: 'happi' }, { term: 'ox' }] } }, highlights: { text: ['the <mark>Oxen</mark>'] } }, 'Are happy oxen')].sort().join(' ')": "happy oxen",
		"[...texts.markedWords({ explain: { vector: {} } }, 'Are happy oxen')].join(' ')":                                                                                                      "",
		"texts.excerpt('Near it is. ' + 'More and more. '.repeat(20) + 'A gnu.', new Set(['gnu']), 80, { start: 0, end: 11 }).map((p) => p.text).join('')":                                     "Near it is. … More and more. More and more. A gnu.",
		"texts.excerpt('A gnu. ' + 'More and more. '.repeat(20) + 'Near it is.', new Set(['gnu']), 80, { start: 307, end: 318 }).map((p) => p.text).join('')":                                  "A gnu. More and more. More and more. … Near it is.",
		"texts.excerpt('Near it is. A gnu. ' + 'More and more. '.repeat(20), new Set(['gnu']), 80, { start: 0, end: 11 }).map((p) => p.text).join('').slice(0, 18)":                            "Near it is. A gnu.",
		"texts.excerpt('Near it is. ' + 'More and more. '.repeat(20), new Set(['gnu']), 40, { start: 0, end: 11 }).map((p) => p.text).join('').slice(0, 20)":                                   "Near it is. More and",
	} {
		if got := eval[string](t, p, js); got != want {
			t.Errorf("%s = %q, want %q", js, got, want)
		}
	}
	// A passage without a mark: the full text is opened at its first mark, but by meaning alone at
	// the passage.
	p.js(t, "import('/ui/hit.js').then((m) => { window.Card = m.Card; })")
	p.until(t, "window.Card !== undefined")
	p.js(t, `window.opened = async (explain) => {
		const text = 'Line.\n'.repeat(100) + 'A gnu.\n' + 'Line.\n'.repeat(100) + 'Best.';
		const card = new Card({ id: 'x', score: 1, document: { text }, passages: [{ field: 'text', start: text.length - 5, end: text.length, text: 'Best.' }], highlights: { text: ['A <mark>gnu</mark>.'] }, explain }, { query: () => 'gnu', whole: async () => ({ text }) });
		document.querySelector('#results').replaceChildren(card.root);
		card.toggleText();
		await card.filled;
		const box = card.root.querySelector('.full').getBoundingClientRect();
		return ['mark', '.best'].filter((s) => { const r = card.root.querySelector('.full ' + s).getBoundingClientRect(); return r.top >= box.top && r.bottom <= box.bottom; }).join(' ');
	}`)
	for explain, want := range map[string]string{"{ keyword: { terms: [] }, vector: {} }": "mark", "{ vector: {} }": ".best"} {
		p.js(t, "window.inView = undefined; opened("+explain+").then((s) => { window.inView = s; })")
		p.until(t, "window.inView !== undefined")
		if got := eval[string](t, p, "inView"); got != want {
			t.Errorf("opened with %s: in view is %q, want %q", explain, got, want)
		}
	}
	p.clean(t)
}
