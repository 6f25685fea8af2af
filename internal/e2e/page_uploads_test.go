package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/extract"
	"example.com/searchd/internal/longtest"

	"github.com/chromedp/chromedp"
)

// TestPageUploads drops more files than the list has rows: a line sums all of them up, and those
// with faults come first.
func TestPageUploads(t *testing.T) {
	base := serve(t, kitchen(t))
	dir := t.TempDir()
	var paths []string
	for i := range 130 {
		name, content := fmt.Sprintf("%03d.txt", i), fmt.Sprintf("Spoon number %d stirs.", i)
		switch i {
		case 60:
			name, content = "060.csv", "id,text\na,A fork.\nb,too,many\n"
		case 120:
			name = "120.gif"
		}
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[i], []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	p.js(t, `window.most = 0; window.sums = [];
		new MutationObserver(() => {
			window.most = Math.max(window.most, document.querySelectorAll('.uploads .upload .file').length);
			window.sums.push(document.querySelector('.uploaded').textContent);
		}).observe(document.querySelector('.uploads').parentNode, {subtree: true, childList: true, characterData: true})`)
	p.choose(t, "#files", paths...)
	const all = "130 files · 2 with faults · 129 created, 2 errors · 100 shown"
	p.until(t, "document.querySelector('.uploaded').textContent === '"+all+"'")
	if most := eval[int](t, p, "window.most"); most != 100 {
		t.Errorf("at most %d rows at once, want 100", most)
	}
	if half := eval[bool](t, p, "window.sums.some(s => /^[1-9]\\d? of 130 files · /.test(s))"); !half {
		t.Error("the sum does not say how far it is")
	}
	if got := eval[string](t, p, "[...document.querySelectorAll('.upload .file')].slice(0, 2).map(f => f.firstChild.textContent).join(' ')"); got != "060.csv 120.gif" {
		t.Errorf("first rows: %s", got)
	}
	p.looks(t, "uploads")
	p.choose(t, "#files", paths[0])
	p.until(t, "document.querySelector('.uploaded').textContent.startsWith('131 files · 2 with faults · 129 created, 1 unchanged, 2 errors')")
	p.clean(t)
}

// TestPageUploadTells expects one message with the formats that are read and what to save instead,
// and warnings shown separately from errors.
func TestPageUploadTells(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	dir := t.TempDir()
	for name, content := range map[string]string{"old.doc": "\xd0\xcf", "sound.mp3": "ID3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.drop(t, ".drop", dir, writeFile(t, "a.mp3", "ID3"), writeFile(t, "b.png", "PNG"), writeFile(t, "letter.doc", "\xd0\xcf"), writeFile(t, "umlaut.txt", "Gr\xfc\xdfe aus der K\xfcche."), writeFile(t, "rows.csv", "id,text\na,A fork.\nb,too,many\n"))
	p.until(t, "document.querySelector('.uploaded').textContent === '6 files · 5 with faults · 2 created, 5 errors'")
	rows := eval[string](t, p, "[...document.querySelectorAll('.upload .wrongs li')].map(e => (e.className && e.className + ': ') + e.textContent).sort().join('|')")
	if want := "This file format is not supported.|This file format is not supported.|This kind of file is not read here; save it as .docx.|This kind of file is not read here; save it as .docx.|" +
		"line 3: row has 3 fields, the header has 2|remark: Note: not UTF-8; read as Windows-1252 (Latin-1); ingest --encoding names another"; rows != want {
		t.Errorf("rows say %s", rows)
	}
	if n := eval[int](t, p, "document.querySelector('#view-collections').innerText.split('.epub').length - 1"); n != 1 {
		t.Errorf("what is read is said %d times", n)
	}
	colour := "((e) => getComputedStyle(e).color)(document.querySelector('.upload .wrongs li"
	if same := eval[bool](t, p, colour+".remark')) === "+colour+":not(.remark)'))"); same {
		t.Error("a note looks like a fault")
	}
	p.looks(t, "tells")
	// The reader knows the same.
	p.js(t, "import('./ui/upload.js').then((m) => { window.savedAs = m.savedAs; })")
	p.until(t, "'savedAs' in window")
	for ext, other := range eval[map[string]string](t, p, "savedAs") {
		said := ""
		err := extract.Reader(t.Context(), strings.NewReader("x"), "x."+ext, extract.Auto, extract.Options{}, func(extract.Document) error { return nil }, func(e extract.ItemError) error { said = e.Reason; return nil })
		if err != nil || !strings.HasSuffix(said, "save it as ."+other) {
			t.Errorf("of .%s the reader says %q, %v, and the page .%s", ext, said, err, other)
		}
	}
	p.clean(t)
}
