package extract

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkBlocks fails the test if the blocks of a document do not cover its text in order.
func checkBlocks(t testing.TB, d Document) {
	t.Helper()
	text, _ := d.Fields["text"].(string)
	end := 0
	for i, b := range d.Blocks {
		if b.Start < end || b.End <= b.Start || b.End > len(text) || b.Head != 0 && (b.Head <= b.Start || b.Head > b.End) ||
			!utf8.ValidString(text[b.Start:b.End]) || strings.TrimSpace(text[end:b.Start]) != "" {
			t.Fatalf("%s: block %d of %d is %+v behind byte %d of %d: %q", d.Source, i, len(d.Blocks), b, end, len(text), text[max(0, end-20):min(len(text), end+60)])
		}
		end = b.End
	}
	if len(d.Blocks) > 0 && strings.TrimSpace(text[end:]) != "" {
		t.Fatalf("%s: text behind the last block: %.60q", d.Source, text[end:])
	}
}

// outline writes blocks one a line: what each is, and its text.
func outline(d Document) string {
	text, _ := d.Fields["text"].(string)
	var b strings.Builder
	for _, k := range d.Blocks {
		what := k.Kind.String()
		if k.Level > 0 {
			what += fmt.Sprint(k.Level)
		}
		if k.Language != "" {
			what += " " + k.Language
		}
		s := text[k.Start:k.End]
		if k.Head > 0 {
			s = text[k.Start:k.Head] + " ##" + text[k.Head:k.End]
		}
		fmt.Fprintf(&b, "%s: %s\n", what, strings.ReplaceAll(s, "\n", "⏎"))
	}
	return b.String()
}

