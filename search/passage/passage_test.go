package passage

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// words counts white space separated words, and each 10 bytes of a long one, as a tokenizer does.
func words(s string) int {
	n := 0
	for _, w := range strings.Fields(s) {
		n += 1 + (len(w)-1)/10
	}
	return n
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		budget     int
		want       []string
	}{
		{"empty", " \n\t ", 10, nil},
		{"fits", "One two. Three four.", 10, []string{"One two. Three four."}},
		{"at sentences", "One two three. Four five six. Seven.", 5, []string{"One two three.", "Four five six. Seven."}},
		{"paragraph kept whole", "A b c d e f.\n\nG h i. J k l.", 10, []string{"A b c d e f.", "G h i. J k l."}},
		{"heading starts", "# One\ntext of one.\n\n# Two\ntext of two.", 50, []string{"# One\ntext of one.", "# Two\ntext of two."}},
		{"headings together", "# One\n\n## Two\ntext.", 50, []string{"# One\n\n## Two\ntext."}},
		{"long sentence", "a b c d e f g", 3, []string{"a b c", "d e f", "g"}},
		{"short lines of prose", "Whoever keeps the lines of a text short, as mail has\nthem, ends them in the middle of a sentence. This is\nanother one, which goes on here, and it is as long as\nthe first.", 28,
			[]string{"Whoever keeps the lines of a text short, as mail has\nthem, ends them in the middle of a sentence.", "This is\nanother one, which goes on here, and it is as long as\nthe first."}},
		{"short lines of an item", "- a short item\n- an item whose lines are kept as short as those\n  of mail. It has two sentences, of which this one is\n  the second", 16,
			[]string{"- a short item", "- an item whose lines are kept as short as those\n  of mail.", "It has two sentences, of which this one is\n  the second"}},
		{"short lines of a sentence that does not fit", "Whoever keeps the lines of a text short, as mail has\nthem, ends them in the middle of a sentence that is\nlong.", 15,
			[]string{"Whoever keeps the lines of a text short, as mail has", "them, ends them in the middle of a sentence that is\nlong."}},
		{"a log", "12:00:01 INFO the server listens on port eighty. Ready\n12:00:02 INFO the server answers the first request. OK\n12:00:03 INFO the server ends as it was told to. Done", 12,
			[]string{"12:00:01 INFO the server listens on port eighty. Ready", "12:00:02 INFO the server answers the first request. OK", "12:00:03 INFO the server ends as it was told to. Done"}},
		{"a table", "Oslo      Norway     709037     a town on a fjord. Cold\nRome      Italy      2755309    a town on a river. Warm\nCairo     Egypt      10044894   a town on a river. Hot", 12,
			[]string{"Oslo      Norway     709037     a town on a fjord. Cold", "Rome      Italy      2755309    a town on a river. Warm", "Cairo     Egypt      10044894   a town on a river. Hot"}},
		{"a poem", "Shall I compare thee to a summer's day? More so\nThou art more lovely and more temperate. The wind\nRough winds do shake the darling buds of May. And", 12,
			[]string{"Shall I compare thee to a summer's day? More so", "Thou art more lovely and more temperate. The wind", "Rough winds do shake the darling buds of May. And"}},
		{"code", "total = sum(value for value in all_of_the_values_there)\nif total > limit. x: raise\nreturn total", 11,
			[]string{"total = sum(value for value in all_of_the_values_there)", "if total > limit. x: raise\nreturn total"}},
		{"long word", "abcdefghijklmnopqrstuvwxyz", 1, []string{"abcdefghij", "klmnopqrst", "uvwxyz"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range (Cutter{Budget: tc.budget, Count: words}).Cut(tc.text, nil) {
				got = append(got, tc.text[s.Start:s.End])
			}
			if strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("cut(%q) = %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}

// TestCutKeepsEveryWord checks the promises of Cutter on random texts.
func TestCutKeepsEveryWord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,40}[ .!?\n#]{1,3}`), 0, 60).Draw(rt, "pieces"), "")
		c := Cutter{Budget: rapid.IntRange(1, 20).Draw(rt, "budget"), Count: words}
		var joined strings.Builder
		at := 0
		for _, s := range c.Cut(text, nil) {
			p := text[s.Start:s.End]
			if s.Start < at || strings.TrimSpace(p) != p || p == "" || !utf8.ValidString(p) {
				rt.Fatalf("Span %v of %q overlaps, is padded or tears a rune", s, text)
			}
			if n := words(p); n > c.Budget {
				rt.Fatalf("%q has %d tokens, budget %d", p, n, c.Budget)
			}
			joined.WriteString(p)
			at = s.End
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(joined.String()) != squeeze(text) {
			rt.Fatalf("passages of %q lose text: %q", text, joined.String())
		}
	})
}

// TestCutIsLinear: of a text no more is counted than its length some times, however much of it is
// no token.
func TestCutIsLinear(t *testing.T) {
	rest := strings.Repeat(" word", 50_000)
	for name, text := range map[string]string{
		"long word":         strings.Repeat("x", 200_000) + rest,
		"white space":       "word" + strings.Repeat(" ", 500_000) + rest,
		"often white space": strings.Repeat("word"+strings.Repeat(" ", 10_000), 100) + rest,
		"no tokens":         "word" + strings.Repeat(" \u200b", 100_000) + rest,
	} {
		t.Run(name, func(t *testing.T) {
			counted := 0
			c := Cutter{Budget: 100, Count: func(s string) int { counted += len(s); return words(strings.ReplaceAll(s, "\u200b", "")) }}
			c.Cut(text, nil)
			if counted > 40*len(text) {
				t.Errorf("counted %d bytes for a text of %d", counted, len(text))
			}
		})
	}
}

// TestFit: what fits is the longest prefix that ends at a word, as trying every one finds it.
func TestFit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.TrimSpace(strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,12} {1,90}`), 1, 60).Draw(rt, "pieces"), ""))
		c := Cutter{Budget: rapid.IntRange(4, 20).Draw(rt, "budget"), Count: words}
		want := 0
		for end := range len(text) + 1 {
			if (end == len(text) || text[end] == ' ') && words(text[:end]) <= c.Budget {
				want = end
			}
		}
		if end, n := c.Fit(text); end != want || n != words(text[:end]) {
			rt.Fatalf("fit(%q) with %d tokens = %d with %d, want %d", text, c.Budget, end, n, want)
		}
	})
}
