package extract

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWholeID(t *testing.T) {
	for path, want := range map[string]string{
		"":                        "",
		"notes/größe.md":          "notes/größe.md",
		"gr\xf6\xdfe/a\nb\x07.md": `gr\xf6\xdfe/a\nb\a.md`,
		`a\b".md`:                 `a\b".md`,
	} {
		if got := wholeID(path); got != want {
			t.Errorf("wholeID(%q) = %q, want %q", path, got, want)
		}
	}
	for _, name := range []string{"/end.md", "/.end.md", "/..end.md"} { // wherever the cut falls
		ids := map[string]bool{}
		for _, front := range []string{"a", "b"} {
			path := front + strings.Repeat("/ö", 400) + name
			id := wholeID(path)
			ids[id] = true
			if len(id) > maxID || len(id) < maxID-4 || !utf8.ValidString(id) || !strings.HasSuffix(id, "ö"+name) {
				t.Errorf("wholeID of %d bytes = %q", len(path), id)
			}
		}
		if len(ids) != 2 {
			t.Errorf("two paths have the id %v", ids)
		}
	}
}

func TestWithoutTitle(t *testing.T) {
	for _, tt := range []struct{ name, file, in, title, text string }{
		{"heading", "a.md", "# Flat tyre\n\nTake the wheel off.\n", "Flat tyre", "Take the wheel off."},
		{"heading in front of a heading", "a.md", "# Bikes\n## Tyres\nRound.\n", "Bikes", "Tyres\n\nRound."},
		{"front matter and the same heading", "a.md", "---\ntitle: Tyres\n---\n# Tyres\n\nRound.\n", "Tyres", "Round."},
		{"front matter and another heading", "a.md", "---\ntitle: Tyres\n---\n# Wheels\n\nRound.\n", "Tyres", "Wheels\n\nRound."},
		{"heading further down", "a.md", "Words first.\n\n# Tyres\n\nRound.\n", "Tyres", "Words first.\n\nTyres\n\nRound."},
		{"paragraph that begins as the title does", "a.md", "---\ntitle: Tyres\n---\nTyres are round.\n", "Tyres", "Tyres are round."},
		{"only the title", "a.md", "# Tyres\n", "Tyres", "Tyres"},
		{"title and a rule", "a.txt", "Tyres\n\n---\n", "Tyres", "Tyres\n\n---"},
		{"HTML", "a.html", "<title>Tyres</title><h1>Tyres</h1><p>Round.", "Tyres", "Round."},
		{"HTML, heading alone", "a.html", "<h1>Tyres</h1><p>Round.", "Tyres", "Round."},
		{"HTML, another title", "a.html", "<title>Tyres | Bikes</title><h1>Tyres</h1><p>Round.", "Tyres | Bikes", "Tyres\n\nRound."},
		{"text", "a.txt", "Tyres\n\nRound.\n", "Tyres", "Round."},
		{"wrapped paragraph", "a.txt", "Tyres are\nround.\n", "Tyres are", "Tyres are\nround."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, []byte(tt.in), tt.file, Options{})
			if len(out.docs) != 1 {
				t.Fatalf("got %v", out)
			}
			if f := out.docs[0].Fields; f["title"] != tt.title || f["text"] != tt.text {
				t.Errorf("title %q, text %q, want %q and %q", f["title"], f["text"], tt.title, tt.text)
			}
		})
	}
}

// In XHTML a slash closes an element; in HTML it means nothing.
func TestSelfClosing(t *testing.T) {
	const body = `<h1>One</h1><p>dark <a id="x"/>night</p>`
	for _, tt := range []struct{ name, in, title, text string }{
		{"a.xhtml", `<html><head><title/><script src="x.js"/></head><body>` + body, "One", "dark night"},
		{"a.html", `<?xml version="1.0"?><html><head><title>T</title><style/></head><body><textarea/>` + body, "T", "One\n\ndark night"},
		{"a.xhtml", `<html><svg><title/><svg/>no</svg><nav><nav/>no</nav>` + body, "One", "dark night"},
		{"a.html", `<html><head><title>T</title></head><body><p>seen</p><script src="x.js"/>` + body, "T", "seen"},
	} {
		out := readBytes(t, []byte(tt.in), tt.name, Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != tt.title || out.docs[0].Fields["text"] != tt.text {
			t.Errorf("%s: %s gives %v, want title %q and text %q", tt.name, tt.in, out, tt.title, tt.text)
		}
	}
}

// A note of front matter alone has its name and what it says there.
func TestFrontMatterAlone(t *testing.T) {
	for in, want := range map[string]string{
		"---\ntags: [garden]\n---\n": "document n/My note.md at n/My note.md: \n{\n  \"path\": \"n/My note.md\",\n  \"tags\": [\n    \"garden\"\n  ],\n  \"text\": \"\",\n  \"title\": \"My note\"\n}\n",
		"---\ntags:\n---\n\n":        "document n/My note.md at n/My note.md: \n{\n  \"path\": \"n/My note.md\",\n  \"text\": \"\",\n  \"title\": \"My note\"\n}\n",
		"***\n":                      "fail n/My note.md: no text in Markdown of 4 bytes\n",
	} {
		if got := readBytes(t, []byte(in), "n/My note.md", Options{}).String(); got != want {
			t.Errorf("%q gives\n%s\nwant\n%s", in, got, want)
		}
	}
}
