package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"example.com/searchd/index/filter"
	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"pgregory.net/rapid"
)

// TestPageChoices narrows by several values of a field and by where numbers and dates begin and
// end.
func TestPageChoices(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	matches := func(n int, filter string) string {
		return idle + fmt.Sprintf(" && document.querySelector('#status').textContent.startsWith('%d result')", n) + " && (new URLSearchParams(location.search).get('filter') ?? '') === " + string(must(json.Marshal(filter)))
	}
	counts := func(field string) string {
		return eval[string](t, p, "[...document.querySelectorAll('.choice')].filter(b => b.dataset.field === '"+field+"').map(b => b.innerText.replace(/\\s+/g, ' ')).sort().join(', ')")
	}
	set := func(field, end, value string) {
		t.Helper()
		p.js(t, "const i = document.querySelector('[aria-label=\""+field+" "+end+"\"]'); i.focus(); i.value = '"+value+"'; i.dispatchEvent(new Event('change'))")
	}

	t.Run("one value or another of a field, and one of another field", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing&narrow=open"))
		p.until(t, "document.querySelectorAll('.choice').length > 0 && "+matches(60, ""))
		p.js(t, press("#facets", "b.dataset.same === 'stars = 1'"))
		p.until(t, matches(12, "stars = 1"))
		p.js(t, press("#facets", "b.dataset.same === 'stars = 3'"))
		p.until(t, matches(24, "stars IN [1, 3]"))
		if got := counts("stars"); got != "0 12, 1 12, 2 12, 3 12, 4 12" {
			t.Errorf("the counts of a field without what is chosen of it: %s", got)
		}
		if got := counts("maker.name"); got != "Acme 12, Bolt 12" {
			t.Errorf("the counts of another field: %s", got)
		}
		p.js(t, press("#facets", "b.dataset.same.includes('Acme')"))
		p.until(t, matches(12, "stars IN [1, 3] AND maker.name = 'Acme'"))
		if stars, makers := counts("stars"), counts("maker.name"); stars != "0 6, 1 6, 2 6, 3 6, 4 6" || makers != "Acme 12, Bolt 12" {
			t.Errorf("counts: %s; %s", stars, makers)
		}
		if got := eval[string](t, p, "document.querySelector('#chosen').innerText.replace(/\\s+/g, ' ')"); got != "stars 1 × or stars 3 × maker.name Acme ×" {
			t.Errorf("chips: %s", got)
		}
		p.looks(t, "choices")
		p.do(t, chromedp.Reload())
		p.until(t, matches(12, "stars IN [1, 3] AND maker.name = 'Acme'")+" && document.querySelectorAll('#facets [aria-pressed=true]').length === 3")
		p.js(t, press("#chosen", "b.title === 'Search without stars = 1'"))
		p.until(t, matches(6, "stars = 3 AND maker.name = 'Acme'"))
		p.do(t, chromedp.NavigateBack())
		p.until(t, matches(12, "stars IN [1, 3] AND maker.name = 'Acme'"))
	})
	t.Run("from and to", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing&narrow=open"))
		p.until(t, "document.querySelectorAll('.choice').length > 0 && "+matches(60, ""))
		set("price", "from", "10")
		p.until(t, matches(50, "price >= 10"))
		set("price", "to", "19.5")
		p.until(t, matches(10, "price >= 10 AND price <= 19.5"))
		set("added", "to", "2026-01-15") // that day too
		p.until(t, matches(5, "price >= 10 AND price <= 19.5 AND added < '2026-01-16'"))
		if got := eval[string](t, p, "document.querySelector('#chosen').innerText.replace(/\\s+/g, ' ') + document.querySelector('#filterRow').hidden"); got != "price from 10 × price to 19.5 × added to 2026-01-15 ×true" {
			t.Errorf("chips, and whether the text of the filter is left out: %s", got)
		}
		p.do(t, chromedp.Reload())
		p.until(t, matches(5, "price >= 10 AND price <= 19.5 AND added < '2026-01-16'")+" && document.querySelector('[aria-label=\"added to\"]')?.value === '2026-01-15' && document.querySelector('[aria-label=\"price from\"]').value === '10'")
		set("added", "to", "0202-01-15") // the last digit of the year is to come
		set("price", "to", "")
		p.until(t, matches(24, "price >= 10 AND added < '2026-01-16'"))
		p.js(t, press("#chosen", "b.textContent.startsWith('price')"))
		p.until(t, matches(34, "added < '2026-01-16'")+" && document.querySelector('[aria-label=\"price from\"]').value === ''")
	})
	t.Run("by keys, while counts come", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing&narrow=open"))
		p.until(t, "document.querySelectorAll('.choice').length > 0 && "+matches(60, ""))
		p.js(t, "document.querySelector('[aria-label=\"price from\"]').focus()")
		p.do(t, chromedp.KeyEvent("3"))
		p.js(t, press("#facets", "b.dataset.same === 'stars = 1'"))
		p.until(t, matches(12, "stars = 1"))
		p.do(t, chromedp.KeyEvent("0"), chromedp.KeyEvent(kb.Enter))
		p.until(t, matches(6, "stars = 1 AND price >= 30")+" && document.activeElement.ariaLabel === 'price from'")
	})
	p.clean(t)
}

