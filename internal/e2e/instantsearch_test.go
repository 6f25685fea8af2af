package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/searchd/api"
	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"
)

// good is a document of the shop.
type good struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
	Brand string `json:"brand"`
	Price int    `json:"price"`
}

// goods are 60 documents: 20 kettles, 20 lamps and 20 chairs of four brands.
func goods() (out []good) {
	for i := range 60 {
		out = append(out, good{
			ID: i, Title: []string{"Steel kettle", "Reading lamp", "Wooden chair"}[i%3] + fmt.Sprintf(" of series %d", i),
			Brand: []string{"Acme", "Borealis", "Corvus", "Dunmore"}[i*i%7%4], Price: 5 + i*13%50,
		})
	}
	return out
}

// count returns how many goods there are of each brand, and of all of them, that have a word in
// their title and one of some brands.
func count(word string, brands ...string) (byBrand map[string]int, total int) {
	byBrand = map[string]int{}
	for _, g := range goods() {
		if !strings.Contains(g.Title, word) {
			continue
		}
		byBrand[g.Brand]++
		if len(brands) == 0 || strings.Contains(strings.Join(brands, " "), g.Brand) {
			total++
		}
	}
	return byBrand, total
}

// TestInstantSearch runs InstantSearch.js and @meilisearch/instant-meilisearch as npm has them in a
// browser, on a page of another origin: typing, facets, pages, sorting and highlights, with the
// counts of the documents. INSTANTSEARCH names the folder node_modules that has both.
func TestInstantSearch(t *testing.T) {
	longtest.Skip(t)
	modules := os.Getenv("INSTANTSEARCH")
	if modules == "" {
		if os.Getenv("NPM_REQUIRE") != "" {
			t.Fatal("INSTANTSEARCH does not name a folder")
		}
		t.Skip("INSTANTSEARCH does not name a folder; .ci/run fetches one")
	}
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	pages := http.NewServeMux()
	pages.Handle("/", http.FileServer(http.Dir("testdata/instantsearch")))
	pages.Handle("/npm/", http.StripPrefix("/npm", http.FileServer(http.Dir(modules))))
	pages.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	shop := httptest.NewServer(pages)
	defer shop.Close()
	base := serveWith(t, engine, api.Options{Meilisearch: engine.Vault(), CORSOrigins: []string{shop.URL}})
	body, err := json.Marshal(goods())
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(base+"/indexes/goods/documents?primaryKey=id", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusAccepted {
		t.Fatalf("documents: %s", res.Status)
	}

	p := open(t, shop.URL)
	p.do(t, chromedp.Navigate(shop.URL+"/?host="+url.QueryEscape(base)))
	stats := func(want int) {
		t.Helper()
		p.until(t, fmt.Sprintf("document.querySelector('#stats').innerText.trim() === '%d' && search.status === 'idle'", want))
	}
	facets := func(want map[string]int) {
		t.Helper()
		got := eval[map[string]int](t, p, `Object.fromEntries([...document.querySelectorAll('#brands li')].map(li =>
			[li.querySelector('.ais-RefinementList-labelText').innerText, Number(li.querySelector('.ais-RefinementList-count').innerText)]))`)
		if !maps.Equal(got, want) {
			t.Errorf("counts of brands %v, want %v", got, want)
		}
	}
	ids := func() []string {
		t.Helper()
		return eval[[]string](t, p, "[...document.querySelectorAll('#hits [data-id]')].map(e => e.dataset.id)")
	}

	all, total := count("")
	stats(total)
	facets(all)

	kettles, total := count("kettle")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#box input"), "kettle"))
	stats(total)
	facets(kettles)
	if marked := eval[[]string](t, p, "[...document.querySelectorAll('#hits p')].map(e => e.querySelector('mark')?.innerText)"); strings.Join(marked, " ") != "kettle kettle kettle kettle kettle" {
		t.Errorf("marked %q, want kettle in five hits", marked)
	}

	_, total = count("kettle", "Acme")
	p.do(t, chromedp.Click(chromedp.CSS("#brands input[value=Acme]")))
	stats(total)
	facets(kettles) // a brand that is not chosen shows what it would add
	_, total = count("kettle", "Acme", "Corvus")
	p.do(t, chromedp.Click(chromedp.CSS("#brands input[value=Corvus]")))
	stats(total)

	seen := map[string]bool{}
	for page := 1; ; page++ {
		p.until(t, fmt.Sprintf("document.querySelector('.ais-Pagination-item--selected').innerText === '%d' && search.status === 'idle' && search.helper.lastResults.page === %d", page, page-1))
		for _, id := range ids() {
			if n, err := strconv.Atoi(id); err != nil || !strings.Contains(goods()[n].Title, "kettle") || !strings.Contains("Acme Corvus", goods()[n].Brand) || seen[id] {
				t.Errorf("page %d has %s, which is not asked for or was on a page before", page, id)
			}
			seen[id] = true
		}
		if eval[bool](t, p, "document.querySelector('.ais-Pagination-item--nextPage').classList.contains('ais-Pagination-item--disabled')") {
			break
		}
		p.do(t, chromedp.Click(chromedp.CSS(".ais-Pagination-item--nextPage a")))
	}
	if len(seen) != total {
		t.Errorf("%d hits on all pages, want %d", len(seen), total)
	}

	p.js(t, "const s = document.querySelector('#sort select'); s.value = 'goods:price:asc'; s.dispatchEvent(new Event('change', {bubbles: true}))")
	p.until(t, "search.helper.state.index === 'goods:price:asc' && search.helper.lastResults._state.index === 'goods:price:asc' && search.status === 'idle' && document.querySelector('.ais-Pagination-item--selected').innerText === '1'")
	prices := eval[[]int](t, p, "[...document.querySelectorAll('#hits [data-price]')].map(e => Number(e.dataset.price))")
	cheapest := 1000
	for _, g := range goods() {
		if strings.Contains(g.Title, "kettle") && strings.Contains("Acme Corvus", g.Brand) {
			cheapest = min(cheapest, g.Price)
		}
	}
	for i, price := range prices {
		if i == 0 && price != cheapest || i > 0 && price < prices[i-1] {
			t.Errorf("prices %v, want the cheapest first, %d", prices, cheapest)
		}
	}

	cheap := 0
	for _, g := range goods() {
		if strings.Contains(g.Title, "kettle") && strings.Contains("Acme Corvus", g.Brand) && g.Price <= 20 {
			cheap++
		}
	}
	p.do(t, chromedp.Click(chromedp.CSS("#prices li:nth-child(2) input")))
	stats(cheap)

	p.js(t, "search.helper.setQuery('xqzzyvw').search()")
	p.until(t, "document.querySelector('#hits').innerText.includes('nothing')")

	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		if !strings.HasPrefix(problem, "request to "+base+"/") {
			t.Error(problem)
		}
	}
}
