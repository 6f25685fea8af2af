package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/searchd/search"
)

// TestPageSettingsKeepsOthers saves settings on the page, at once and by re-embedding: those that
// the dialog does not show stay.
func TestPageSettingsKeepsOthers(t *testing.T) {
	engine := kitchen(t)
	_, err := engine.ChangeSettings(t.Context(), "kitchen", func(s search.Settings) (search.Settings, error) {
		s.Versions = &search.VersionSettings{Keep: 7}
		s.Expiry = &search.Expiry{Field: "until", After: "2d"}
		s.Rules = []search.Rule{{ID: "one", Queries: []string{"pan"}, Redirect: "https://example.com/"}}
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	p := open(t, base)
	for i, x := range []struct {
		button, pointer, control, value string
		saved                           func(search.Settings) bool
	}{
		{"Save", "/synonyms", "textarea", "skillet, pan", func(s search.Settings) bool { return len(s.Synonyms) == 1 }},
		{"Save and re-embed", "/passages/max_tokens", "input", "48", func(s search.Settings) bool { return s.Passages.MaxTokens == 48 }},
	} {
		p.do(t, chromedp.Navigate(base+"/?view=collections"))
		p.until(t, "document.querySelector('[aria-label=\"Settings of kitchen\"]') !== null")
		p.js(t, "document.querySelector('[aria-label=\"Settings of kitchen\"]').click()")
		p.until(t, "document.querySelector('dialog[open] textarea') !== null")
		p.js(t, "const c = document.querySelector('.configuring [data-at=\""+x.pointer+"\"]').querySelector('"+x.control+"'); c.value = '"+x.value+"'; c.dispatchEvent(new Event('input', {bubbles: true}))")
		p.until(t, "document.querySelector('.configuring .primary').textContent === '"+x.button+"'")
		p.js(t, "document.querySelector('.configuring .primary').click()")
		p.until(t, "document.querySelector('dialog[open]') === null")
		var s search.Settings
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			info, err := engine.Collection(t.Context(), "kitchen")
			if err != nil {
				t.Fatal(err)
			}
			if s = info.Settings; x.saved(s) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("step %d: not saved: %+v", i, s)
			}
		}
		if s.Versions == nil || s.Versions.Keep != 7 || s.Expiry == nil || s.Expiry.After != "2d" || len(s.Rules) != 1 {
			t.Errorf("after %s: versions %+v, expiry %+v, rules %+v", x.button, s.Versions, s.Expiry, s.Rules)
		}
	}
}