// TestPageWide shows more values of a field and more fields when somebody asks for them, and fields
// that few documents have.
func TestPageWide(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "wide", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	for i := range 400 {
		fields := map[string]any{"text": fmt.Sprintf("A thing, the %d.", i), "town": fmt.Sprintf("town %02d", i%25)}
		for k := range 9 {
			fields[fmt.Sprintf("kind%d", k)] = fmt.Sprintf("k%d", (i+k)%3)
		}
		if i >= 200 {
			fields["late"] = []string{"yes", "no"}[i%2]
		}
		if i == 60 { // between those that are looked at
			fields["text"], fields["weight"] = "The one platypus.", 7.5
		}
		docs = append(docs, search.Document{ID: fmt.Sprint("d", i), Fields: must(json.Marshal(fields))})
	}
	for len(docs) > 0 {
		if _, err := engine.Ingest(t.Context(), "wide", docs[:100]); err != nil {
			t.Fatal(err)
		}
		docs = docs[100:]
	}
	base := serve(t, engine)
	p := open(t, base)
	offered := "[...document.querySelectorAll('.facet h2')].map(e => e.textContent).join(' ')"
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=thing&narrow=open"))
	p.until(t, offered+" === 'kind0 kind1 kind2 kind3 kind4 kind5'")
	p.js(t, "const b = [...document.querySelectorAll('#facets .link')].at(-1); b.focus(); b.click()")
	p.until(t, offered+" === 'kind0 kind1 kind2 kind3 kind4 kind5 kind6 kind7 kind8 town late' && document.querySelector('#facets').contains(document.activeElement)")
	p.js(t, "const b = document.querySelector('[data-more=town]'); b.focus(); b.click()")
	p.until(t, "[...document.querySelectorAll('.choice')].filter(b => b.dataset.field === 'town').length === 25 && document.activeElement.dataset.same === \"town = 'town 11'\"") // the tenth has a thing less, and is the last
	if got := eval[bool](t, p, "[...document.querySelectorAll('#order option')].some(o => o.value.startsWith('weight'))"); got {
		t.Error("a field is offered that no document has that was looked at; the next step proves nothing")
	}
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=platypus"))
	p.until(t, idle+" && [...document.querySelectorAll('#order option')].some(o => o.value === 'weight:desc')")
	p.clean(t)
}

