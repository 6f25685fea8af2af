// Package passage cuts texts into passages and sentences, along the blocks of the text: headings,
// paragraphs, items of lists, tables and code.
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

// Passage is a window of a text with what it needs to be understood.
type Passage struct {
	Span
	Context Context
}

// Cutter cuts texts into passages that fit a token budget.
//
// The rules, in order:
//  1. A heading starts a passage, unless the passage so far has nothing but headings.
//  2. Units are packed until the next one does not fit: sentences (lines in text without
//     sentences), items of lists, rows of tables, lines of code. A line break that only keeps lines
//     short ends no sentence that fits, see [unwrapped].
//  3. A paragraph, a list, a table or a block of code that fits whole is not divided when the
//     passage before it is at least half full.
//  4. A unit longer than the budget is cut at sentences, one of these at words, a word longer than
//     the budget at runes.
//
// Passages do not overlap, have no white space at their ends, and together have every word of the
// text.
type Cutter struct {
	Budget int                         // tokens per passage, special tokens and prefix included; at least 1
	Count  func(text string) int       // tokens of a text, special tokens not included
	Prefix func(Context) (text string) // what is encoded in front of a passage; nil: nothing
}

// unit is a piece of text that is kept whole where it fits.
type unit struct {
	Span
	tokens  int
	group   int // number of its paragraph, list, table or code
	heading bool
	context int // index of the context of a passage that begins with it
}

// cutting is the state of one call of [Cutter.Cut].
type cutting struct {
	Cutter
	text     string
	units    []unit
	contexts []Context
	room     []int // tokens that each context leaves
	group    int
}

// Cut returns the passages of a text, first to last. A text of white space has none. Without blocks
// those of [Markdown] are used.
func (c Cutter) Cut(text string, blocks []Block) []Passage {
	s := &cutting{Cutter: c, text: text}
	o := outline{text: text}
	before := Paragraph
	for _, b := range regions(text, blocks) {
		if b.Kind != Item || before != Item {
			s.group++
		}
		s.add(&o, b)
		o.enter(b)
		before = b.Kind
	}
	return s.pack()
}

// pack makes passages of the units.
func (s *cutting) pack() (out []Passage) {
	left := make([]int, len(s.units)) // tokens from each unit to the end of its group
	for i := len(s.units) - 1; i >= 0; i-- {
		left[i] = s.units[i].tokens
		if i+1 < len(s.units) && s.units[i+1].group == s.units[i].group {
			left[i] += left[i+1]
		}
	}
	first, used := 0, 0
	end := func(next int) {
		out = append(out, Passage{Span{s.units[first].Start, s.units[next-1].End}, s.contexts[s.units[first].context]})
		first, used = next, 0
	}
	for i, u := range s.units {
		room := s.room[s.units[first].context]
		starts := i > first && s.units[i-1].group != u.group
		switch {
		case i == first:
		case u.heading && !s.units[i-1].heading,
			used+u.tokens > room,
			starts && used*2 >= room && used+left[i] > room && left[i] <= s.room[u.context]:
			end(i)
		}
		used += u.tokens
	}
	if first < len(s.units) {
		end(len(s.units))
	}
	return out
}

// in returns the index of a context, noting it if it is not the last one.
func (s *cutting) in(c Context) int {
	n := len(s.contexts)
	if n > 0 && s.contexts[n-1].same(c) {
		return n - 1
	}
	room := s.Budget
	if s.Prefix != nil {
		if prefix := s.Prefix(c); prefix != "" {
			room = max(1, room-s.Count(prefix))
		}
	}
	s.contexts, s.room = append(s.contexts, c), append(s.room, room)
	return n
}

// add adds the units of a block.
func (s *cutting) add(o *outline, b Block) {
	whole := Trim(s.text, Span{b.Start, b.End})
	if whole.Start == whole.End {
		return
	}
	context := s.in(o.context(b, b.Start))
	switch b.Kind {
	case Heading, Item:
		if n := s.count(whole); n <= s.room[context] {
			s.units = append(s.units, unit{whole, n, s.group, b.Kind == Heading, context})
			return
		}
		s.addProse(whole, context, b.Kind == Heading)
	case Table, Code:
		blank := false // between this line and the one before
		fits := s.count(whole) <= s.room[context]
		for _, line := range linesOf(s.text[b.Start:b.End]) {
			line = Trim(s.text, Span{b.Start + line.Start, b.Start + line.End})
			if line.Start == line.End {
				blank = true
				continue
			}
			if blank && !fits {
				s.group++
			}
			blank = false
			context = s.in(o.context(b, line.Start))
			if n := s.count(line); n <= s.room[context] {
				s.units = append(s.units, unit{line, n, s.group, false, context})
				continue
			}
			s.addProse(line, context, false)
		}
	default:
		s.addProse(Span{b.Start, b.End}, context, false)
	}
}

func (s *cutting) count(w Span) int { return s.Count(s.text[w.Start:w.End]) }

// addProse adds the sentences of a part of the text.
func (s *cutting) addProse(w Span, context int, heading bool) {
	text := s.text[w.Start:w.End]
	group := s.group
	eachSentence(unwrapped(text, 0), func(x Span, paragraph int) {
		s.group = group + paragraph
		if n := s.Count(text[x.Start:x.End]); n <= s.room[context] {
			s.units = append(s.units, unit{Span{w.Start + x.Start, w.Start + x.End}, n, s.group, heading, context})
			return
		}
		eachSentence(text[x.Start:x.End], func(line Span, _ int) {
			s.addWords(Span{w.Start + x.Start + line.Start, w.Start + x.Start + line.End}, context, heading)
		})
	})
}

// addWords adds w, cut at words where it is too long.
func (s *cutting) addWords(w Span, context int, heading bool) {
	if n := s.count(w); n <= s.room[context] {
		s.units = append(s.units, unit{w, n, s.group, heading, context})
		return
	}
	fit := Cutter{Budget: s.room[context], Count: s.Count}
	for w.Start < w.End {
		end, n := fit.Fit(s.text[w.Start:w.End])
		if piece := Trim(s.text, Span{w.Start, w.Start + end}); piece.Start < piece.End {
			s.units = append(s.units, unit{piece, n, s.group, false, context})
		}
		w = Trim(s.text, Span{w.Start + end, w.End})
	}
}

// eachSentence calls f with the sentences of a text in order, without white space at their ends,
// and the number of their paragraph.
func eachSentence(text string, f func(s Span, paragraph int)) {
	paragraph := 0
	for start := 0; start < len(text); paragraph++ {
		end, next := paragraphEnd(text, start)
		for it, at := sentences.FromString(text[start:end]), start; it.Next(); {
			s := Trim(text, Span{at, at + len(it.Value())})
			at += len(it.Value())
			if s.Start < s.End {
				f(s, paragraph)
			}
		}
		start = next
	}
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

// Trim takes white space off both ends of s.
func Trim(text string, s Span) Span {
	t := strings.TrimLeftFunc(text[s.Start:s.End], unicode.IsSpace)
	s.Start = s.End - len(t)
	s.End = s.Start + len(strings.TrimRightFunc(t, unicode.IsSpace))
	return s
}