// A text of Markdown or HTML comes with the blocks that its author wrote.
func TestBlocks(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a.md", "# Title\n\nOne\ntwo.\n\n## Part\n\nThree.", "paragraph: One two.\nheading2: Part\nparagraph: Three.\n"},
		{"setext.md", "text\n\nFirst\n===\n\na\n\nSecond\n---\n\nb\n\nThird\n===\n", "paragraph: text\nheading1: First\nparagraph: a\nheading2: Second\nparagraph: b\nheading1: Third\n"},
		{"fence.md", "x\n\n```Sh\n# install dependencies\nmake\n\n## also not a heading\n```\nafter", "paragraph: x\ncode sh: # install dependencies⏎make⏎⏎## also not a heading\nparagraph: after\n"},
		{"fences.md", "x\n\n~~~\n```\n# a\n~~~\n\n    # indented\n    code\n\n`# b`", "paragraph: x\ncode: ```⏎# a\ncode: # indented⏎code\nparagraph: # b\n"},
		{"attributes.md", "x\n\n``` python title=\"a.py\"\nx = 1\n```", "paragraph: x\ncode python: x = 1\n"},
		{"table.md", "Before\n\n| parameter | default in ms |\n|---|---|\n| timeout_1 | 10 |\n| timeout_2 | 20 |\n\nAfter", "paragraph: Before\ntable: parameter | default in ms ##⏎timeout_1 | 10⏎timeout_2 | 20\nparagraph: After\n"},
		{"list.md", "Words\n\n- one\n  - two\n\n    more of two\n- three\n\n1. first\n2. second\n\nEnd", "paragraph: Words\nitem1: - one\nitem2: - two\nitem2: more of two\nitem1: - three\nitem1: 1. first\nitem1: 2. second\nparagraph: End\n"},
		{"items.md", "x\n\n- a\n\n  ```c\n  int a;\n  ```\n- > said\n", "paragraph: x\nitem1: - a\ncode c: int a;\nitem1: - said\n"},
		{"quote.md", "x\n\n> one\n>\n> two\n\n> ## Head\n> text\n\nend", "paragraph: x\nquote: one\nquote: two\nheading2: Head\nquote: text\nparagraph: end\n"},
		{"tasks.md", "x\n\n- [ ] buy\n- [x] pay", "paragraph: x\nitem1: - [ ] buy\nitem1: - [x] pay\n"},
		{"html.md", "x\n\n<details><summary>More</summary>\n\nInside\n\n</details>\n\n<table><tr><th>a<th>b<tr><td>1<td>2</table>\n", "paragraph: x\nparagraph: More\nparagraph: Inside\ntable: a | b ##⏎1 | 2\n"},
		{"pandoc.md", "x\n\n~~~ {#id .Python .numberLines}\n# a\n~~~\n\n```{r plot, echo=FALSE}\nb\n```\n\n```js{1,3}\nc\n```\n\n## Part {#part .new}\n\ny", "paragraph: x\ncode python: # a\ncode r: b\ncode js: c\nheading2: Part\nparagraph: y\n"},
		{"pipes.md", "x\n\na | b\n--- | :-:\n1 \\| 2 | `p \\| q`\n", "paragraph: x\ntable: a | b ##⏎1 | 2 | p | q\n"},
		{"grid.md", "x\n\n+-----+-------+\n| a   | b     |\n+=====+=======+\n| one | two   |\n|     | lines |\n+-----+-------+\ny", "paragraph: x\ntable: a | b ##⏎one | two lines\nparagraph: y\n"},
		{"bare.md", "x\n\n+:-----:+--------+\n| a     | 1      |\n+-------+--------+\n| **b** | 2 \\| 3 |\n+-------+--------+\n", "paragraph: x\ntable: a | 1 ##⏎b | 2 | 3\n"},
		{"wide.md", "x\n\n+------+------+\n| 名前 | 値 |\n+======+======+\n| 日本 | 12 |\n+------+------+\n", "paragraph: x\ntable: 名前 | 値 ##⏎日本 | 12\n"},
		{"merged.md", "x\n\n+-----+-----+---+\n| p         | q |\n+=====+=====+===+\n|     | min | 1 |\n| t   +-----+---+\n|     | max | 2 |\n+-----+-----+---+\n", "paragraph: x\ntable: p | | q ##⏎t | min | 1⏎| max | 2\n"},
		{"comment.md", "x\n\n<!-- hidden\n\n# nor this -->\n\ny\n\n<!-- open\nwords\n\nmore\n", "paragraph: x\nparagraph: y\nparagraph: <!-- open⏎words⏎⏎more\n"},
		{"nogrid.md", "x\n\n```\n+---+\n| a |\n+---+\n```\n\n+---+\n| not closed\n\n+ item\n", "paragraph: x\ncode: +---+⏎| a |⏎+---+\nparagraph: +---+ | not closed\nitem1: - item\n"},
		{"a.mdx", "import A from 'a';\nimport {\n  B,\n} from 'b'\n\nexport const c = {\n  d: 1\n}\n\nx {/* not\nthis */}\n\n<Tabs>\n<TabItem value=\"e\">\n\n## Part\n\n```js\n\nimport f from 'f'\n```\n\n</TabItem>\n</Tabs>\n\n:::note\n\ng\n\n:::\n",
			"paragraph: x\nheading2: Part\ncode js: import f from 'f'\nparagraph: note\nparagraph: g\n"},
		{"a.rst", "Top\n===\n\nOne\ntwo\n\nPart\n----\n\n.. code-block:: sh\n\n   # not a heading\n\n   make\n\nSo::\n\n   x = 1\n\n+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n- item\n  more\n- next\n\nLast\n====\n\nend",
			"paragraph: One⏎two\nheading2: Part\ncode:    # not a heading⏎⏎   make\nparagraph: So:\ncode:    x = 1\ntable: a | b⏎1 | 2\nitem1: - item⏎  more\nitem1: - next\nheading1: Last\nparagraph: end\n"},
		{"a.adoc", "= Top\n\nOne\n\n== Part\n\n----\n# not a heading\n\n* nor an item\n----\n\n=== Deep\n\n* item\n** nested\n\n|===\n|a |b\n|1 |2\n|===\n\nend", "paragraph: One\nheading2: Part\ncode: # not a heading⏎⏎* nor an item\nheading3: Deep\nitem1: * item\nitem1: ** nested\ntable: a | b⏎1 | 2\nparagraph: end\n"},
		{"a.org", "#+TITLE: Top\nOne\n* Part\n** Deep\n#+BEGIN_SRC sh\n# not a heading\n#+END_SRC\n| a | b |\n|---+---|\n| 1 | 2 |\n- item\nend", "paragraph: One\nheading1: Part\nheading2: Deep\ncode: # not a heading\ntable: a | b⏎1 | 2\nitem1: - item⏎end\n"},
		{"a.ipynb", `{"cells":[{"cell_type":"markdown","source":"# T\n\ntext\n\n## S"},{"cell_type":"code","source":"# comment\nx = 1"}]}`, "paragraph: text\nheading2: S\ncode: # comment⏎x = 1\n"},
		{"a.html", "<title>T</title><h1>A</h1><p>One<br>two<h2>B <code>x</code></h2>loose<div>in a div</div>", "heading1: A\nparagraph: One⏎two\nheading2: B x\nparagraph: loose\nparagraph: in a div\n"},
		{"code.html", `<p>x<pre><code class="language-Go"># not a heading

func</code></pre><div class="highlight-python notranslate"><div class=highlight><pre><span></span>import <b>os</b>
</pre></div></div><pre class="brush: js; x">var a</pre><pre>plain</pre><p>y`, "paragraph: x\ncode go: # not a heading⏎⏎func\ncode python: import os\ncode js: var a\ncode: plain\nparagraph: y\n"},
		{"list.html", "<ul><li>one<ul><li><p>two</p><p>more</p></li></ul>rest<li>three</ul><ol><li>four</ol>x<dl><dt>term<dd>meaning<dt>next<dd><p>a<p>b</dl>",
			"item1: - one\nitem2: - two\nitem2: more\nitem1: rest\nitem1: - three\nitem1: 1. four\nparagraph: x\nparagraph: term⏎meaning\nparagraph: next\nparagraph: a\nparagraph: b\n"},
		{"table.html", "<p>x<table><caption>Settings</caption><thead><tr><td>name<td>ms</thead><tbody><tr><td><p>a</p></td><td><ul><li>1<li>2</ul></td></tr><tr><td>b<br>c<td>3</table>y",
			"paragraph: x\ntable: Settings⏎name | ms ##⏎a | 1 2⏎b c | 3\nparagraph: y\n"},
		{"rows.html", "<p>x<table><tr><th>k<td>v<tr><th>l<td>w</table><table><tr><th>a<th>b</tr><tr><th>c<th>d</tr><tr><td>1<td>2</table>", "paragraph: x\ntable: k | v⏎l | w\ntable: a | b⏎c | d ##⏎1 | 2\n"},
		{"spans.html", "<p>x<table><tr><th rowspan=2>name<th colspan=2>size<tr><th>min<th>max<tr><td rowspan=3>a<td>1<td>2<tr><td>3<td rowspan=2>4<tr><td>5</tr><tr><td>b<td colspan=2>6</table>y",
			"paragraph: x\ntable: name | size⏎name | min | max ##⏎a | 1 | 2⏎a | 3 | 4⏎a | 5 | 4⏎b | 6\nparagraph: y\n"},
		{"gaps.html", "<p>x<table><tr><th><th>red<th>blue<tr><th>cats<td><td>2<tr><td><td>3<td></table>y", "paragraph: x\ntable: | red | blue ##⏎cats |  | 2⏎| 3\nparagraph: y\n"},
		{"bold.html", "<p>x<table><tr><td><b>k</b><td><strong>v</strong> <tr><td>a<td><b>1</b></table><table><tr><td><b>k</b><td>1<tr><td>a<td>2</table>", "paragraph: x\ntable: k | v ##⏎a | 1\ntable: k | 1⏎a | 2\n"},
		{"numbers.html", "<p>x<ol start=3><li>a<ul><li>b</ul><li>c<ol><li>d</ol><li value=9>e</ol><ul><li>f</ul>", "paragraph: x\nitem1: 3. a\nitem2: - b\nitem1: 4. c\nitem2: 1. d\nitem1: 9. e\nitem1: - f\n"},
		{"layout.html", "<title>T</title><table><tr><td><h1>Menu</h1></td><td><p>One<p>Two<table><tr><td>1<td>2<tr><td>3<td>4</table></td></tr><tr><td>left<td>right</table>",
			"heading1: Menu\nparagraph: One\nparagraph: Two\ntable: 1 | 2⏎3 | 4\nparagraph: left | right\n"},
		{"roles.html", `<p>x<div role=heading aria-level=3>A</div><p>b<span role="heading">C</span>d<div role=table><div role=rowgroup><div role=row><span role=columnheader>k</span><span role=columnheader>v</span></div></div><div role=row><div role=cell><div>1</div></div><div role=cell>2</div></div></div>` +
			`<div role=list><div role=listitem>e</div><div role=listitem>f</div></div><section role=heading aria-level=9>G</section>h`, "paragraph: x\nheading3: A\nparagraph: b\nheading2: C\nparagraph: d\ntable: k | v ##⏎1 | 2\nitem1: - e\nitem1: - f\nheading6: G\nparagraph: h\n"},
		{"openroles.html", `<p>x<div role=row><span role=cell>a<span role=cell>b</div>y<div role=table><div role=row><div role=cell>c<table role=table><tr><td>1<td>2<tr><td>3<td>4</table></div></div></div><p>z`, "paragraph: x\nparagraph: a | b\nparagraph: y\ntable: c\ntable: 1 | 2⏎3 | 4\nparagraph: z\n"},
		{"quote.html", "<p>x<blockquote>one<p>two<ul><li>three</ul></blockquote>four", "paragraph: x\nquote: one\nquote: two\nitem1: - three\nparagraph: four\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, []byte(tt.in), tt.name, Options{})
			if len(out.docs) != 1 {
				t.Fatal(out)
			}
			if got := outline(out.docs[0]); got != tt.want {
				t.Errorf("blocks\n%swant\n%s", got, tt.want)
			}
		})
	}
	text := strings.Repeat("a\n\n", (1<<18)+10)
	if out := readBytes(t, []byte(text), "a.md", Options{}); len(out.docs) != 1 || len(out.docs[0].Blocks) != (1<<18) {
		t.Errorf("got %d blocks, want %d", len(out.docs[0].Blocks), (1 << 18))
	}
}

