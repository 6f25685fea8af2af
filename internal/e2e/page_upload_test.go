package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
)

// choose puts files into a file input, as the browser's dialog does.
func (p *page) choose(t *testing.T, selector string, paths ...string) {
	t.Helper()
	root, err := chromedp.Run(p.ctx, protocol(dom.GetDocument, dom.GetDocumentParams{}))
	if err != nil {
		t.Fatal(err)
	}
	input, err := chromedp.Run(p.ctx, protocol(dom.QuerySelector, dom.QuerySelectorParams{NodeID: root.Root.NodeID, Selector: selector}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(p.ctx, protocol(dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: paths, NodeID: input.NodeID})); err != nil {
		t.Fatal(err)
	}
}

func TestPageCollections(t *testing.T) {
	base := serve(t, kitchen(t))
	dir := t.TempDir()
	var paths []string
	for _, f := range [][2]string{
		{"rows.csv", "id,title,text\nr1,Ladles,A ladle pours soup.\nr2,Broken,one,too,many\n"},
		{"grater.md", "# Graters\n\nA grater makes cheese small."},
		{"sieve.html", "<title>Sieves</title><p>A sieve holds back the lumps."},
		{"whisk.txt", "A whisk beats air into cream."},
		{"lines.ndjson", "{\"id\":\"n1\",\"title\":\"Tongs\",\"text\":\"Tongs grip.\"}\n{\"id\":\"n2\",\"title\":\"Peelers\",\"text\":\"Peelers peel.\"}\n"},
		{"one.json", "{\"id\":\"j1\",\"title\":\"Scales\",\n\"text\":\"Scales weigh.\"}"},
		{"picture.png", "\x89PNG"},
	} {
		paths = append(paths, filepath.Join(dir, f[0]))
		if err := os.WriteFile(paths[len(paths)-1], []byte(f[1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelectorAll('.collection').length === 1 && document.querySelector('.collection').innerText.includes('vectors in memory') && document.querySelector('[aria-label=Model]').innerText.includes('mean')")

	t.Run("makes a collection, and says what is wrong with a name", func(t *testing.T) {
		p.js(t, "document.querySelector('#newName').value = 'kitchen'; document.querySelector('.make button').click()")
		p.until(t, "document.querySelector('#newWrong').textContent.includes('kitchen')")
		p.expect(t, "409")
		p.js(t, "document.querySelector('#newName').value = 'tools'; document.querySelector('.make button').click()")
		p.until(t, "document.querySelectorAll('.collection').length === 2 && document.querySelector('#target').value === 'tools'")
	})
	t.Run("takes files of every kind, and answers for each document", func(t *testing.T) {
		p.choose(t, "#files", paths...)
		p.until(t, "document.querySelectorAll('.upload.done, .upload.failed').length === 7")
		got := eval[map[string]string](t, p, "Object.fromEntries([...document.querySelectorAll('.upload')].map(u => [u.querySelector('.file').firstChild.textContent, u.children[2].textContent]))")
		for name, want := range map[string]string{
			"rows.csv": "1 created, 1 error", "grater.md": "1 created", "sieve.html": "1 created", "whisk.txt": "1 created",
			"lines.ndjson": "2 created", "one.json": "1 created", "picture.png": "failed",
		} {
			if got[name] != want {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
		}
		p.until(t, "document.querySelectorAll('.upload progress')[0].value === 1 && document.querySelector('.wrongs li').textContent.includes('line 3')")
		p.until(t, "[...document.querySelectorAll('.collection')].some(c => c.innerText.includes('tools') && /documents\\s+7/.test(c.innerText))")
	})
	p.looks(t, "collections")
	t.Run("and finds them", func(t *testing.T) {
		p.js(t, "[...document.querySelectorAll('.collection a')].find(a => a.textContent === 'tools').click()")
		p.until(t, "location.search.includes('c=tools') && !document.querySelector('#form').hidden")
		p.js(t, "{ const q = document.querySelector('#q'); q.value = 'beat cream'; q.dispatchEvent(new Event('input', {bubbles: true})); }")
		p.until(t, idle+" && document.querySelector('#results .id, #results h2').textContent.includes('whisk')")
	})
	p.clean(t)
}
