package e2e

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/searchd/api"
	"example.com/searchd/search"
)

// TestPageVersions reads a former version of a document on its page, and restores it.
func TestPageVersions(t *testing.T) {
	engine := kitchen(t)
	write := func(text string) {
		t.Helper()
		doc := search.Document{ID: "a <b>/c", Fields: json.RawMessage(`{"title":"Soup","text":"` + text + `"}`)}
		if _, err := engine.Ingest(t.Context(), "kitchen", []search.Document{doc}); err != nil {
			t.Fatal(err)
		}
	}
	base := serveWith(t, engine, api.Options{Versions: search.VersionsOf(engine)})
	p := open(t, base)
	write("Boil the leeks.")
	address := base + "/?c=kitchen&view=document&doc=a+%3Cb%3E%2Fc"
	shown := "document.querySelector('.document h2')?.textContent === 'Soup' && document.querySelector('#similar')?.lastChild.textContent !== 'Searching …'"
	p.do(t, chromedp.Navigate(address))
	p.until(t, shown)
	if eval[bool](t, p, "document.querySelector('#versionsTitle') !== null") {
		t.Error("versions are shown of a collection that keeps none")
	}
	_, err := engine.ChangeSettings(t.Context(), "kitchen", func(s search.Settings) (search.Settings, error) {
		s.Versions = &search.VersionSettings{Keep: 7}
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	write("Fry the <i>onions</i>.")
	p.do(t, chromedp.Navigate(address))
	p.until(t, shown+" && document.querySelector('#versionsTitle') !== null")
	p.js(t, "document.querySelector('#versionsTitle ~ details summary').click()")
	p.until(t, "document.querySelector('#versionsTitle ~ details pre').textContent.includes('Boil the leeks.')")
	if got := eval[string](t, p, "document.querySelector('#versionsTitle ~ details summary').textContent"); len(got) < 12 || got[:9] != "Replaced " {
		t.Errorf("the version is headed %q", got)
	}
	p.js(t, "document.querySelector('#versionsTitle ~ details button').click()")
	p.until(t, "document.querySelector('.document .full')?.textContent.includes('Boil the leeks.') && document.querySelectorAll('#versionsTitle ~ details').length === 2")
	doc, err := engine.Document(t.Context(), "kitchen", "a <b>/c")
	if err != nil || string(doc.Fields) != `{"text":"Boil the leeks.","title":"Soup"}` {
		t.Errorf("restored: %s, %v", doc.Fields, err)
	}
	p.clean(t)
}
