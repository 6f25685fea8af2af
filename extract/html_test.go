package extract

import (
	"os"
	"strings"
	"testing"
)

// Pages as programs write them give their text, without what stands around it.
func TestHTMLPages(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"Sphinx", `<!DOCTYPE html><html lang="en"><head><title>Install — Tool 1.0</title></head><body>
<a class="skip-link" href="#main">Skip to content</a>
<div class="related" role="navigation" aria-label="related navigation"><h3>Navigation</h3><ul><li class="right"><a>index</a></li><li>next |</li></ul></div>
<div class="document"><div class="body" role="main"><section id="cookie-consent"><h1>Install<a class="headerlink" href="#install" title="Link">¶</a></h1>
<p>Run the installer.</p><div class="section" id="cookie-banner"><h2>Tabs<a class="headerlink" href="#t">¶</a></h2>
<div role="tablist"><button role="tab">Linux</button></div><div role="tabpanel">apt install</div><div role="tabpanel" hidden="hidden">brew install</div></div>
<div class="highlight"><button class="copybtn">Copy</button><pre>$ tool</pre></div></section></div></div>
<div class="sphinxsidebar" role="navigation"><div><div><h3>Contents</h3></div></div><div role="search"><form>Search</form></div></div>
<footer>© 2024, Somebody. Built with Sphinx.</footer></body></html>`,
			"Install\n\nRun the installer.\n\nTabs\n\napt install\n\nbrew install\n\n$ tool"},
		{"blog", `<!doctype html><html><head><title>My trip</title></head><body><header><nav><ul><li>Home</ul></nav></header>
<div id="cookie-law-info-bar"><span>We use cookies. <button>OK</button></span></div><div class="cc-window cookie-consent-banner"><div>Accept</div></div>
<main><article><h1>My trip</h1><p>Snow <span aria-hidden="true">❄</span> fell.<blockquote><p>Well said.</p><footer>A. Author</footer></blockquote>
<h2><button aria-expanded="false">What did it cost?</button></h2><p>Little.</p><details><summary>More</summary>It is here.</details><footer>Tags: snow</footer></article></main>
<dialog id="share"><p>Share this</p></dialog><footer><p>Imprint</p></footer></body></html>`,
			"My trip\n\nSnow fell.\n\nWell said.\n\nA. Author\n\nWhat did it cost?\n\nLittle.\n\nMore\nIt is here.\n\nTags: snow"},
		{"wiki", `<!DOCTYPE html><html lang="en"><head><title>Energy - Wiki</title></head><body><a class="mw-jump-link" href="#c">Jump to content</a>
<div id="content"><h1>Energy</h1><div role="note" class="hatnote">For others, see Force.</div><p><b>Energy</b> is <span><math><semantics><mi>E</mi><mo>=</mo><mi>m</mi>
<annotation encoding="application/x-tex">{\displaystyle E=m}</annotation></semantics></math><img src="x" aria-hidden="true" alt="{\displaystyle E=m}"></span>.</p>
<div id="toc" class="toc" role="navigation"><h2>Contents</h2><ul><li>1 History</li></ul></div>
<h2>History<span class="mw-editsection"><span>[</span><a>edit</a><span>]</span></span></h2><p>Long ago.</p><div role="navigation" class="navbox"><table><tr><td>Other topics</table></div></div></body></html>`,
			"Energy\n\nFor others, see Force.\n\nEnergy is E=m .\n\nHistory\n\nLong ago."},
		{"forum", `<html><head><title>Thread</title></head><body><div id=page><div class=menu><ul role="menubar"><li role=menuitem>Log in</ul></div>
<div class=post><div class=cookie-talk>How do I clear cookies?</div><div class=actions><button>Reply</button><button>Quote</button></div></div>
<div class=post><p hidden>no end<p>Press the key.</div></div></body></html>`,
			"How do I clear cookies?\n\nno end\n\nPress the key."},
		{"code in colours", "<p>So:<pre><span></span><span class=k>with</span> <span>open</span>(x) <span class=k>as</span><span class=w> </span><span>f</span>:\n    <span>a</span> <span>=</span> f \n \n<span class=w>    </span><span>b</span>\n </pre>Done.",
			"So:\n\nwith open(x) as f:\n    a = f \n\n    b\n\nDone."},
		{"unclosed", `<html><body><div role=navigation>menu<div hidden>x<h1>Head</h1><p>Text</p></body></html>`, "Head\n\nText"},
		{"ruby", "<p>The <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rp>(</rp><rt>ji</rt><rp>)</rp></ruby>です<p><ruby>東<rt>とう<rp>)<rb>京<rtc>きょう</ruby>都 <ruby>\n 大\n <rt>おお</rt>\n 阪\n <rt>さか</rt>\n</ruby>" +
			"<p><rt>No ruby</rt>.<p><ruby>not<rt>closed<p>Next <ruby>New <rb>York</rb></ruby>", "The 漢字です\n\n東京都 大阪\n\nNo ruby.\n\nnot\n\nNext New York"},
		{"short notes", `<p>Text<a href="#n1"><sup>1</sup></a>.<hr><section role="doc-endnotes"><ol><li id="n1"><p>Ibid. <a href="#r1" role="doc-backlink">↩</a><li><p>Word</ol></section><aside epub:type="footnote"><p>Two</aside>`,
			"Text [1].\n\n1. Ibid. ↩\n2. Word\n\nTwo"},
		{"nothing else", `<html><body><div id=app aria-hidden="true"><p>All there is</p></div></body></html>`, "All there is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, []byte(tt.page), "a.html", Options{})
			if len(out.docs) != 1 {
				t.Fatal(out)
			}
			text := out.docs[0].Fields["text"].(string)
			if title, _ := out.docs[0].Fields["title"].(string); strings.HasPrefix(tt.want, title+"\n") {
				text = title + "\n\n" + text // which was taken off
			}
			if text != tt.want {
				t.Errorf("text\n%q\nwant\n%q", text, tt.want)
			}
		})
	}
}

// A page without text that lies among others is passed over like an empty file; alone it is an
// error.
func TestHTMLWithoutText(t *testing.T) {
	redirect := `<html><head><meta http-equiv="refresh" content="0; url=b.html"></head><body></body></html>`
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.html", []byte(redirect), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []ItemError
	stats, err := Walk(t.Context(), []string{dir}, Options{}, func(Document) error { return nil },
		func(e ItemError) error { told = append(told, e); return nil })
	if err != nil || len(told) > 0 || stats.Empty != 1 || stats.Files != 0 {
		t.Errorf("Walk = %+v, %v, told %v", stats, err, told)
	}
	if out := readBytes(t, []byte(redirect), "a.html", Options{}); len(out.errors) != 1 {
		t.Errorf("Reader: %v, want an error", out)
	}
}
