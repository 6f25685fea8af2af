package extract

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/searchd/extract/content"
)

var evaluation = flag.String("trafilatura", "", "`folder` tests of a checkout of github.com/adbar/trafilatura, for TestMainTextEvaluation")

// TestMainTextEvaluation reads the annotated pages of trafilatura and counts which of the strings
// that must and must not be in the main text are.
//
//	go test ./extract -run MainTextEvaluation -v -trafilatura .../trafilatura/tests
func TestMainTextEvaluation(t *testing.T) {
	if *evaluation == "" {
		t.Skip("-trafilatura names no folder")
	}
	b, err := os.ReadFile(filepath.Join(*evaluation, "evaldata.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pages map[string]struct {
		File          string
		With, Without []string
	}
	if err := json.Unmarshal(b, &pages); err != nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return content.OneLine(s) }
	for _, whole := range []bool{true, false} {
		var kept, wanted, wrong, size int
		start := time.Now()
		for _, page := range pages {
			b, err := os.ReadFile(filepath.Join(*evaluation, "cache", page.File))
			if err != nil {
				b, err = os.ReadFile(filepath.Join(*evaluation, "eval", page.File))
			}
			if err != nil {
				t.Fatal(err)
			}
			var text string
			for _, d := range readBytes(t, b, "page.html", Options{WholePages: whole}).docs {
				title, _ := d.Fields["title"].(string)
				s, _ := d.Fields["text"].(string)
				text, size = plain(title+" "+s), size+len(s)
			}
			for _, s := range page.With {
				if wanted++; strings.Contains(text, plain(s)) {
					kept++
				}
			}
			for _, s := range page.Without {
				if strings.Contains(text, plain(s)) {
					wrong++
				}
			}
		}
		precision, recall := float64(kept)/float64(kept+wrong), float64(kept)/float64(wanted)
		t.Logf("%d pages, whole %v: precision %.3f, recall %.3f, F1 %.3f, %.1f MB, %v a page", len(pages), whole, precision, recall,
			2*precision*recall/(precision+recall), float64(size)/1e6, time.Since(start)/time.Duration(len(pages)))
		if f1 := 2 * precision * recall / (precision + recall); !whole && (f1 < .92 || recall < .95) {
			t.Errorf("F1 is %.3f with a recall of %.3f, want .92 and .95", f1, recall)
		}
	}
}

// prose returns n paragraphs of different sentences.
func prose(n int, about string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<p>The %[2]s number %[1]d was found in the garden, and nobody knew how it came there. After %[1]d days of rain, the gardeners took care of it, which made the neighbours wonder, and wrote about it.</p>\n", i, about)
	}
	return b.String()
}

