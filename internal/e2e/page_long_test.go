package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// What is longer than anybody meant it to be stays within its place: titles, words without a break,
// names and addresses.
func TestPageLongTexts(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	name := strings.Repeat("long-name-", 6) + "last"
	if _, err := engine.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	for id, fields := range map[string]map[string]any{
		strings.Repeat("folder/", 40) + "a.md": {"title": "A title that goes on " + strings.Repeat("and on ", 60), "text": strings.Repeat("Word ", 400) + "needle.", "url": "https://example.com/" + strings.Repeat("a", 300)},
		"unbroken":                             {"title": strings.Repeat("Donaudampfschifffahrt", 12), "text": strings.Repeat("x", 3000) + " needle", "tag": strings.Repeat("y", 60)},
		"rtl":                                  {"headline": "מסמך בעברית needle", "text": "טקסט ארוך needle בעברית"},
	} {
		raw, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, search.Document{ID: id, Fields: raw})
	}
	if _, err := engine.Ingest(t.Context(), name, docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	for view, ready := range map[string]string{
		"search": "document.querySelectorAll('#results li').length >= 2", "compare": "document.querySelectorAll('.column article').length >= 4",
		"map": "document.querySelectorAll('.nearest li').length > 2", "inside": "document.querySelectorAll('.head').length === 36", "collections": "document.querySelector('article.collection dl') !== null",
	} {
		p.do(t, chromedp.Navigate(base+"/?q=needle&view="+view))
		p.until(t, ready)
		if view == "search" || view == "compare" {
			p.until(t, "[...document.querySelectorAll('#view-"+view+" article :is(h2, h3)')].some(h => h.textContent === 'מסמך בעברית needle')")
		}
		if view == "search" {
			p.js(t, "for (const b of document.querySelectorAll('[data-role=text], [data-role=why]')) b.click()")
			p.until(t, "document.querySelectorAll('.why .evidence').length >= 2")
			if right := eval[string](t, p, "getComputedStyle([...document.querySelectorAll('.snippet')].find(s => s.textContent.includes('בעברית'))).direction"); right != "rtl" {
				t.Errorf("Hebrew is written %s", right)
			}
			p.js(t, "document.querySelector('#q').value = 'מסמך, בעברית.'")
			if right := eval[string](t, p, "getComputedStyle(document.querySelector('#q')).direction"); right != "rtl" {
				t.Errorf("Hebrew is typed %s", right)
			}
		}
		p.looks(t, "long-"+view)
		// Nothing sticks out of the page, nor a text out of its card.
		p.look(t, 390, 844, "light")
		if out := eval[[]string](t, p, "[...document.querySelectorAll('article *, .panel *, .part *, .controls *')].filter(e => !e.closest('.scroll, svg, .hidden') && e.getClientRects().length && e.getBoundingClientRect().right > 391).map(e => e.tagName + '.' + e.className)"); len(out) > 0 {
			t.Errorf("%s: at 390 pixels these stick out: %v", view, out)
		}
		p.look(t, 1440, 1000, "light")
	}
	p.clean(t)
}

// TestPageAside finds words in fields that have no passages: a short one shows its mark in its
// chip, a long one a line of its own.
func TestPageAside(t *testing.T) {
	longtest.Skip(t)
	e := kitchen(t)
	long := strings.Repeat("nothing of note, ", 8) + "but the stepladder is back."
	put := search.Document{ID: "zara", Fields: must(json.Marshal(map[string]any{"title": "Zara", "lent": "a stepladder", "remark": long}))}
	if _, err := e.Ingest(t.Context(), "kitchen", []search.Document{put}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, e)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=stepladder"))
	p.until(t, idle+" && document.querySelectorAll('#results li').length === 1")
	if got := eval[[]string](t, p, "[...document.querySelectorAll('#results mark')].map(m => m.parentElement.closest('.chip, .snippet').innerText)"); len(got) != 2 ||
		!strings.HasPrefix(got[0], "remark") || !strings.HasSuffix(got[0], "the stepladder is back.") || got[1] != "lenta stepladder" {
		t.Errorf("marks are in %q", got)
	}
	p.looks(t, "aside")
	p.clean(t)
}

// TestPageManyFields has more fields than a hit has chips: those with words of the query are shown,
// and the tags.
func TestPageManyFields(t *testing.T) {
	longtest.Skip(t)
	e := kitchen(t)
	fields := map[string]any{"title": "Zara", "text": "Zara is out.", "tags": []string{"people", "climbing"}, "status": "stepladder"}
	for _, name := range strings.Fields("a b c d e f g h i j") {
		fields[name] = 1
	}
	if _, err := e.Ingest(t.Context(), "kitchen", []search.Document{{ID: "zara", Fields: must(json.Marshal(fields))}}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, e)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=stepladder"))
	p.until(t, idle+" && document.querySelectorAll('#results li').length === 1")
	const want = "statusstepladder|tagspeople|tagsclimbing|a1|b1|c1"
	if got := eval[string](t, p, "[...document.querySelectorAll('#results .chip')].map(e => e.textContent).join('|')"); got != want {
		t.Errorf("chips %s, want %s", got, want)
	}
	p.clean(t)
}
