package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPageUploads drops more files than the list has rows: a line sums all of them up, and those with faults come first.
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
	const all = "130 files · 2 with faults · 129 created, 1 error · 100 shown"
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
	p.until(t, "document.querySelector('.uploaded').textContent.startsWith('131 files · 2 with faults · 129 created, 1 unchanged, 1 error')")
	p.clean(t)
}
