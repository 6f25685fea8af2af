package e2e

import (
	"encoding/json"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// TestPageTexts opens cards whose texts were not among the answer, of a document that changes
// meanwhile, and of one that is gone.
func TestPageTexts(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"))
	p.until(t, "document.querySelectorAll('.try').length > 0")
	p.js(t, `window.answers = []; window.answered = []; window.reads = 0; const plain = fetch; window.fetch = async (...a) => {
		if (String(a[0]).includes('/documents/')) reads++;
		const r = await plain(...a); if (String(a[0]).endsWith('/search')) { answers.push(await r.clone().json()); const asked = JSON.parse(a[1].body); if (asked.mode !== 'keyword') answered.push(asked.q); }
		return r; }`)
	ask := func(q string) {
		p.js(t, "document.querySelector('#q').value = '"+q+"'; document.querySelector('#q').dispatchEvent(new Event('input'))")
		// The last answers are those of the whole search and of its nearest sentences.
		p.until(t, "answered.filter((x) => x === '"+q+"').length > 1 && "+idle+" && document.querySelector('#results h2')?.textContent.startsWith('Fluffy')")
	}
	ask("flip pancakes")
	if got := eval[[]string](t, p, "answers.flatMap(a => a.hits).filter(h => h.document?.text).map(h => h.id)"); len(got) > 0 {
		t.Errorf("the answers bring the texts of %v", got)
	}
	p.js(t, "document.querySelector('#results [data-role=text]').click()")
	p.until(t, "document.querySelector('#results .full')?.textContent.startsWith('Whisk flour') === true && document.querySelector('#results .full').textContent.endsWith('lemon and sugar.')")
	p.until(t, "document.querySelector('#results .full .passage.best mark') !== null")
	p.looks(t, "texts")
	if n := eval[int](t, p, "reads"); n > 0 {
		t.Errorf("%d documents were read, which a key that only searches may not do", n)
	}

	put := search.Document{ID: "breakfast/pancakes.md", Fields: must(json.Marshal(map[string]any{"title": "Fluffy pancakes for breakfast", "text": "One flips pancakes quickly."}))}
	if _, err := engine.Ingest(t.Context(), "kitchen", []search.Document{put}); err != nil {
		t.Fatal(err)
	}
	ask("to flip pancakes")
	p.until(t, "document.querySelector('#results .full')?.textContent === 'One flips pancakes quickly.'")
	p.clean(t)

	p.js(t, "document.querySelector('#results [data-role=text]').click()")
	ask("how to flip pancakes")
	p.js(t, "document.querySelector('#results li').card.document = null")
	if _, err := engine.DeleteDocuments(t.Context(), "kitchen", []string{put.ID}); err != nil {
		t.Fatal(err)
	}
	p.js(t, "document.querySelector('#results [data-role=text]').click()")
	p.until(t, "document.querySelector('#results .text .failed') !== null")
	p.js(t, "document.querySelector('#results [data-role=text]').click(); document.querySelector('#results [data-role=text]').click()")
}
