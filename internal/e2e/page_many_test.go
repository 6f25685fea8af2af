package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/keyword/analysis"
	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageMany pages to the last hit that the page shows, and tells points in time apart by the
// day.
func TestPageMany(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "many", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	for i := range 203 {
		docs = append(docs, search.Document{ID: fmt.Sprint("n", i), Fields: must(json.Marshal(map[string]any{"n": i}))})
	}
	for i := range 6 {
		fields := map[string]any{"text": fmt.Sprintf("Note %d.", i), "modified": fmt.Sprintf("2026-03-%02dT10:00:%02dZ", i/2+1, i/2)}
		docs = append(docs, search.Document{ID: fmt.Sprint("d", i), Fields: must(json.Marshal(fields))})
	}
	if _, err := engine.Ingest(t.Context(), "many", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	page := func(filter string, most int) {
		p.do(t, chromedp.Navigate(base+"/?filter="+filter))
		for n := 10; n <= most; n += 10 {
			p.until(t, fmt.Sprintf("document.querySelectorAll('#results li').length === %d && !document.querySelector('#more').disabled", n))
			p.js(t, "if (!document.querySelector('#more').hidden) document.querySelector('#more').click()")
		}
	}
	page("n%20%3E%3D%200", 200)
	p.until(t, "!document.querySelector('#end').hidden && document.querySelector('#end').textContent.startsWith('The page shows the first 200.') && document.querySelector('#more').hidden")
	p.js(t, "document.querySelector('#end').scrollIntoView()")
	p.shoot(t, "end-1440-light")
	page("n%20%3C%20200", 200)
	if end := eval[string](t, p, "document.querySelector('#end').textContent"); end != "" {
		t.Errorf("after all hits: %q", end)
	}

	p.do(t, chromedp.Navigate(base+"/?view=map&color=modified"))
	p.until(t, "document.querySelectorAll('.legend li').length === 3 && document.querySelector('.legend li').textContent === '2026-03-01 2'")
	p.shoot(t, "days-1440-light")
	p.clean(t)
}

// TestPageParts holds parts of the page to what they stand for.
func TestPageParts(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"))
	p.until(t, "document.querySelectorAll('.try').length > 0")
	p.js(t, "Promise.all(['filter', 'hit', 'why'].map((m) => import('/ui/' + m + '.js'))).then((all) => { window.parts = Object.assign({}, ...all); })")
	p.until(t, "window.parts !== undefined")
	for _, tt := range [][3]string{
		{"", "x = 1", "x = 1"},
		{"a = 1", "x = 1", "a = 1 AND x = 1"},
		{"a = 1 and x = 1 AND b = 2", "x = 1", "a = 1 and x = 1 AND b = 2"},
		{"a=1 OR(b=2)", "x = 1", "(a=1 OR(b=2)) AND x = 1"},
		{"a='b'or\tc=2", "x = 1", "(a='b'or\tc=2) AND x = 1"},
		{"a = 1 OR b = 2 AND x = 1", "x = 1", "(a = 1 OR b = 2 AND x = 1) AND x = 1"},
		{"NOT (a = 1 AND x = 1 AND b = 2)", "x = 1", "NOT (a = 1 AND x = 1 AND b = 2) AND x = 1"},
		{"(a = 1 OR b = 2) AND c = 3", "x = 1", "(a = 1 OR b = 2) AND c = 3 AND x = 1"},
		{"a = 'it''s this or that' AND color = ')'", "x = 1", "a = 'it''s this or that' AND color = ')' AND x = 1"},
		{"`x or y` = 1 AND a.or = 2", "x = 1", "`x or y` = 1 AND a.or = 2 AND x = 1"},
		{"a = 'b AND c'", "a = 'b AND c'", "a = 'b AND c'"},
	} {
		if got := eval[string](t, p, fmt.Sprintf("parts.narrowed(%q, %q)", tt[0], tt[1])); got != tt[2] {
			t.Errorf("%s with %s is %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
	for hit, want := range map[string]string{
		"score: 0.8, explain: { keyword: { rank: 3, score: 2, norm: 0.1 }, vector: { rank: 1, cosine: 0.5, norm: 0.4 }, fusion: { method: 'relative', alpha: 0.5 } }": "0.80",
		"score: 2 / 61, explain: { keyword: { rank: 1, score: 2, norm: 0.1 }, vector: { rank: 1, cosine: 0.5, norm: 0.4 }, fusion: { method: 'rrf', alpha: 0.5 } }":   "1.00",
		"score: 7.16, explain: { keyword: { rank: 1, score: 7.16, norm: 0.6 } }":                                                                                      "0.60",
	} {
		js := "new parts.Card({ id: 'x', document: {}, " + hit + " }, { query: () => 'x' }).root.querySelector('.score .value').lastChild.textContent"
		if got := eval[string](t, p, js); got != want {
			t.Errorf("%s shows %q, want %q", hit, got, want)
		}
	}
	for explain, want := range map[string]string{
		"keyword: { rank: 0, score: 2, norm: 0.2 }, vector: { rank: 1, cosine: 0.5, norm: 0.5 }": "BM25 2, not among its first 200; cosine 0.50, rank 1",
		"keyword: { rank: 0, score: 0, norm: 0 }, vector: { rank: 0, cosine: -0.1, norm: 0 }":    "BM25 0; cosine -0.10",
	} {
		js := "parts.explanation({ score: 1, explain: { " + explain + ", fusion: { method: 'relative', window: 200, alpha: 0.5 } } }, 0.5).flatMap((e) => [...e.querySelectorAll('.facts')]).map((e) => e.textContent).join('; ')"
		if got := eval[string](t, p, js); got != want {
			t.Errorf("%s is explained as %q, want %q", explain, got, want)
		}
	}
	p.js(t, "document.querySelector('[data-view=collections]').click()")
	p.until(t, "document.querySelector('#newLanguage') !== null")
	got := eval[[]string](t, p, "[...document.querySelector('#newLanguage').options].map((o) => o.value)")
	if slices.Sort(got); !slices.Equal(got, append([]string{""}, analysis.Languages()...)) {
		t.Errorf("languages %v, want %v", got, analysis.Languages())
	}
	if names := eval[string](t, p, "document.querySelector('#newLanguage').textContent"); !strings.Contains(names, "German") || eval[string](t, p, "document.querySelector('#newLanguage').value") != "" {
		t.Errorf("languages are %s", names)
	}
	if names := eval[[]string](t, p, "[...document.querySelector('#newLanguage').options].slice(1, -1).map((o) => o.textContent)"); !slices.IsSorted(names) {
		t.Errorf("languages in no order: %s", names)
	}
	p.clean(t)
}
