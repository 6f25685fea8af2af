package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// looks takes pictures of a view at both sizes in both colours, and wants it to fit into the narrow
// one.
func (p *page) looks(t *testing.T, name string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.look(t, 390, 844, scheme)
		p.shoot(t, name+"-390-"+scheme)
		if wide := eval[int](t, p, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("%s: at 390 pixels the page is %d wide", name, wide)
		}
		p.look(t, 1440, 900, scheme)
		p.shoot(t, name+"-1440-"+scheme)
	}
	p.look(t, 1440, 1000, "light")
}

func TestPageInside(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=how+to+flip+pancakes"))
	p.until(t, idle)
	p.do(t, chromedp.KeyEvent(kb.ArrowDown))
	p.key(t, "w")
	p.until(t, "document.querySelector('#results .why .nearness .facts') !== null")
	shown := eval[string](t, p, "document.querySelector('#results .why .evidence .meaning + dd .facts').textContent")
	p.key(t, "i")
	p.until(t, "location.search.includes('view=inside') && document.querySelectorAll('.line').length === 6 && document.querySelectorAll('.head').length === 36")

	t.Run("the shares sum to the cosine of the hit", func(t *testing.T) {
		cosine := eval[string](t, p, "document.querySelector('#insideCosine').textContent")
		var inside, beside float64 // of three digits, and of two
		if n, _ := fmt.Sscanf(cosine+" "+shown, "%f cosine %f", &inside, &beside); n != 2 || math.Abs(inside-beside) > 0.0056 {
			t.Errorf("cosine %s inside, %q beside the hit", cosine, shown)
		}
		sums := eval[[]float64](t, p, "[...document.querySelectorAll('[data-sum]')].map(e => Number(e.dataset.sum)).concat(Number("+cosine+"))")
		if len(sums) != 3 || math.Abs(sums[0]-sums[2]) > 6e-4 || math.Abs(sums[1]-sums[2]) > 6e-4 {
			t.Errorf("shares of query and text sum to %v, the last being the cosine", sums)
		}
		strongest := "[...document.querySelectorAll('.part .shares')].map(p => [...p.querySelectorAll('.share')].sort((a, b) => parseInt(b.style.getPropertyValue('--strength')) - parseInt(a.style.getPropertyValue('--strength')))[0].textContent)"
		for i, word := range eval[[]string](t, p, strongest) {
			if !strings.Contains("flip pancakes pancake", word) {
				t.Errorf("text %d: the strongest token is %q", i, word)
			}
		}
	})
	t.Run("the last point of the line is the cosine", func(t *testing.T) {
		last := eval[float64](t, p, "Number(document.querySelector('.layers tr.main td:last-child').textContent)")
		cosine := eval[float64](t, p, "Number(document.querySelector('#insideCosine').textContent)")
		if n := eval[int](t, p, "document.querySelectorAll('.layers tr.main td').length"); n != 4 || math.Abs(last-cosine) > 1.1e-3 {
			t.Errorf("%d points, the last %v, cosine %v", n, last, cosine)
		}
	})
	t.Run("a head, by keys", func(t *testing.T) {
		p.js(t, "document.querySelector('[data-layer=\"1\"][data-head=\"2\"]').click()")
		p.until(t, "document.querySelector('.head[aria-pressed=true]').dataset.head === '2' && location.search.includes('layer=1')")
		p.do(t, chromedp.Focus(chromedp.CSS(".heat")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		p.until(t, "document.querySelector('.says strong')?.textContent.startsWith('[CLS] → how 0.')")
		p.js(t, "document.querySelector('input[name=side][value=text]').click()")
		p.until(t, "document.querySelectorAll('.head').length === 36 && !document.querySelector('.says strong')")
	})
	t.Run("a narrower box before the picture is drawn again", func(t *testing.T) {
		over := eval[int](t, p, "(() => { const b = document.querySelector('.heatbox'); b.style.width = '200px'; const o = b.scrollWidth - b.clientWidth; b.style.width = ''; return o; })()")
		if over > 0 {
			t.Errorf("the picture stands out of its box by %d pixels", over)
		}
	})
	p.looks(t, "inside")
	t.Run("a text of one's own", func(t *testing.T) {
		p.js(t, "{ const a = document.querySelector('#insideText'); a.value = 'how to flip pancakes'; a.dispatchEvent(new Event('input', {bubbles: true})); }")
		p.until(t, "document.querySelector('#insideCosine').textContent === '1.000' && location.search.includes('text=how+to+flip+pancakes')")
		p.do(t, chromedp.Reload())
		p.until(t, "document.querySelector('#insideCosine')?.textContent === '1.000'")
		p.js(t, "{ const a = document.querySelector('#q'); a.value = ''; a.dispatchEvent(new Event('input', {bubbles: true})); }")
		p.until(t, "document.querySelector('#view-inside').innerText.includes('Type a query above')")
	})
	p.clean(t)
}

func TestPageCompare(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=compare&q=batter+flip&a=keyword&b=semantic"))
	p.until(t, "document.querySelectorAll('.side:last-child .column article').length === 6")

	t.Run("ranks as they moved", func(t *testing.T) {
		columns := eval[[][]string](t, p, "[...document.querySelectorAll('.column')].map(c => [...c.querySelectorAll('article')].map(a => a.dataset.id))")
		marks := eval[[][]string](t, p, "[...document.querySelectorAll('.column')].map(c => [...c.querySelectorAll('article')].map(a => a.querySelector('.moved').title))")
		for side, ids := range columns {
			other, name := columns[1-side], string(rune('B'-side))
			for i, id := range ids {
				want := "Not among the first 50 of " + name
				for j, o := range other {
					if o == id && i == j {
						want = "The same rank in " + name
					} else if o == id {
						want = "Rank " + string(rune('1'+j)) + " in " + name
					}
				}
				if marks[side][i] != want {
					t.Errorf("column %d, hit %d: %q, want %q; columns %v", side, i, marks[side][i], want, columns)
				}
			}
		}
		if strings.Join(columns[0], " ") == strings.Join(columns[1], " ") {
			t.Errorf("both columns are %v: nothing has moved", columns[0])
		}
	})
	p.looks(t, "compare")
	t.Run("the same settings on both sides", func(t *testing.T) {
		p.js(t, "{ const s = document.querySelector('.settings [data-name=mode]'); s.value = 'semantic'; s.dispatchEvent(new Event('change')); }")
		p.until(t, "document.querySelector('#view-compare .lead').textContent === 'The same 6 results in the same order.' && location.search.includes('a=semantic')")
	})
	t.Run("fusion and weight, in the address", func(t *testing.T) {
		p.js(t, "{ const s = document.querySelectorAll('.settings')[1].querySelector('[data-name=mode]'); s.value = 'hybrid'; s.dispatchEvent(new Event('change')); }")
		p.js(t, "{ const s = document.querySelectorAll('.settings')[1].querySelector('[data-name=fusion]'); s.value = 'rrf'; s.dispatchEvent(new Event('change')); }")
		p.js(t, "{ const s = document.querySelectorAll('.settings')[1].querySelector('[data-name=alpha]'); s.value = 0.7; s.dispatchEvent(new Event('input')); }")
		p.until(t, "location.search.includes('b=hybrid.70.rrf')")
		p.until(t, "document.querySelectorAll('.column')[1].querySelector('.value').textContent.startsWith('0.03')") // 2/61 and less
		p.do(t, chromedp.Reload())
		p.until(t, "document.querySelectorAll('.column')[1]?.querySelector('.value')?.textContent.startsWith('0.03') === true")
		if got := eval[[]string](t, p, "[...document.querySelectorAll('.settings')[1].querySelectorAll('[data-name]')].map(e => e.value)"); strings.Join(got, " ") != "hybrid rrf 0.7" {
			t.Errorf("after a reload the settings are %v", got)
		}
	})
	p.clean(t)
}

func TestPageMap(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	if _, err := engine.CreateCollection(t.Context(), "shelf", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Ingest(t.Context(), "shelf", []search.Document{
		{ID: "a", Fields: json.RawMessage(`{"text":"A whisk beats eggs.","aisle":"left","kind":"tool"}`)},
		{ID: "b", Fields: json.RawMessage(`{"text":"A pan fries them.","aisle":"right","kind":"tool"}`)},
		{ID: "c", Fields: json.RawMessage(`{"text":"Rye has little gluten.","kind":"flour"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=map&c=shelf"))
	p.until(t, "document.querySelectorAll('.legend li').length > 1")
	p.js(t, "{ const s = document.querySelector('#mapColour'); s.value = 'aisle'; s.dispatchEvent(new Event('change')); }")
	if got := eval[string](t, p, "[...document.querySelectorAll('.legend li')].map(e => e.textContent).join('|')"); got != "left 1|right 1|without 1" {
		t.Errorf("the legend says %s", got)
	}
	p.do(t, chromedp.Navigate(base+"/?view=map&c=shelf"))
	p.until(t, "document.querySelectorAll('.legend li').length > 1")
	if got := eval[string](t, p, "document.querySelector('#mapColour').value"); got != "kind" {
		t.Errorf("coloured by %q, want the field that most points have", got)
	}
	p.do(t, chromedp.Navigate(base+"/?view=map&c=kitchen"))
	p.until(t, "document.querySelectorAll('.legend li').length > 1 && document.querySelector('.mapside').innerText.includes('passages.')")
	colours := "(() => { const c = document.querySelector('.scatter'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) s.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return [...s]; })()"
	dots := "[...document.querySelectorAll('.legend i')].map(i => getComputedStyle(i).backgroundColor.match(/\\d+/g).slice(0, 3).join(','))"

	t.Run("points in the colours of a field", func(t *testing.T) {
		p.js(t, "{ const s = document.querySelector('#mapColour'); s.value = 'lang'; s.dispatchEvent(new Event('change')); }")
		p.until(t, "document.querySelector('.legend').innerText.includes('de') && location.search.includes('color=lang')")
		if missing := eval[[]string](t, p, "(() => { const drawn = new Set("+colours+"); return "+dots+".filter(c => !drawn.has(c)); })()"); len(missing) > 0 {
			t.Errorf("colours of the legend that no point has: %v", missing)
		}
	})
	t.Run("the query among them", func(t *testing.T) {
		p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "flip a pancake"))
		p.until(t, "document.querySelector('.nearest li')?.textContent.startsWith('Fluffy pancakes for breakfast') === true")
		p.js(t, "document.querySelector('.nearest button').click()")
		p.until(t, "document.querySelector('.pointed h2')?.textContent === 'Fluffy pancakes for breakfast'")
	})
	t.Run("larger, moved, and back, by keys", func(t *testing.T) {
		picture := "document.querySelector('.scatter').toDataURL()"
		p.do(t, chromedp.Focus(chromedp.CSS(".scatter")))
		before := eval[string](t, p, picture)
		p.key(t, "+")
		p.do(t, chromedp.KeyEvent(kb.ArrowLeft))
		if after := eval[string](t, p, picture); after == before {
			t.Error("plus and an arrow change nothing")
		}
		p.key(t, "0")
		if after := eval[string](t, p, picture); after != before {
			t.Error("0 does not go back")
		}
	})
	p.looks(t, "map")
	t.Run("refined in a worker", func(t *testing.T) {
		before := eval[string](t, p, "document.querySelector('.scatter').toDataURL()")
		p.js(t, "[...document.querySelectorAll('.mapside .button')].find(b => b.textContent.includes('t-SNE')).click()")
		p.until(t, "document.querySelector('.mapside').innerText.includes('Placed by t-SNE')")
		if after := eval[string](t, p, "document.querySelector('.scatter').toDataURL()"); after == before {
			t.Error("t-SNE moved nothing")
		}
		p.js(t, "[...document.querySelectorAll('.mapside .button')].find(b => b.textContent.includes('plain')).click()")
		p.until(t, "document.querySelector('.mapside').innerText.includes('The two directions')")
	})
	p.clean(t)
}

// TestPageSwitch goes from a collection to another with the same ids: what is opened is of the
// collection that its hit is of.
func TestPageSwitch(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	for _, c := range []string{"east", "west"} {
		if _, err := engine.CreateCollection(t.Context(), c, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Ingest(t.Context(), c, []search.Document{{ID: "same", Fields: must(json.Marshal(map[string]any{"title": "Wind", "text": "The wind of the " + c + "."}))}}); err != nil {
			t.Fatal(err)
		}
	}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?c=east&q=wind"))
	p.until(t, idle)
	p.js(t, "const old = window.fetch; window.fetch = async (path, init) => { if (path.includes('west/search') && JSON.parse(init.body).q) await new Promise((go) => { window.go = go; }); return old(path, init); }")
	p.js(t, "const s = document.querySelector('#collection'); s.value = 'west'; s.dispatchEvent(new Event('change'))")
	p.until(t, "'go' in window")
	p.js(t, "document.querySelector('[data-role=text]').click()")
	p.until(t, "document.querySelector('.full')?.textContent === 'The wind of the east.'")
	p.js(t, "window.go()")
	p.until(t, "document.querySelector('.snippet')?.textContent === 'The wind of the west.'")
	p.js(t, "if (document.querySelector('.hit .text').hidden) document.querySelector('[data-role=text]').click()")
	p.until(t, "document.querySelector('.full')?.textContent === 'The wind of the west.'")
	p.clean(t)
}

// TestPageMapNarrow writes the names of points into a small map whole or cut short, and not over
// its edges or the query.
func TestPageMapNarrow(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	if _, err := engine.CreateCollection(t.Context(), "long", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	for i, word := range []string{"pancake", "bread", "soup", "knife", "garden", "train"} {
		title := "A title of many words about the " + word
		if _, err := engine.Ingest(t.Context(), "long", []search.Document{{ID: fmt.Sprint(i), Fields: must(json.Marshal(map[string]any{"title": title, "text": "Here is a " + word + "."}))}}); err != nil {
			t.Fatal(err)
		}
	}
	base := serve(t, engine)
	p := open(t, base)
	p.look(t, 320, 700, "light")
	p.do(t, chromedp.Navigate(base+"/?view=map&c=long"))
	p.until(t, "document.querySelector('.mapside')?.innerText.includes('passages.') === true")
	p.js(t, "window.written = []; const old = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (s, x, y) { window.written.push([s, x, x + this.measureText(s).width, this.canvas.clientWidth]); old.call(this, s, x, y); }")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "flip a pancake"))
	p.until(t, "document.querySelectorAll('.nearest li').length > 4 && window.written.length > 0")
	p.js(t, "document.querySelector('.scatter').focus()")
	for range 3 {
		p.key(t, "+")
	}
	for range 5 { // the points wander from one edge to the other
		p.do(t, chromedp.KeyEvent(kb.ArrowLeft))
	}
	for range 10 {
		p.do(t, chromedp.KeyEvent(kb.ArrowRight))
	}
	if over := eval[[]string](t, p, "window.written.filter(([, from, to, wide]) => from < 0 || to > wide).map((w) => w.join(' '))"); len(over) > 0 {
		t.Errorf("names over the edges: %q", over)
	}
	p.clean(t)
}
