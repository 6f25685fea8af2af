// Package passage cuts texts into passages and sentences.
package passage

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Span is a window [start, end) of a text, in bytes.
type Span struct{ Start, End int }

// Cutter cuts texts into passages that fit a token budget.
//
// The rules, in order:
//  1. A heading starts a passage, unless the passage so far has nothing but headings.
//  2. Units (sentences; lines in text without sentences) are packed until the next one does not
//     fit. A line break that only keeps lines short ends no unit that fits, see [unwrapped].
//  3. A paragraph that fits whole is not torn apart when the passage before it is at least half
//     full.
//  4. A unit longer than the budget is cut at words, a word longer than the budget at runes.
//
// Passages do not overlap, hold no white space at their ends, and together hold every word of the
// text.
type Cutter struct {
	Budget int                   // tokens per passage, special tokens not included; at least 1
	Count  func(text string) int // tokens of a text, special tokens not included
}

// unit is a piece of text that is kept whole where it fits.
type unit struct {
	Span
	tokens    int
	paragraph int  // number of its paragraph
	heading   bool // a Markdown heading line
}

// Cut returns the passages of text, first to last. A text of white space has none.
func (c Cutter) Cut(text string) []Span {
	units := c.units(text)
	left := make([]int, len(units)) // tokens from each unit to the end of its paragraph
	for i := len(units) - 1; i >= 0; i-- {
		left[i] = units[i].tokens
		if i+1 < len(units) && units[i+1].paragraph == units[i].paragraph {
			left[i] += left[i+1]
		}
	}
	var out []Span
	first, used := 0, 0
	for i, u := range units {
		starts := i > first && units[i-1].paragraph != u.paragraph
		switch {
		case i == first:
		case u.heading && !units[i-1].heading,
			used+u.tokens > c.Budget,
			starts && used*2 >= c.Budget && used+left[i] > c.Budget && left[i] <= c.Budget:
			out = append(out, Span{units[first].Start, units[i-1].End})
			first, used = i, 0
		}
		used += u.tokens
	}
	if first < len(units) {
		out = append(out, Span{units[first].Start, units[len(units)-1].End})
	}
	return out
}

// units cuts text into pieces of at most budget tokens, in order.
func (c Cutter) units(text string) []unit {
	var out []unit
	eachSentence(unwrapped(text, 0), func(s Span, paragraph int, heading bool) {
		if n := c.Count(text[s.Start:s.End]); n <= c.Budget {
			out = append(out, unit{s, n, paragraph, heading})
			return
		}
		eachSentence(text[s.Start:s.End], func(line Span, _ int, heading bool) {
			out = c.appendUnit(out, text, Span{s.Start + line.Start, s.Start + line.End}, paragraph, heading)
		})
	})
	return out
}

// eachSentence calls f with the sentences of text in order, without white space at their ends, and
// the number of their paragraph. A heading line is no part of a sentence; its own are marked.
func eachSentence(text string, f func(s Span, paragraph int, heading bool)) {
	paragraph := 0
	for start := 0; start < len(text); {
		end, next := paragraphEnd(text, start)
		for _, line := range headingSplit(text, start, end) {
			heading := isHeading(text[line.Start:line.End])
			for it, at := sentences.FromString(text[line.Start:line.End]), line.Start; it.Next(); {
				s := Trim(text, Span{at, at + len(it.Value())})
				at += len(it.Value())
				if s.Start < s.End {
					f(s, paragraph, heading)
				}
			}
		}
		start = next
		paragraph++
	}
}

// appendUnit adds s, cut at words where it is too long.
func (c Cutter) appendUnit(out []unit, text string, s Span, paragraph int, heading bool) []unit {
	if n := c.Count(text[s.Start:s.End]); n <= c.Budget {
		return append(out, unit{s, n, paragraph, heading})
	}
	for s.Start < s.End {
		end, n := c.Fit(text[s.Start:s.End])
		piece := Trim(text, Span{s.Start, s.Start + end})
		if piece.Start < piece.End {
			out = append(out, unit{piece, n, paragraph, false})
		}
		s = Trim(text, Span{s.Start + end, s.End})
	}
	return out
}

// Fit returns the length of the longest prefix of text that fits the budget and ends at a word, or,
// where the first word does not fit, at a rune, and its tokens. It looks for it in twice as many
// bytes as long as they fit: what is counted is not the whole of a long text, and what it returns
// some twenty times.
func (c Cutter) Fit(text string) (end, tokens int) {
	counted := map[int]int{} // tokens by end: the last steps of the search are within one word
	fits := func(end int) bool {
		if _, ok := counted[end]; !ok {
			counted[end] = c.Count(text[:end])
		}
		return counted[end] <= c.Budget
	}
	least, most := 0, 4*c.Budget
	for end := wordEnd(text, most); most < len(text) && end > least && fits(end); end = wordEnd(text, most) {
		least, most = end, 2*most
	}
	most = min(most, len(text))
	end = wordEnd(text, least+sort.Search(most-least, func(n int) bool { return !fits(wordEnd(text, least+n+1)) }))
	if end == 0 { // a single word: no prefix of fewer tokens than runes is longer
		most = min(len(text), 64*c.Budget)
		end = RuneEnd(text, 1+sort.Search(most-1, func(n int) bool { return !fits(RuneEnd(text, n+2)) }))
	}
	if !fits(end) { // one rune
		return end, c.Budget
	}
	return end, counted[end]
}

// wordEnd returns the last end of a word at or before limit; 0 where there is none.
func wordEnd(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	i := strings.LastIndexFunc(text[:RuneEnd(text, limit+1)], unicode.IsSpace)
	return max(i, 0)
}

// RuneEnd returns the smallest rune boundary at or after i.
func RuneEnd(text string, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return min(i, len(text))
}

// paragraphEnd returns where the paragraph at start ends and where the next begins: at a line of
// white space.
func paragraphEnd(text string, start int) (end, next int) {
	for at := start; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text), len(text)
		}
		at += i + 1
		j := strings.IndexByte(text[at:], '\n')
		line := text[at:]
		if j >= 0 {
			line = text[at : at+j]
		}
		if strings.TrimSpace(line) == "" {
			return at, min(at+len(line)+1, len(text))
		}
	}
}

// headingSplit cuts the heading lines out of a paragraph, so that each stands alone.
func headingSplit(text string, start, end int) []Span {
	var out []Span
	from := start
	for at := start; at < end; {
		stop := end
		if i := strings.IndexByte(text[at:end], '\n'); i >= 0 {
			stop = at + i + 1
		}
		if isHeading(text[at:stop]) {
			if from < at {
				out = append(out, Span{from, at})
			}
			out = append(out, Span{at, stop})
			from = stop
		}
		at = stop
	}
	if from < end {
		out = append(out, Span{from, end})
	}
	return out
}

// isHeading reports whether a line is a Markdown heading: one to six '#' and a space.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n >= 1 && n <= 6 && strings.HasPrefix(rest, " ") && !strings.Contains(strings.TrimRight(line, "\r\n"), "\n")
}

// Trim takes white space off both ends of s.
func Trim(text string, s Span) Span {
	t := strings.TrimLeftFunc(text[s.Start:s.End], unicode.IsSpace)
	s.Start = s.End - len(t)
	s.End = s.Start + len(strings.TrimRightFunc(t, unicode.IsSpace))
	return s
}
