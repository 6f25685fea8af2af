package e2e

import (
	"context"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// An unfinished word is completed while it is typed. A misspelled word is read as the one that is
// there; the page says so and takes it as it stands where asked.
func TestPageSpelling(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if _, err := engine.CreateCollection(t.Context(), "notes", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	docs := []search.Document{
		{ID: "balloons", Fields: []byte(`{"title":"Balloons","text":"A balloon flies because warm air is light."}`)},
		{ID: "letters", Fields: []byte(`{"title":"Letters","text":"Whoever gets a letter should answer it within a week."}`)},
	}
	if _, err := engine.Ingest(t.Context(), "notes", docs); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"))
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "ballo"))
	p.until(t, "document.querySelector('#results .snippet mark')?.textContent === 'balloon' && document.getElementById('respelled').hidden")
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "oon"))
	p.until(t, "document.getElementById('respelled').textContent === 'No document has “ballooon”: read as balloon. Search for the exact word'")
	p.until(t, "document.querySelector('#results .snippet mark')?.textContent === 'balloon'")
	p.look(t, 390, 800, "light")
	p.shoot(t, "spelling")
	p.js(t, "document.querySelector('#respelled button').click()")
	p.until(t, "document.getElementById('respelled').hidden && document.querySelector('#results mark') === null")
	if got := eval[string](t, p, "new URLSearchParams(location.search).get('spelling')"); got != "exact" {
		t.Errorf("spelling in the address = %q", got)
	}
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "s"))
	p.until(t, "!document.getElementById('respelled').hidden")
	p.clean(t)
}

// heldBack is an engine whose collections are told when gate is closed.
type heldBack struct {
	*search.Engine
	gate chan struct{}
}

func (e heldBack) Collections(ctx context.Context) ([]search.CollectionInfo, error) {
	<-e.gate
	return e.Engine.Collections(ctx)
}

// A word that is typed before the page knows the collections is completed, too.
func TestPageTypedEarly(t *testing.T) {
	longtest.Skip(t)
	engine, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if _, err := engine.CreateCollection(t.Context(), "notes", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Ingest(t.Context(), "notes", []search.Document{{ID: "balloons", Fields: []byte(`{"text":"A balloon flies because warm air is light."}`)}}); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	base := serve(t, heldBack{engine, gate})
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/"))
	p.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "ballo"))
	close(gate)
	p.until(t, idle+" && document.querySelector('#results mark')?.textContent === 'balloon'")
}

// TestPageComparesAsSpelled compares two settings by the words as they stand, where the address
// asks for that.
func TestPageComparesAsSpelled(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=compare&a=keyword&b=keyword&q=pancakess"))
	p.until(t, "document.querySelectorAll('.column article').length > 0") // read as pancakes
	p.do(t, chromedp.Navigate(base+"/?view=compare&a=keyword&b=keyword&q=pancakess&spelling=exact"))
	p.until(t, "document.querySelector('.column')?.innerText === 'Nothing found.'")
	p.clean(t)
}
