package passage

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPassageSentences(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"indented, as in a manual",
			"type Scanner struct {\n    Scanner provides a convenient interface for reading data such as a file\n    of newline-delimited lines of text. Successive calls to the Scanner.Scan\n    method will step through the tokens.",
			[]string{"type Scanner struct {", "Scanner provides a convenient interface for reading data such as a file\n    of newline-delimited lines of text.", "Successive calls to the Scanner.Scan\n    method will step through the tokens."}},
		{"CRLF", "The quick brown fox jumps over the lazy dog and\r\nthen goes home. It sleeps.", []string{"The quick brown fox jumps over the lazy dog and\r\nthen goes home.", "It sleeps."}},
		{"a word at the end of a sentence begins the line", "Whoever wants to keep the old file should not remove\nit. Others may.", []string{"Whoever wants to keep the old file should not remove\nit.", "Others may."}},
		{"a list", "- a first item that is as long as any line of this text is\n- a second one\n1. another one\n2) and another", []string{"- a first item that is as long as any line of this text is", "- a second one", "1. another one", "2) and another"}},
		{"short lines", "Milk and bread\nEggs\nA bag of flour", []string{"Milk and bread", "Eggs", "A bag of flour"}},
		{"lines with room for more", "The first line is the one that is by far the longest of all here;\nroom is left\nhere, and here\nfor more", []string{"The first line is the one that is by far the longest of all here;", "room is left", "here, and here", "for more"}},
		{"code", "for i := range somethingThatHasALongName {\n\tsum += i\n}\nreturn sum", []string{"for i := range somethingThatHasALongName {", "sum += i", "}", "return sum"}},
		{"a heading", "A paragraph whose lines are as long as they can be, before\n# A heading\nand a line after it that is as long as it can be, too\nor so.", []string{"A paragraph whose lines are as long as they can be, before", "and a line after it that is as long as it can be, too\nor so."}},
		{"paragraphs", "The end of this paragraph is a line without a period at all\n\nand this is another paragraph", []string{"The end of this paragraph is a line without a period at all", "and this is another paragraph"}},
	} {
		var got []string
		for _, s := range Sentences(tc.text, 0) {
			got = append(got, tc.text[s.Start:s.End])
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// Only line breaks are replaced, and nothing moves.
func TestUnwrappedKeepsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zé#.:-]{0,9}[ \t\r\n]{0,3}){0,60}`).Draw(t, "text")
		got := unwrapped(text, 0)
		if len(got) != len(text) {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
		for i := range len(text) {
			if got[i] != text[i] && (got[i] != ' ' || !strings.ContainsRune("\r\n", rune(text[i]))) {
				t.Fatalf("byte %d: %q of %q", i, got[i], text[i])
			}
		}
	})
}

// A passage that begins in the middle of a line has the sentences that its text has.
func TestPassageSentencesOfATornLine(t *testing.T) {
	text := "A sentence goes on and on, to the end of its line. This\nis another one, which begins at the end of a line, and\nends here. Others follow."
	start := strings.Index(text, "This")
	var got []string
	for _, s := range Sentences(text[start:], start) {
		got = append(got, text[start+s.Start:start+s.End])
	}
	if want := []string{"This\nis another one, which begins at the end of a line, and\nends here.", "Others follow."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
