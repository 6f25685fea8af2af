package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/searchd/internal/longtest"
)

// drop drags files and folders over an element and lets them go there: the browser's own events, as
// from a file manager.
func (p *page) drop(t *testing.T, selector string, paths ...string) {
	t.Helper()
	p.js(t, "document.querySelector('"+selector+"').scrollIntoView({block: 'center'})")
	at := eval[[]float64](t, p, "(() => { const b = document.querySelector('"+selector+"').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		event := input.DispatchDragEventParams{Type: kind, X: at[0], Y: at[1], Data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1}}
		if _, err := chromedp.Run(p.ctx, protocol(input.DispatchDragEvent, event)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPageDrop drops a file of many documents and a folder, sees how far they are while they are
// taken in, and finds them.
func TestPageDrop(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	dir := t.TempDir()
	var many bytes.Buffer
	for i := range 500 {
		fmt.Fprintf(&many, "{\"id\":\"m%d\",\"title\":\"Recipe %d\",\"text\":\"Stir the %s with the %s, says word%d.\"}\n", i, i, vocabulary[i%7], vocabulary[i%11], i)
	}
	for name, content := range map[string]string{
		"many.ndjson": many.String(), "notes/käse 🧀.md": "# Cheese\n\nCheese ripens in a cool cellar.", "notes/deep/er/knife.txt": "A dull knife slips.",
		"notes/.hidden.md": "nobody should see this", "notes/picture.png": "\x89PNG", "notes/rows.csv": "id,text\nrow1,Mustard keeps for a year.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	deep := strings.Repeat("/"+strings.Repeat("ö", 100), 3) + "/pan.txt" // more bytes than an id may have
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, "notes"+deep)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes"+deep), []byte("A pan fries eggs."), 0o644); err != nil {
		t.Fatal(err)
	}
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	// What the rows say and how far their bars are, each time that one of them changes.
	p.js(t, `window.said = []; window.bars = []; window.over = 0;
		new MutationObserver(() => {
			const row = [...document.querySelectorAll('.upload')].find(u => u.innerText.includes('many.ndjson'));
			if (row) { window.said.push(row.children[2].textContent); window.bars.push(row.querySelector('progress').value); }
			if (document.querySelector('.drop.over')) window.over++;
		}).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true})`)
	p.drop(t, ".drop", filepath.Join(dir, "many.ndjson"))
	p.until(t, "document.querySelectorAll('.upload.done').length === 1")
	p.looks(t, "dropped")
	if n := eval[int](t, p, "window.over"); n == 0 {
		t.Error("the place for files does not show that something is held over it")
	}
	if said := eval[[]string](t, p, "window.said"); !slices.ContainsFunc(said, func(s string) bool { return strings.HasSuffix(s, " created …") && s != "500 created …" }) || said[len(said)-1] != "500 created" {
		t.Errorf("the row says %q", slices.Compact(said))
	}
	if ahead := eval[[]string](t, p, "window.said.filter((s, i) => s.endsWith(' created …') && Math.abs(window.bars[i] - parseInt(s) / 500) > 0.01)"); len(ahead) > 0 {
		t.Errorf("the bar is not where the server is: %q", ahead)
	}
	bars := slices.Compact(eval[[]float64](t, p, "window.bars"))
	if !slices.IsSorted(bars) || bars[0] != 0 || bars[len(bars)-1] != 1 || len(bars) < 3 {
		t.Errorf("the bar goes through %v", bars)
	}
	p.drop(t, ".drop", filepath.Join(dir, "notes"))
	p.until(t, "document.querySelectorAll('.upload.done').length === 5 && document.querySelector('.drop').innerText.includes('2 files of other kinds passed over')")
	if got := eval[[]string](t, p, "[...document.querySelectorAll('.upload .file')].map(f => f.firstChild.textContent).sort()"); strings.Join(got, " ") != "many.ndjson notes/deep/er/knife.txt notes/käse 🧀.md notes/rows.csv notes"+deep {
		t.Errorf("files sent: %q", got)
	}
	p.drop(t, "#foot", filepath.Join(dir, "notes/picture.png")) // beside the place for files: nothing happens
	for query, id := range map[string]string{"word499": "m499", "cellar": "notes/käse 🧀.md", "dull knife": "notes/deep/er/knife.txt", "mustard": "row1", "fries eggs": "ö/pan.txt"} {
		p.do(t, chromedp.Navigate(base+"/?mode=keyword&q="+strings.ReplaceAll(query, " ", "+")))
		p.until(t, "document.querySelectorAll('#results li').length > 0")
		if found := eval[bool](t, p, "document.querySelector('#results li').innerText.includes("+string(must(json.Marshal(id)))+")"); !found {
			t.Errorf("%s: %s is not first", query, id)
		}
	}
	p.clean(t)
}

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

// zipped is a text as gzip keeps it.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

// letter is a message of a mailbox with an attachment of 5 MB.
func letter(n int) string {
	return fmt.Sprintf("From - Mon Jan  5 10:00:00 2026\nSubject: Letter %d\nMessage-ID: <%d@post>\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nDear cook.\n--b\n"+
		"Content-Type: application/octet-stream\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n%s\n--b--\n\n", n, n, strings.Repeat(strings.Repeat("A", 76)+"\n", 65000))
}

func TestPageCollections(t *testing.T) {
	longtest.Skip(t)
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
		{"oven.pdf", string(pdfPage("The oven bakes what is put into it."))},
		{"scan.pdf", string(pdfPage(""))},
		{"oven.ipynb", `{"cells":[{"cell_type":"markdown","source":"# Bread\n\nKnead it."}]}`},
		{"fork.rst.gz", zipped("A fork pricks the crust.")},
		{"pot.json.gz", zipped(`{"id":"z1","title":"Pots","text":"Pots boil."}`)},
		{"cup.md.gz", "no gzip"},
		{"large.txt", strings.Repeat("large ", 3<<19)},
		{"post.mbox", letter(1) + letter(2)},
	} {
		paths = append(paths, filepath.Join(dir, f[0]))
		if err := os.WriteFile(paths[len(paths)-1], []byte(f[1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelectorAll('article.collection').length === 1 && document.querySelector('article.collection').innerText.includes('vectors in memory') && document.querySelector('[aria-label=Model]').innerText.includes('mean')")

	t.Run("makes a collection, and says what is wrong with a name", func(t *testing.T) {
		p.js(t, "document.querySelector('#newName').value = 'kitchen'; document.querySelector('.make button').click()")
		p.until(t, "document.querySelector('#newWrong').textContent.includes('kitchen')")
		p.expect(t, "409")
		p.js(t, "document.querySelector('#newName').value = 'tools'; document.querySelector('.make button').click()")
		p.until(t, "document.querySelectorAll('article.collection').length === 2 && document.querySelector('#target').value === 'tools'")
	})
	t.Run("takes files of every kind, and answers for each document", func(t *testing.T) {
		p.choose(t, "#files", paths...)
		p.until(t, "document.querySelectorAll('.upload.done, .upload.failed').length === 15")
		got := eval[map[string]string](t, p, "Object.fromEntries([...document.querySelectorAll('.upload')].map(u => [u.querySelector('.file').firstChild.textContent, u.children[2].textContent]))")
		for name, want := range map[string]string{
			"rows.csv": "1 created, 1 error", "grater.md": "1 created", "sieve.html": "1 created", "whisk.txt": "1 created",
			"lines.ndjson": "2 created", "one.json": "1 created", "picture.png": "failed", "oven.pdf": "1 created", "scan.pdf": "1 error", "large.txt": "failed",
			"oven.ipynb": "1 created", "fork.rst.gz": "1 created", "pot.json.gz": "1 created", "cup.md.gz": "failed", "post.mbox": "2 created",
		} {
			if got[name] != want {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
		}
		p.until(t, "document.querySelectorAll('.upload progress')[0].value === 1 && [...document.querySelectorAll('.wrongs li')].map(e => e.textContent).filter(s => s === 'line 3: row has 5 fields, the header has 3' || s.startsWith('PDF: no text layer') || s === '9.4 MB are more than the 8.4 MB that one document may have.').length === 3")
		p.until(t, "[...document.querySelectorAll('article.collection')].some(c => c.innerText.includes('tools') && /documents\\s+13/.test(c.innerText))")
	})
	p.looks(t, "collections")
	t.Run("and finds them", func(t *testing.T) {
		p.js(t, "[...document.querySelectorAll('article.collection a')].find(a => a.textContent === 'tools').click()")
		p.until(t, "location.search.includes('c=tools') && !document.querySelector('#form').hidden")
		p.js(t, "{ const q = document.querySelector('#q'); q.value = 'beat cream'; q.dispatchEvent(new Event('input', {bubbles: true})); }")
		p.until(t, idle+" && document.querySelector('#results .id, #results h2').textContent.includes('whisk')")
	})
	t.Run("and deletes a collection whose name is typed", func(t *testing.T) {
		p.do(t, chromedp.Navigate(base+"/?view=collections&c=tools"))
		p.until(t, "document.querySelector('[aria-label=\"Delete tools\"]') !== null")
		p.js(t, "document.querySelector('[aria-label=\"Delete tools\"]').click()")
		p.until(t, "document.activeElement.id === 'sureName'")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#sureName"), "kitchen"), chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelector('dialog .wrong').textContent === 'That is not tools.'")
		p.looks(t, "delete")
		p.js(t, "document.querySelector('#sureName').value = ''")
		p.do(t, chromedp.SendKeys(chromedp.CSS("#sureName"), "tools"), chromedp.KeyEvent(kb.Enter))
		p.until(t, "document.querySelector('dialog[open]') === null && document.querySelectorAll('article.collection').length === 1 && document.querySelector('#target').value === 'kitchen'")
	})
	p.clean(t)
}

// TestPageUnreadableFile tells of a file that cannot be read any more, and takes those behind it.
func TestPageUnreadableFile(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, kitchen(t))
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	p.until(t, "document.querySelector('#target')?.value === 'kitchen'")
	p.js(t, "const old = Blob.prototype.slice; Blob.prototype.slice = function (...of) { const b = old.apply(this, of); if (/^gone/.test(this.name)) b.text = b.arrayBuffer = () => Promise.reject(new DOMException('', 'NotFoundError')); return b; }")
	p.drop(t, ".drop", writeFile(t, "gone.json", `{"id":"gone","text":"Gone."}`), writeFile(t, "gone.md", "Gone."), writeFile(t, "good.md", "Still here."))
	p.until(t, "document.querySelectorAll('.upload.failed').length === 2 && document.querySelectorAll('.upload.done').length === 1")
	if got := eval[string](t, p, "[...document.querySelectorAll('.upload')].map(u => u.innerText.replace(/\\s+/g, ' ')).join('|')"); strings.Count(got, "cannot be read") != 2 || !strings.Contains(got, "1 created") {
		t.Errorf("rows: %s", got)
	}
	p.clean(t)
}
