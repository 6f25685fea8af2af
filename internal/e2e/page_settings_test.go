package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/searchd/internal/longtest"
)

// TestPageSettings changes the settings of a collection: at once, with what is wrong beside each,
// and by building it anew.
func TestPageSettings(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	base := serve(t, engine)
	p := open(t, base)
	opened := func() {
		t.Helper()
		p.until(t, "document.querySelector('[aria-label=\"Settings of kitchen\"]') !== null")
		p.js(t, "const b = document.querySelector('[aria-label=\"Settings of kitchen\"]'); b.focus(); b.click()")
		p.until(t, "document.querySelector('dialog[open] textarea') === document.activeElement && document.activeElement !== null")
	}
	at := func(pointer string) string {
		return "document.querySelector('.configuring [data-at=\"" + pointer + "\"]')"
	}
	enter := func(pointer, control, value string) {
		t.Helper()
		p.js(t, fmt.Sprintf("const c = %s.querySelector(%q); c.value = %q; c.dispatchEvent(new Event('input', {bubbles: true}))", at(pointer), control, value))
	}
	save := func(label string) {
		t.Helper()
		if got := eval[string](t, p, "document.querySelector('.configuring .primary').textContent"); got != label {
			t.Errorf("the button says %q, want %q", got, label)
		}
		p.js(t, "document.querySelector('.configuring .primary').click()")
	}
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	opened()
	if got := eval[string](t, p, at("/passages/max_tokens")+".querySelector('input').value"); got != "64" {
		t.Errorf("the passages have %s tokens, want 64", got)
	}
	// What holds where a field is empty is said, as far as it is known.
	for pointer, want := range map[string]string{"/passages/max_tokens": "default: 256", "/index/m": "default: 16", "/index/ef_construction": "default: 200", "/index/target_recall": "default: 0.98"} {
		if got := eval[string](t, p, at(pointer)+".querySelector('input').placeholder"); got != want {
			t.Errorf("%s says %q, want %q", pointer, got, want)
		}
	}
	if got := eval[bool](t, p, "/^found: [1-9][0-9]*$/.test("+at("/index/ef_search")+".querySelector('input').placeholder)"); !got {
		t.Error("the dialog does not say how many candidates a search looks at")
	}
	enter("/synonyms", "textarea", "\nskillet, pan\n\nfoo =>\n")
	p.js(t, at("/fields")+".querySelector('.link').click()")
	enter("/fields", "[data-name=name]", "title")
	if got := eval[string](t, p, at("/fields")+".querySelector('[data-name=weight]').placeholder"); got != "default: 2" {
		t.Errorf("a title weighs %q", got)
	}
	// A field listed twice is reported before anything is sent, and so is a row without a name.
	p.js(t, at("/fields")+".querySelector('.link:not([aria-label])').click()")
	last := "[...document.querySelectorAll('.fieldrow')].at(-1)"
	p.js(t, last+".querySelector('[data-name=name]').value = ' title'")
	save("Save")
	p.until(t, at("/fields")+".querySelector('.wrongs').innerText.startsWith('title: is listed twice')")
	p.js(t, last+".querySelector('[data-name=name]').value = ''; "+last+".querySelector('[data-name=type]').value = 'filter'")
	save("Save")
	p.until(t, at("/fields")+".querySelector('.wrongs').innerText === 'A row has no field name.'")
	p.js(t, last+".querySelector('.link').click()")
	enter("/fields", "[data-name=weight]", "much")
	enter("/index/ef_search", "input", "3")
	save("Save")
	p.until(t, at("/index/ef_search")+".innerText.includes('8 to 4096') || "+at("/fields")+".innerText.includes('weight')")
	p.expect(t, "400")
	enter("/fields", "[data-name=weight]", "-3")
	save("Save")
	p.until(t, at("/synonyms")+".querySelector('.wrongs').innerText.startsWith('Line 4: got \"foo =>\"') && "+at("/fields")+".innerText.includes('title weight: got -3') && "+at("/index/ef_search")+".innerText.includes('8 to 4096')")
	p.expect(t, "400")
	p.looks(t, "settings")
	enter("/synonyms", "textarea", "skillet, pan")
	enter("/fields", "[data-name=weight]", "3")
	enter("/index/ef_search", "input", "")
	enter("/index/target_recall", "input", "0.9")
	enter("/index/quantize", "select", "int8")
	save("Save")
	p.until(t, "document.querySelector('.configuring') === null && document.querySelector('article.collection').innerText.includes('1 rule')")
	p.until(t, "document.activeElement.getAttribute('aria-label') === 'Settings of kitchen'")
	info, err := engine.Collection(t.Context(), "kitchen")
	if s := info.Settings; err != nil || strings.Join(s.Synonyms, "|") != "skillet, pan" || s.Fields["title"].Weight != 3 || s.Index.Quantize != "int8" || s.Index.EfSearch != 0 || s.Index.TargetRecall != 0.9 || s.Passages.MaxTokens != 64 {
		t.Errorf("settings %+v, %v", s, err)
	}

	// A type that documents stand against is refused in place, and is there when the collection is
	// built anew.
	opened()
	enter("/fields", "[data-name=type]", "stored")
	save("Save")
	p.until(t, at("/fields")+".querySelector('.wrongs').innerText.includes('title type') && document.querySelector('.configuring .primary').textContent === 'Save and re-embed'")
	p.expect(t, "400")
	p.js(t, at("/fields")+".querySelector('[aria-label^=\"No entry\"]').click()")
	enter("/language", "select", "de")
	save("Save and re-embed")
	p.until(t, "document.querySelector('.configuring') === null && document.querySelector('article.collection')?.innerText.includes('German')")
	info, err = engine.Collection(t.Context(), "kitchen")
	if s := info.Settings; err != nil || s.Language != "de" || s.Index.TargetRecall != 0.9 || len(s.Fields) != 0 || len(s.Synonyms) != 1 || s.Index.Quantize != "int8" {
		t.Errorf("settings %+v, %v", s, err)
	}
	opened()
	p.until(t, at("/language")+".innerText.includes('look like English')")
	p.js(t, at("/language")+".querySelector('.looks .link').click()")
	if got := eval[string](t, p, at("/language")+".querySelector('select').value + ' ' + document.querySelector('.configuring .primary').textContent"); got != "en Save and re-embed" {
		t.Errorf("the language taken: %s", got)
	}
	// Esc drops nothing that was changed without a question.
	open := "document.querySelectorAll('dialog[open]').length"
	for range 2 {
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, "document.querySelector('#leaveTitle') !== null")
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.until(t, open+" === 1 && document.querySelector('#leaveTitle') === null && "+at("/language")+".querySelector('select').value === 'en'")
	}
	p.do(t, chromedp.KeyEvent(kb.Escape))
	p.until(t, "document.querySelector('#leaveTitle') !== null")
	p.looks(t, "leave")
	p.js(t, "document.querySelector('dialog[open] .danger').click()")
	p.until(t, open+" === 0")
	opened()
	p.do(t, chromedp.KeyEvent(kb.Escape))
	p.until(t, open+" === 0") // nothing was changed
	p.clean(t)
}

