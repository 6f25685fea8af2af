package extract

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNoteLinks(t *testing.T) {
	for _, tt := range []struct{ in, text string }{
		{"See [[Boiler]], [[People/Anna|Anna B.]], [[House#Cellar]], [[#Top]] and [[House#^a1b2]].", "See Boiler, Anna B., House > Cellar, Top and House."},
		{"![[boiler.jpg|300]] ![[plan.png|200x100]] ![[Note|its name]]", "boiler.jpg plan.png its name (Note)"},
		{"a [[1]](x.html), [[2]][r], [not [[a]], [[]], [[ ]], [[a\nb]]\n\n[r]: y", "a [1], [2], [not a, [[]], [[ ]], [[a b]]"},
		{"[[Boiler|the heating]], [[boiler room|Boiler Room]], [[House#Cellar|below]], [[#Top|up]], [[a/b/Pump|new pumps]], [[Tap| ]] and [[People/Anna|her]].",
			"the heating (Boiler), Boiler Room, below (House > Cellar), up (Top), new pumps, Tap and her (People/Anna)."},
		{"`[[ -f x ]]` and \\[[x]]", "[[ -f x ]] and [[x]]"},
		{"```\nif [[a|b]]\n```", "if [[a|b]]"},
		{"| a | b |\n|---|---|\n| [[x\\|y]] | z |", "a | b\ny (x) | z"},
		{"> [!warning]- Carbon *monoxide*\n> Change the\n> battery.", "Carbon monoxide\nChange the battery."},
		{"> [!NOTE]\n> Change the\n> battery.", "Note\nChange the battery."},
		{"> Words\n>\n> [!NOTE]\n\n[!tip] no", "Words\n\n[!NOTE]\n\n[!tip] no"},
		{"- One\n  id:: 61d5-aa\n  collapsed:: true\n\t- Two `id:: x`", "- One\n- Two id:: x"},
		{"Text[^1].\n\n[^1]: Ibid.", "Text[^1].\n\n[^1]: Ibid."},
		{"See[^a], [b][l] and [c].\n\n[^a]: Two words\ngo on.\n[^2]: *Vega*\n[l]: http://x.org\n[c]: <http://y.org>\n[^3]: Last\n\nEnd", "See[^a], b and c.\n\n[^a]: Two words go on.\n[^2]: Vega\n[^3]: Last\n\nEnd"},
		{"> [^1]: Word\n\n- [^2]: Word\n\nNo\n[^3]: note", "[^1]: Word\n\n- [^2]: Word\n\nNo [^3]: note"},
		{"Text\n\n```compressed-json\nN4KAk\n```", "Text"},
		{"==Order *it*== now, %%ask Anna%% and ==wait==.", "Order it now, ask Anna and wait."},
		{"a==b or c==d, a == b == c, ==x and 100%% of 5%%, %%i of %%i, === ====", "a==b or c==d, a == b == c, ==x and 100%% of 5%%, %%i of %%i, === ===="},
		{"`==a==` `%%b%%`\n\n```\n==a== %%b%%\n```", "==a== %%b%%\n\n==a== %%b%%"},
		{"%%\ncomment\n%%\n\n%%\n\n## Two\n\nblocks\n\n%%\n\nEnd", "comment\n\nTwo\n\nblocks\n\nEnd"},
		{"- [ ] paint\n\n%% kanban:settings\n```\n{\"a\":1}\n```\n%%\n", "- [ ] paint"},
		{"%% kanban:settings\n\nText\n\n```\nx\n```", "Text\n\nx"},
		{"One. ^a1b2c3\n\n- two ^quote-of-day\n\n^table\n\n5 ^2 and `x ^abc`, 3 ^ab", "One.\n\n- two\n\n5 ^2 and x ^abc, 3 ^ab"},
	} {
		out := readBytes(t, []byte(tt.in), "a.md", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["text"] != tt.text {
			t.Errorf("%q: %v\nwant %q", tt.in, out, tt.text)
		}
	}
	start := spent()
	for _, in := range []string{"x[[", "x![[", "[[a", "[[a]", "[[a]](", "> [!", "> [!a]\n\n", "==a ", " a==", "%%a%% ", "%% a", "==a%%", "[^a]: b\n", "[^a]: b\n[c]: d\n"} {
		out := readBytes(t, []byte(strings.Repeat(in, 1<<16/len(in))), "a.md", Options{})
		if len(out.docs) != 1 {
			t.Errorf("%q: %v", in, out.errors)
		}
	}
	if d := spent() - start; d > time.Minute {
		t.Errorf("took %v", d)
	}
}

// Links to notes stand in the properties of a note as they do in its text.
func TestNoteLinksInProperties(t *testing.T) {
	out := readBytes(t, []byte("---\nup: \"[[House#Cellar|cellar]]\"\npeople: [\"[[Anna]]\", Bob]\nnote: see [[A/B]] and [x]\nin: {room: \"[[Hall]]\"}\n---\nText"), "a.md", Options{})
	want := map[string]any{"up": "cellar", "people": []any{"Anna", "Bob"}, "note": "see A/B and [x]", "in": map[string]any{"room": "Hall"}}
	for key, value := range want {
		if got := out.docs[0].Fields[key]; !reflect.DeepEqual(got, value) {
			t.Errorf("%s = %v, want %v", key, got, value)
		}
	}
}

// A heading of a section is not the title of a note that has several, nor one that stands behind
// other text.
func TestMarkdownTitle(t *testing.T) {
	for in, want := range map[string]string{
		"# One\n\ntext\n\n# Two\n":             "One",
		"text\n\n# One\n\n## Two\n":            "One",
		"text\n\n# One\n\n# Two\n":             "2021-03-04",
		"## Log\n\n- call\n\n## Gratitude\n":   "2021-03-04",
		"## Log\n\n- call\n\n### Gratitude\n":  "Log",
		"## Log\n\n- call\n\n# Gratitude\n":    "2021-03-04",
		"[[2021-03-03]]\n\n## Log\n\n- call\n": "2021-03-04",
		"---\ntitle: T\n---\n## A\n\n## B\n":   "T",
	} {
		out := readBytes(t, []byte(in), "daily/2021-03-04.md", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != want {
			t.Errorf("%q: %v, want the title %q", in, out, want)
		}
	}
}

// A drawing of Excalidraw is a note with the same headings as all others; what is written on it is
// kept.
func TestDrawing(t *testing.T) {
	const note = "---\nexcalidraw-plugin: parsed\n---\n==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠==\n\n" +
		"# Excalidraw Data\n\n## Text Elements\nSolar panels ^abcd1234\n\n%%\n## Drawing\n```compressed-json\nN4KAk\n```\n%%\n"
	out := readBytes(t, []byte(note), "Sketches/Roof.excalidraw.md", Options{})
	const text = "Excalidraw Data\n\nText Elements\n\nSolar panels\n\nDrawing"
	if len(out.docs) != 1 || out.docs[0].Fields["title"] != "Roof" || out.docs[0].Fields["text"] != text {
		t.Errorf("%v, want the title Roof and the text %q", out, text)
	}
}
