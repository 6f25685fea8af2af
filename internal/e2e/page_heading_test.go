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

// TestPageHeadings heads the hits of documents that came without a title and an id by what they
// hold, in every view.
func TestPageHeadings(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "bank", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	id := func(n string) string { return strings.Repeat("3ecc796", 4) + "000" + n }
	docs := []search.Document{
		{ID: id("1"), Fields: []byte(`{"Betrag":"-84,00","Buchungstag":"03.01.2026","Empfänger":"Stadtwerke München","Verwendungszweck":"Abschlag Strom Januar"}`)},
		{ID: id("2"), Fields: []byte(`{"level":"warn","text":"The Strom of the pump went off at noon. ` + strings.Repeat("It was a long day for everybody in the garden. ", 30) + `"}`)},
		{ID: id("3"), Fields: []byte(`{"n":1,"nested":{"a":"Strom in a box"}}`)},
		{ID: "strom.md", Fields: []byte(`{"text":"Strom from the roof."}`)},
	}
	results, err := engine.Ingest(t.Context(), "bank", docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	base := serve(t, engine)
	p := open(t, base)
	const want = "Stadtwerke München · Abschlag Strom Januar | Strom from the roof. | Strom in a box | The Strom of the pump went off at noon. It was a long day for everybody in the …"
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=Strom"))
	p.until(t, idle+" && document.querySelectorAll('#results li').length === 4")
	if got := eval[string](t, p, "[...document.querySelectorAll('#results h2')].map(e => e.textContent).sort().join(' | ')"); got != want {
		t.Errorf("headings: %s", got)
	}
	if got := eval[string](t, p, "[...document.querySelectorAll('#results .hit')].map(e => e.querySelector('.id')?.textContent ?? '').sort().join(' ')"); got != id("1")+" "+id("2")+" "+id("3")+" strom.md" {
		t.Errorf("ids below the hits: %s", got)
	}
	if got := eval[string](t, p, "[...document.querySelectorAll('#results .hit')].find(e => e.innerText.includes('in a box')).innerText"); strings.Count(got, "Strom in a box") != 1 {
		t.Errorf("what the heading says is said again: %s", got)
	}
	p.looks(t, "headings")
	p.do(t, chromedp.Navigate(base+"/?view=compare&q=Strom"))
	p.until(t, "document.querySelectorAll('#view-compare article').length === 8")
	if got := eval[string](t, p, "[...document.querySelectorAll('#view-compare ol')[0].querySelectorAll('h3')].map(e => e.textContent).sort().join(' | ')"); got != want {
		t.Errorf("headings of one side: %s", got)
	}
	p.do(t, chromedp.Navigate(base+"/?view=map&q=Strom"))
	p.until(t, "document.querySelectorAll('.nearest button').length > 3")
	if got := eval[string](t, p, "[...document.querySelectorAll('.nearest button')].map(e => e.textContent).join(' | ')"); strings.Contains(got, "3ecc") || !strings.Contains(got, "Strom in a box") {
		t.Errorf("nearest on the map: %s", got)
	}
	p.clean(t)
}

// TestPageRow shows all values of a row as its full text: those that were found, then the others,
// of which more may be there than chips.
func TestPageRow(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	fields := map[string]any{"purpose": "Deposit for the electricity of January", "payee": "Works of the town", "amount": -84.5, "parts": []int{1, 2}}
	for i := range 12 {
		fields[fmt.Sprintf("column%02d", i)] = i
	}
	if _, err := engine.Ingest(t.Context(), "kitchen", []search.Document{{ID: "row", Fields: must(json.Marshal(fields))}}); err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, engine))
	p.do(t, chromedp.Navigate(p.base+"/?mode=keyword&q=electricity"))
	p.until(t, idle)
	p.js(t, "document.querySelector('#results [data-role=text]').click()")
	p.until(t, "document.querySelector('#results .text .full') !== null")
	got := eval[string](t, p, "document.querySelector('#results .text').innerText.replace(/\\s+/g, ' ')")
	if !strings.HasPrefix(got, "purpose Deposit for the electricity of January ") {
		t.Errorf("what was found does not come first: %s", got)
	}
	for _, want := range []string{"payee Works of the town", "amount -84.5", "parts [1,2]", "column11 11"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	p.looks(t, "row")
	p.clean(t)
}
