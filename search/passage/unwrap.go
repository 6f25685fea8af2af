package passage

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unwrapped returns text with spaces in the place of line breaks that only keep lines short, as in
// mail, manual pages and comments of code; every byte keeps its place. The text begins at a column
// of its line, counted in runes.
//
// The rules, for each paragraph, item of a list and line of a heading:
//  1. A line break is looked at where the line before it ends in no character after which lists and
//     code go on.
//  2. A line is full where it had no room for the first word of the next.
//  3. Two of three breaks that are looked at must be behind full lines, and of more than one of
//     these each third before a word in small letters: not so in most tables, logs, poems and code.
//     Then those behind full lines only keep lines short.
func unwrapped(text string, column int) string {
	var out []byte
	block := func(start, end int) {
		if start == end {
			return
		}
		for _, at := range wraps(text[start:end], column) {
			if out == nil {
				out = []byte(text)
			}
			for j := start + at; out[j] == '\n' || out[j] == '\r'; j-- {
				out[j] = ' '
			}
		}
		column = 0
	}
	for start := 0; start < len(text); {
		end, next := paragraphEnd(text, start)
		from, at := start, start
		for line := range strings.Lines(text[start:end]) {
			if isHeading(line) || listItem.MatchString(line) {
				block(from, at)
				from = at
			}
			if at += len(line); isHeading(line) {
				block(from, at)
				from = at
			}
		}
		block(from, end)
		start = next
	}
	if out == nil {
		return text
	}
	return string(out)
}

const leastWrap = 40 // runes of the longest line of a paragraph whose lines are kept short

var (
	// listItem is the beginning of a line that does not go on with the line before it.
	listItem = regexp.MustCompile(`^\s*([-+*•–|>]|\(?(\d{1,3}|[a-zA-Z])[.)]\s)`)
	// smallWord is a word with which a line can go on, in scripts with and without capitals.
	smallWord = regexp.MustCompile(`^\(?[\p{Ll}\p{Lo}][\p{L}\p{M}'’-]*[.,;:!?)]*$`)
)

// wraps returns where in text the line breaks are that only keep lines short.
func wraps(text string, column int) (breaks []int) {
	lines := slices.Collect(strings.Lines(text))
	widths, width := make([]int, len(lines)), 0
	for i, line := range lines {
		widths[i] = column + utf8.RuneCountInString(strings.TrimRightFunc(line, unicode.IsSpace))
		width = max(width, widths[i])
		column = 0
	}
	if width < leastWrap {
		return nil
	}
	at, looked, small := 0, 0, 0
	for i, line := range lines[:len(lines)-1] {
		at += len(line)
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		words := strings.Fields(lines[i+1])
		if line == "" || len(words) == 0 || strings.ContainsRune(":;{}|", rune(line[len(line)-1])) {
			continue
		}
		looked++
		if widths[i]+1+utf8.RuneCountInString(words[0]) > width*9/10 {
			breaks = append(breaks, at-1)
			if smallWord.MatchString(words[0]) {
				small++
			}
		}
	}
	if 3*len(breaks) < 2*looked || 3*small < len(breaks)-1 {
		return nil
	}
	return breaks
}

// Sentences returns the sentences of a passage that begins at a column of its line; its headings
// only where it has nothing else.
func Sentences(text string, column int) []Span {
	var body, all []Span
	for _, b := range regions(text, nil) {
		part := text[b.Start:b.End]
		if b.Start > 0 {
			column = 0
		}
		eachSentence(unwrapped(part, column), func(s Span, _ int) {
			s.Start, s.End = s.Start+b.Start, s.End+b.Start
			if all = append(all, s); b.Kind != Heading {
				body = append(body, s)
			}
		})
	}
	if len(body) > 0 {
		return body
	}
	return all
}