// TestPageLanguage drops German texts where there is no collection, and finds them in words as
// German has them. Of a French one among them it says that this is not its language.
func TestPageLanguage(t *testing.T) {
	longtest.Skip(t)
	engine := kitchen(t)
	if err := engine.DropCollection(t.Context(), "kitchen"); err != nil {
		t.Fatal(err)
	}
	base := serve(t, engine)
	dir := t.TempDir()
	var paths []string
	for i := range 4 {
		text := fmt.Sprintf("# Notiz %d\n\nDie Häuser stehen auf der Insel, und wer mit dem Boot kommt, der sieht sie nicht, weil sie hinter dem Wald sind. Das ist so, wie es immer war.", i)
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("notiz%d.md", i)))
		if err := os.WriteFile(paths[i], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths = append(paths, writeFile(t, "lac.md", strings.Repeat("Les maisons sont sur une île au milieu du lac, et celui qui vient avec son bateau ne les voit pas, parce qu'elles sont dans la forêt. ", 2)))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#files') !== null")
	p.choose(t, "#files", paths...)
	p.until(t, "document.querySelector('.drop .note')?.innerText.includes('docs is searched by words as German') === true")
	p.until(t, "document.querySelector('.drop [role=status] .note')?.innerText.includes('lac.md looks like French, but docs is searched by words as German') === true")
	p.until(t, "document.querySelector('article.collection').innerText.includes('German')")
	p.looks(t, "language")
	p.js(t, "document.querySelector('.drop .note .link').click()")
	p.until(t, "document.querySelector('.configuring [data-at=\"/language\"] select')?.value === 'de'")
	p.do(t, chromedp.Navigate(base+"/?mode=keyword&q=haus"))
	p.until(t, "document.querySelectorAll('#results li').length === 4")
	p.clean(t)
}

// TestPageForeignLanguage says once that files are in another language than the collection they
// went into, and what can be done.
func TestPageForeignLanguage(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	german := "Die Häuser stehen auf der Insel, und wer mit dem Boot kommt, der sieht sie nicht, weil sie hinter dem Wald sind. Das ist so, wie es immer war. "
	english := "The houses stand on the island, and who comes by boat does not see them, as they are behind the wood. That is how it has always been. "
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	notes := "[...document.querySelectorAll('.drop .note:not([hidden])')].map(n => n.innerText).join('|')"
	p.choose(t, "#files", writeFile(t, "island.md", strings.Repeat(english, 2)))
	p.until(t, "document.querySelectorAll('.upload.done').length === 1")
	p.choose(t, "#files", writeFile(t, "insel.md", strings.Repeat(german, 2)), writeFile(t, "insel.txt", strings.Repeat(german, 3)))
	p.until(t, notes+".startsWith('insel.md and 1 more look like German, but kitchen is searched by words as English')")
	p.looks(t, "foreign")
	p.choose(t, "#files", writeFile(t, "insel2.md", strings.Repeat(german, 2)))
	p.until(t, "document.querySelectorAll('.upload.done').length === 4 && document.querySelector('article.collection').innerText.includes('10')")
	if got := eval[string](t, p, notes); strings.Contains(got, "|") {
		t.Errorf("it is said again: %s", got)
	}
	p.js(t, "document.querySelector('.drop .note:not([hidden]) .link').click()")
	p.until(t, "document.querySelector('.configuring [data-at=\"/language\"]') !== null")
	p.clean(t)
}
