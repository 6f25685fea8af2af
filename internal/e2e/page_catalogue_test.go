package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageCatalogue clicks the values beside the results of a catalogue of 5,000 products, filtered
// and sorted: in each mode there are as many results behind each as it says. The values are there
// without a click where there is room.
func TestPageCatalogue(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	if _, err := engine.CreateCollection(t.Context(), "shop", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	things := []string{"running shoes", "leather boots", "wool socks", "rain jacket", "garden spade", "coffee grinder", "desk lamp", "mountain bicycle", "guitar strings", "baby blanket"}
	var docs []search.Document
	for i := range 5000 {
		thing, color, brand := things[i%10], []string{"red", "green", "blue", "black"}[i/3%4], []string{"Acme", "Bolt", "Corvid", "Dune", "Elm"}[i/7%5]
		docs = append(docs, search.Document{ID: fmt.Sprint("p", i), Fields: must(json.Marshal(map[string]any{
			"title": fmt.Sprintf("%s %s no. %d", brand, thing, i), "text": fmt.Sprintf("%s in %s, made by %s.", thing, color, brand), "color": color, "brand": brand, "price": i * 37 % 1000,
		}))})
	}
	for ; len(docs) > 0; docs = docs[500:] {
		if _, err := engine.Ingest(t.Context(), "shop", docs[:500]); err != nil {
			t.Fatal(err)
		}
	}
	base := serve(t, engine)
	p := open(t, base)
	for _, mode := range []string{"keyword", "semantic", "hybrid"} {
		p.do(t, chromedp.Navigate(base+"/?c=shop&q=shoes&sort=price:asc&mode="+mode+"&filter="+url.QueryEscape("price >= 250")))
		p.until(t, idle+" && document.querySelectorAll('.choice').length === 9")
		choices := eval[[][]string](t, p, "[...document.querySelectorAll('.choice')].map(b => [b.dataset.same, b.querySelector('.n').textContent])")
		status := "document.querySelector('#status').textContent"
		all := eval[string](t, p, status)
		for _, c := range choices {
			p.js(t, press("#facets", "b.dataset.same === "+string(must(json.Marshal(c[0])))))
			p.until(t, fmt.Sprintf("%s && document.querySelector('#facets [aria-pressed=true]') !== null && %s === '%s results'", idle, status, c[1]))
			p.do(t, chromedp.NavigateBack())
			p.until(t, fmt.Sprintf("%s && document.querySelector('#facets [aria-pressed=true]') === null && %s === '%s'", idle, status, all))
		}
	}
	toggle := "document.querySelector('#narrowToggle').click()"
	p.js(t, toggle)
	p.until(t, idle+" && document.querySelector('#facets').hidden && location.search.includes('narrow=closed')")
	p.do(t, chromedp.Reload())
	p.until(t, idle+" && document.querySelector('#facets').hidden")
	p.js(t, toggle)
	p.until(t, idle+" && document.querySelectorAll('.choice').length === 9 && location.search.includes('narrow=open')")
	p.clean(t)
}