// TestPageFilterText holds what the page makes of filters to what the filter means: pressing values
// and ends in any order passes the documents that have one of the values of each field and lie
// between its ends.
func TestPageFilterText(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, stock(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"))
	p.js(t, "import('./ui/filter.js').then((m) => { window.f = m; })")
	p.until(t, "'f' in window")
	fields := []string{"kind", "in", "a b", "größe", "x.y"}
	values := []any{"", "it's", "a AND b = 'c'", "x, ']' OR (", `"q"`, 1.0, -2.5, 1e21, true}
	days := []string{"2025-12-31", "2026-02-28", "2026-03-01"}
	rapid.Check(t, func(r *rapid.T) {
		chosen := map[string]map[int]bool{}
		ends := map[string]string{}
		text := rapid.SampledFrom([]string{"", "z = 1 OR z = 2", "n > 3"}).Draw(r, "begin")
		begin := text
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			if rapid.Bool().Draw(r, "value") {
				field, i := rapid.SampledFrom(fields).Draw(r, "field"), rapid.IntRange(0, len(values)-1).Draw(r, "i")
				text = eval[string](t, p, fmt.Sprintf("f.toggled(%s, %s, f.literal(%s))", must(json.Marshal(text)), must(json.Marshal(field)), must(json.Marshal(values[i]))))
				if chosen[field] == nil {
					chosen[field] = map[int]bool{}
				}
				if chosen[field][i] = !chosen[field][i]; !chosen[field][i] {
					delete(chosen[field], i)
				}
				continue
			}
			end := rapid.SampledFrom([]string{"from", "to"}).Draw(r, "end")
			day := rapid.SampledFrom(append(days, "")).Draw(r, "day")
			text = eval[string](t, p, fmt.Sprintf("f.ended(%s, 'day', '%s', '%s')", must(json.Marshal(text)), end, day))
			ends[end] = day
		}
		match := func(map[string]any) bool { return true }
		if text != "" {
			expr, err := filter.Parse(text)
			if err != nil {
				r.Fatalf("%s: %v", text, err)
			}
			match = expr.Match
		}
		for range 10 {
			doc := map[string]any{"z": 1.0, "n": 4.0}
			want := true
			for _, field := range fields {
				i := rapid.IntRange(0, len(values)-1).Draw(r, "has")
				doc[field] = values[i]
				want = want && (len(chosen[field]) == 0 || chosen[field][i])
			}
			day := rapid.SampledFrom(days).Draw(r, "at")
			doc["day"] = day + rapid.SampledFrom([]string{"", "T23:59:59Z"}).Draw(r, "time")
			want = want && (ends["from"] == "" || day >= ends["from"]) && (ends["to"] == "" || day <= ends["to"])
			if got := match(doc); got != want {
				r.Fatalf("%s of %v: %v, want %v", text, doc, got, want)
			}
		}
		if plain := eval[bool](t, p, fmt.Sprintf("f.plain(%s)", must(json.Marshal(text)))); plain != (begin == "") {
			r.Fatalf("%s: chips say all of it: %v", text, plain)
		}
	})
	for text, want := range map[string]string{
		`lang in ("a", 'it''s')`: `lang: 'a' 'it''s'`, "`a b` = TRUE": "a b: true", "n >= -1e3 AND n <= .5": "n from -1e3, n to .5", "n < 3 AND m > 2": "", "NOT a = 1": "",
		"d >= '2026-02-28' AND d < '2026-03-01'": "d from 2026-02-28, d to 2026-02-28", "d < '2026-99-01'": "", "d < '2026-01-01T00:00:00Z'": "", "a = 1 OR b = 2": "", "lang NOT IN ['a']": "",
	} {
		got := eval[string](t, p, fmt.Sprintf("f.choices(%s).map(c => c.values ? `${c.field}: ${c.values.join(' ')}` : `${c.field} ${c.end} ${c.at}`).join(', ')", must(json.Marshal(text))))
		if got != want {
			t.Errorf("the choices of %s are %s, want %s", text, got, want)
		}
	}
	if long := eval[float64](t, p, "(() => { const t = performance.now(); f.choices(`a IN ['${\"x', '\".repeat(4000)}' b`); f.choices('`a` = ' + \"'\".repeat(20001)); return performance.now() - t; })()"); long > 2000 {
		t.Errorf("a long filter that is none takes %.0f ms", long)
	}
	p.do(t, chromedp.Navigate(base+"/?c=stock&mode=keyword&q=thing&filter="+url.QueryEscape(strings.Repeat("stars IN [1, 3] AND ", 40)+"stars = 1")))
	p.until(t, idle+" && document.querySelectorAll('#chosen li').length === 41")
	p.clean(t)
}