// Of a web page the text is kept that it is about: what stands around it is left out, and what is
// the content of an unusual page is not.
func TestMainText(t *testing.T) {
	links := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<li><a href="/%[1]d">Menu entry %[1]d</a></li>`, i)
		}
		return "<ul>" + b.String() + "</ul>"
	}
	entries := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, tt := range []struct{ name, body, has, not string }{
		{"article", `<header><div class="top-menu">` + links(8) + `</div></header><main><article><h1>A find</h1><p class="byline">By A. Writer</p>` + prose(6, "stone") +
			`</article></main><div class="related-posts"><h3>You may also like</h3>` + links(6) + `</div><footer>© 2024 The Paper. All rights reserved.</footer>`,
			"A find|stone number 0|stone number 5", "Menu entry|also like"},
		{"no semantic elements", `<div id="nav">` + links(9) + `</div><div id="content"><h1>A find</h1>` + prose(5, "coin") + `</div><div id="sidebar">` + links(5) + `<p>Subscribe to our newsletter.</p></div><div id="footer">Imprint | Contact</div>`,
			"A find|coin number 0|coin number 4", "Menu entry|Subscribe|Imprint"},
		{"lead before the text", `<div class="page"><div class="head"><h1>A find</h1><h2 class="deck">What the gardeners of the town saw one morning surprised each of them, and it still does.</h2></div><div class="body">` + prose(5, "box") + `</div></div>`,
			"surprised each of them|box number 4", ""},
		{"table and code", `<div class="navbar">` + links(7) + `</div><article><h1>Settings</h1>` + prose(3, "switch") + `<h2>Values</h2><table><tr><th>name<th>milliseconds<tr><td>timeout<td>10<tr><td>retry<td>25</table><pre><code class="language-sh"># install
make install</code></pre>` + prose(2, "lever") + `</article>`,
			"name | milliseconds\ntimeout | 10\nretry | 25|# install\nmake install|Values|lever number 1", "Menu entry"},
		{"lists in the text", `<div class="menu">` + links(7) + `</div><article><h1>Packing</h1>` + prose(3, "bag") + `<ul><li>two ropes and a knife</li><li>a map of the valley</li><li>water for three days</li></ul>` + prose(2, "tent") + `</article>`,
			"- two ropes and a knife\n- a map of the valley\n- water for three days", "Menu entry"},
		{"recipe", `<div class="menu">` + links(7) + `</div><main><h1>Bread</h1>` + prose(1, "oven") + `<p>A loaf that is made in an hour, with what is in every kitchen and without any machine.</p><h2>Ingredients</h2><ul><li>500 g of flour</li><li>10 g of salt</li></ul><h2>Steps</h2><ol><li>Mix the flour with the salt and add the water slowly.</li><li>Let it rise for two hours, then bake it until it is brown.</li></ol></main>`,
			"500 g of flour|10 g of salt|bake it until", "Menu entry"},
		{"comments", `<article><h1>A find</h1>` + prose(5, "ring") + `</article><div class="share-buttons"><a href="#">Tweet this</a></div>`, "ring number 4", "Tweet this"},
		{"captions", `<article><h1>A find</h1>` + prose(3, "ring") + `<figure><img src="a.jpg"><figcaption class="caption">Photo: A. Grapher</figcaption></figure>` + prose(3, "cup") + `</article>`, "ring number 2|cup number 2", "A. Grapher"},
		{"cyrillic", `<div class="menu">` + links(9) + `</div><article><h1>Находка</h1>` + entries(5, "<p>Камень номер %d нашли в саду, и никто не знал, как он туда попал. После дождя садовники ухаживали за ним, чему удивлялись соседи.</p>") + `</article>`, "Находка|номер 0|номер 4", "Menu entry"},
		{"chinese", `<div class="menu">` + links(9) + `</div><article><h1>发现</h1>` + entries(5, "<p>在花园里发现了第%d块石头，没有人知道它是怎么来的。下雨之后，园丁们照顾它，邻居们都感到惊讶，并写了下来。</p>") + `</article>`, "发现|第0块|第4块", "Menu entry"},
		{"list of links", `<h1>Bookmarks</h1><ul>` + entries(60, `<li><a href="http://example.org/%[1]d">Site of club %[1]d</a></li>`) + `</ul>`, "Bookmarks|club 0|club 59", ""},
		{"dictionary", `<h1>Words</h1><dl>` + entries(80, `<dt>word%[1]d</dt><dd>a thing, %[1]d</dd>`) + `</dl>`, "word0|a thing, 0|word79|a thing, 79", ""},
		{"dictionary in paragraphs", `<h1>Words</h1>` + entries(80, `<p><b>word%[1]d</b> <i>n.</i> thing %[1]d</p>`), "word0|thing 79", ""},
		{"forum", `<div class="menu">` + links(7) + `</div><h1>Flat tyre</h1>` + entries(8, `<div class="post"><div class="postbody"><p>I had the same with bike %d last week, and a new tube did not help at all. What else could I try?</p></div></div>`), "Flat tyre|bike 0|bike 7", "Menu entry"},
		{"a site map", `<h1>Site map</h1><ul role="menu">` + links(20) + `</ul>`, "Site map|Menu entry 0|Menu entry 19", ""},
		{"menus within menus", `<ul class="nav"><li><a href="#">Our work</a><ul role="menu">` + links(9) + `</ul></li></ul><nav>` + links(3) + `</nav>`, "Our work|Menu entry 8", ""},
		{"all in a navigation", `<nav>` + links(30) + `</nav>`, "Menu entry 0|Menu entry 29", ""},
		{"a short list", `<div role="menu">` + links(1) + `</div><h1>Opening hours</h1><ul><li>Monday to Friday: nine to five</li><li>Saturday: ten to one</li></ul>`, "Saturday: ten to one", "!Menu entry"},
		{"a short sentence", `<div role="menu">` + links(30) + `</div><p>We are closed today.</p>`, "closed today", "!Menu entry"},
		{"short page", `<h1>Hours</h1><p>Monday to Friday, 9 to 5</p>`, "Hours|Monday to Friday", ""},
		{"all in a table", `<table><tr><td>` + prose(2, "well") + `</td><td>` + prose(2, "pond") + `</td></tr></table>`, "well number 1|pond number 1", ""},
		{"deep", strings.Repeat("<div>", 400) + "<p>at the bottom" + strings.Repeat("</div>", 400), "at the bottom", ""},
		{"many elements", `<p>first</p>` + strings.Repeat("<div>x</div>", 20_000), "first", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := func(name string, o Options) string {
				out := readBytes(t, []byte(`<html><head><title>t</title></head><body>`+tt.body+`</body></html>`), name, o)
				if len(out.docs) != 1 || len(out.errors) > 0 {
					t.Fatalf("%.300s", out)
				}
				return out.docs[0].Fields["text"].(string)
			}
			main, all := text("a.html", Options{}), text("a.html", Options{WholePages: true})
			for s := range strings.SplitSeq(tt.has, "|") {
				if !strings.Contains(strings.ReplaceAll(main, " | ", " , "), s) {
					t.Errorf("%q is missing in %.2000q", s, main)
				}
			}
			for s := range strings.SplitSeq(tt.not, "|") {
				never, ok := strings.CutPrefix(s, "!")
				if ok && strings.Contains(main+all, never) {
					t.Errorf("%q is in the text", never)
				} else if !ok && s != "" && (strings.Contains(main, s) || !strings.Contains(all, s)) {
					t.Errorf("%q is in the main text, or not in the whole", s)
				}
			}
		})
	}
}

// A box around the whole page does not count, whatever its name is.
func TestMainTextBoxes(t *testing.T) {
	body := `<ul class="menu">` + strings.Repeat(`<li><a href="/">Menu entry</a></li>`, 8) + `</ul><h1>A find</h1><p class="lead">What the gardeners saw.</p>` + prose(6, "stone") +
		`<h2>How it went on</h2><ul><li>They looked for others.</li><li>They found none.</li></ul>` + prose(2, "coin") + `<div class="related"><h3>You may also like</h3><ul>` + strings.Repeat(`<li><a href="/">Other find</a></li>`, 6) + `</ul></div>`
	text := func(body string) string {
		out := readBytes(t, []byte(`<html><head><title>t</title></head><body>`+body+`</body></html>`), "a.html", Options{})
		if len(out.docs) != 1 || len(out.errors) > 0 {
			t.Fatalf("%.300s", out)
		}
		return out.docs[0].Fields["text"].(string)
	}
	want := text(body)
	if !strings.Contains(want, "coin number 1") || strings.Contains(want, "also like") {
		t.Fatalf("%q", want)
	}
	for _, box := range []string{`div class="footer"`, `div id="footer-wrapper"`, `div class="sidebar"`, `div class="comments"`, `div class="modal newsletter"`,
		`section class="meta info"`, `div class="related-pages"`, `aside`, `footer`, `figure`} {
		tag, _, _ := strings.Cut(box, " ")
		if got := text(`<` + box + `>` + body + `</` + tag + `>`); got != want {
			t.Errorf("in <%s>: %d bytes, want %d: %q", box, len(got), len(want), got)
		}
		if got := text(`<` + box + `><div><section>` + body + `</section></div></` + tag + `><` + box + `>Imprint</` + tag + `>`); !strings.Contains(got, want) {
			t.Errorf("two boxes <%s>: %d bytes, want %d: %q", box, len(got), len(want), got)
		}
	}
}
