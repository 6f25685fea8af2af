package e2e

import (
	"encoding/json"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageBoost raises what is newer and what has more, keeps that in the address, and says what it
// did.
func TestPageBoost(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	if _, err := engine.CreateCollection(t.Context(), "news", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	if err := json.Unmarshal([]byte(`[{"id":"old","fields":{"title":"Harbour strike","text":"The strike in the harbour goes on.","published":"2001-01-01","year":2001,"meta":{"readers":900}}},
		{"id":"new","fields":{"title":"Harbour strike","text":"The strike in the harbour goes on. Some other words.","published":"2100-01-01","year":2026,"meta":{"readers":3}}}]`), &docs); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Ingest(t.Context(), "news", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	first := func(id string) string {
		return idle + " && document.querySelector('#results .id').textContent === '" + id + "'"
	}
	choose := func(id, label string) {
		t.Helper()
		p.until(t, "[...document.querySelector('#"+id+"')?.options ?? []].some(o => o.textContent === '"+label+"')")
		p.js(t, "const s = document.querySelector('#"+id+"'); s.focus(); s.selectedIndex = [...s.options].findIndex(o => o.textContent === '"+label+"'); s.dispatchEvent(new Event('change', {bubbles: true}))")
	}
	p.do(t, chromedp.Navigate(base+"/?c=news&q=harbour+strike"))
	p.until(t, first("old"))
	p.js(t, "document.querySelector('#boostToggle').click()")
	p.until(t, "document.activeElement.id === 'boostField'")
	if got := eval[string](t, p, "[...document.querySelector('#boostField').options].map(o => o.textContent).join('|')"); got != "nothing|more meta.readers|newer by published|newer by year" {
		t.Errorf("offered: %s", got)
	}
	p.looks(t, "boost")
	choose("boostField", "newer by published")
	p.until(t, "location.search.includes('boost=0.3%2C52w%2Cnow%2Cpublished') && document.activeElement.id === 'boostField'")
	choose("boostScale", "ten years")
	choose("boostWeight", "strongly")
	p.until(t, "location.search.includes('boost=1%2C520w%2Cnow%2Cpublished')")
	choose("boostField", "newer by year")
	p.until(t, first("new"))
	p.js(t, "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }; document.querySelector('#curl').click()")
	p.until(t, `window.copied?.includes('"boosts":[{"field":"year","origin":') === true`)
	p.js(t, "document.querySelector('#results [data-role=why]').click()")
	p.until(t, `/Boosted: [01]\.\d+ × \(1 \+ 0\.30 × \d\.\d+ for year\) = \d\.\d+, rank 2 before/.test(document.querySelector('.why').innerText)`)
	p.do(t, chromedp.Reload())
	p.until(t, first("new")+" && document.querySelector('#boostScale')?.value === '5 years'")
	choose("boostField", "more meta.readers")
	p.until(t, first("old")+" && document.querySelector('#boostScale').value === '900'")
	p.js(t, "const a = document.querySelector('#alpha'); a.value = 0.9; a.dispatchEvent(new Event('input', {bubbles: true}))")
	p.until(t, first("old")+" && location.search.includes('alpha=0.9')")
	// A second one beside it: both are sent, kept and told, and either can be taken out again.
	if got := eval[string](t, p, "[...document.querySelector('#boostField1').options].map(o => o.textContent).join('|')"); got != "nothing|newer by published|newer by year" {
		t.Errorf("offered beside it: %s", got)
	}
	choose("boostField1", "newer by year")
	p.until(t, "new URLSearchParams(location.search).getAll('boost').length === 2 && document.activeElement.id === 'boostField1'")
	choose("boostWeight1", "strongly")
	p.do(t, chromedp.Reload())
	p.until(t, idle+" && document.querySelector('#boostField1')?.value === 'newer by year' && document.querySelector('#boostWeight1').value === 'strongly'")
	p.looks(t, "boosts")
	p.js(t, "document.querySelector('#results [data-role=why]').click()")
	p.until(t, `/ for meta\.readers \+ 1 × \d\.\d+ for year\) = /.test(document.querySelector('.why').innerText)`)
	choose("boostField", "nothing")
	p.until(t, "new URLSearchParams(location.search).getAll('boost').join('|').startsWith('1,5,') && document.querySelector('#boostField').value === 'newer by year' && document.querySelector('#boostWeight').value === 'strongly'")
	choose("boostField", "nothing")
	p.until(t, "!location.search.includes('boost')")
	// Without words there is nothing to raise, and nothing is refused.
	p.do(t, chromedp.Navigate(base+"/?c=news&filter=year+%3E+2000&boost=0.3,52w,now,published"))
	p.until(t, "document.querySelector('#status').textContent === '2 results'")
	p.do(t, chromedp.Navigate(base+"/?c=news&view=compare&q=harbour+strike&boost=5,5,2026,year"))
	p.until(t, "[...document.querySelectorAll('.column')].every(c => c.querySelector('article')?.dataset.id === 'new')")
	p.do(t, chromedp.Navigate(base+"/?c=kitchen&q=pan&boost=what"))
	p.until(t, idle)
	p.clean(t)
}
