package extract

import "testing"

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
