package search

import "testing"

// TestTitled: a title that a passage begins with is taken off it, unless it ends within a word
// there.
func TestTitled(t *testing.T) {
	for _, tc := range []struct{ name, over, text, title, rest string }{
		{"no title", "", "a red car", "", "a red car"},
		{"white space", " \n", "a red car", "", "a red car"},
		{"another text", "Cars", "a red car", "Cars", "a red car"},
		{"the beginning of the text", " Red car ", "Red car: a story", "Red car", ": a story"},
		{"the text itself", "Red car", "Red car", "Red car", ""},
		{"a part of its first word", "Red", "Redcar", "Red", "Redcar"},
		{"a part of its first number", "Chapter 1", "Chapter 12 begins", "Chapter 1", "Chapter 12 begins"},
		{"a part of a word without spaces", "東京", "東京都は", "東京", "東京都は"},
		{"a word but for a vowel that is a mark", "हिन्द", "हिन्दी भाषा", "हिन्द", "हिन्दी भाषा"},
		{"a word but for an accent", "cafe", "cafe\u0301 noir", "cafe", "cafe\u0301 noir"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if title, rest := (record{}).titled(tc.over, tc.text); title != tc.title || rest != tc.rest {
				t.Errorf("titled(%q, %q) = %q, %q, want %q, %q", tc.over, tc.text, title, rest, tc.title, tc.rest)
			}
			bare := record{}
			bare.Settings.Passages.NoTitle = true
			if title, rest := bare.titled(tc.over, tc.text); title != "" || rest != tc.text {
				t.Errorf("where titles are not encoded: %q, %q", title, rest)
			}
		})
	}
}