// A mark of a note does not join the word before it, and an exponent not its base.
func TestSuperscripts(t *testing.T) {
	for name, in := range map[string]string{"style.html": `<title>t</title><p>the rate<span style="color: red; vertical-align: super">7</span> of it`, "link.md": "the rate[7](#fn7) of it", "epub.html": `<title>t</title><p>the rate<a epub:type="noteref" href="n.xhtml">7</a> of it`, "role.html": `<title>t</title><p>the rate<a role="doc-noteref" href="n">7</a> of it`} {
		if text, _ := readBytes(t, []byte(in), name, Options{}).docs[0].Fields["text"].(string); text != "the rate [7] of it" {
			t.Errorf("%s: %q", in, text)
		}
	}

	for in, want := range map[string]string{
		"climate<sup>1</sup> report":                           "climate [1] report",
		"climate<sup>[1]</sup> report":                         "climate [1] report",
		"climate<sup>1,2</sup>, report":                        "climate [1,2], report",
		"climate.<sup>12</sup> Report":                         "climate. [12] Report",
		"climate<sup>a</sup> report":                           "climate [a] report",
		"climate<sup>†</sup>":                                  "climate [†]",
		"climate<sup>1</sup><sup>2</sup>":                      "climate [1] [2]",
		`the<sup><a href="#n3">3</a></sup> end`:                "the [3] end",
		`in 1998<a href="#n3"><sup>3</sup></a>.`:               "in 1998 [3].",
		`by then<sup class="footnote-ref" id="r">4</sup>`:      "by then [4]",
		`EU<sup id="cite_ref-5">[5]</sup>`:                     "EU [5]",
		"10<sup>6</sup> cells":                                 "10^6 cells",
		"10<sup>−6</sup> m":                                    "10^−6 m",
		"2<sup>n</sup> ways":                                   "2^n ways",
		"5 m<sup>2</sup>, 3 cm<sup>3</sup>":                    "5 m², 3 cm³",
		"E = mc<sup>2</sup>":                                   "E = mc²",
		"x<sup>n</sup> + e<sup>4</sup>":                        "x^n + e^4",
		"s<sup>-1</sup>":                                       "s^-1",
		"Ca<sup>2+</sup> and SO<sub>4</sub><sup>2−</sup>":      "Ca^2+ and SO4^2−",
		"CO<sub>2</sub>":                                       "CO2",
		"<sup>14</sup>C dating":                                "14C dating",
		"the 1<sup>st</sup>, 2<sup>nd</sup> and 3<sup>e</sup>": "the 1st, 2nd and 3e",
		"M<sup>me</sup> Curie, D<sup>r</sup>, n<sup>o</sup> 5": "Mme Curie, Dr, no 5",
		"Windows<sup>TM</sup> and Coca<sup>®</sup>":            "Windows TM and Coca [®]",
		"1<sup>1</sup>/<sub>2</sub> cups":                      "1 1/2 cups",
		"<sup>1</sup>/<sub>2</sub> cup":                        "1/2 cup",
		"<sup>1</sup>Smith, p. 5":                              "[1] Smith, p. 5",
		"<sup>2</sup> Smith, p. 5":                             "2 Smith, p. 5",
		"an <sup>unclosed":                                     "an unclosed",
		`the rate<a href="#fn7">7</a> of it`:                   "the rate [7] of it",
		`the rate<a href="#fn7">[7]</a>, or so`:                "the rate [7], or so",
		`the rate<a href="#n">*</a> of it`:                     "the rate [*] of it",
		`see<a href="#n">tables</a> and <a href="#n">7</a>`:    "seetables and 7",
		"a <code>b</code>":                                     "a b",
		"word<sup></sup> end":                                  "word end",
	} {
		for name, page := range map[string]string{"a.html": "<title>t</title><p>" + in + "<p>x", "a.md": in + "\n\nx", "b.md": "- " + in, "c.html": "<title>t</title><table><tr><td>" + in + "<td>y<tr><td>z<td>z</table>"} {
			out := readBytes(t, []byte(page), name, Options{})
			if text, _ := out.docs[0].Fields["text"].(string); !strings.HasPrefix(strings.TrimPrefix(text, "- "), want) {
				t.Errorf("%s: %s: %q, want %q", name, in, text, want)
			}
		}
	}
}
