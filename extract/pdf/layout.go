package pdf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// layout builds the text of a page from its characters and fields:
//
// 1. Spaces, line ends, gaps and raised marks separate words.
//
// 2. Words that follow each other closely on a line become a piece.
//
// 3. A gap that runs down the page separates columns, if both sides are prose or have different
// lines. Columns are read one after the other; what crosses the gap is read in between. Otherwise
// pieces on the same line are a row.
//
// 4. Lines become paragraphs where the line spacing or the font size changes.
//
// 5. Words that continue on the next line are joined.
//
// Rotated text is read last, each direction as if the page were turned.
func layout(chars []char, fields []field) (string, []paragraph) {
	var turns [4][]*piece
	for _, p := range pieces(chars) {
		turns[p.turn] = append(turns[p.turn], p)
	}
	for _, f := range fields {
		turns[0] = append(turns[0], f.pieces()...)
	}
	order := []int{0, 1, 2, 3}
	slices.SortStableFunc(order, func(a, b int) int { return len(turns[b]) - len(turns[a]) })
	w := &writer{}
	for _, t := range order {
		w.block()
		w.columns(turns[t], 0)
	}
	s := w.b.String()
	s = brokenWord.ReplaceAllString(s, "$1$2")
	return unmarked(strings.NewReplacer("\u0002", "-", "\u00ad", "").Replace(s))
}

// Marks at the beginning of paragraphs hold the font size in tenths of a point. They are private
// characters that are no text.
const firstMark, lastMark = 0xf0000, 0xffffd

// unmarked removes the marks from a text and returns its paragraphs.
func unmarked(s string) (string, []paragraph) {
	var b strings.Builder
	var paragraphs []paragraph
	end := func() {
		if n := len(paragraphs); n > 0 {
			paragraphs[n-1].end = paragraphs[n-1].start + len(strings.TrimRight(b.String()[paragraphs[n-1].start:], "\n"))
		}
	}
	for _, r := range s {
		if r >= firstMark && r <= lastMark {
			end()
			paragraphs = append(paragraphs, paragraph{start: b.Len(), size: float64(r-firstMark) / 10})
		} else {
			b.WriteRune(r)
		}
	}
	end()
	return b.String(), slices.DeleteFunc(paragraphs, func(p paragraph) bool { return p.end <= p.start })
}

// brokenWord matches a word that continues on the next line. PDFium marks some hyphens by U+0002.
var brokenWord = regexp.MustCompile(`(\p{L})(?:[-\x{2010}\x{00ad}]\n{1,2}|\x{0002}\n{0,2})[\x{f0000}-\x{ffffd}]?(\p{Ll})`)

type word struct {
	text      strings.Builder
	glyph     int // where in text the characters of the last glyph begin
	x0, x1, y float64
	size      float64
	turn      int
	raised    bool // a mark such as that of a footnote
	lowered   bool // an index
	joined    bool // to the word before it, without a space
	apart     bool // by a space that is not drawn
}

// piece is a run of words on a line.
type piece struct {
	words     []*word
	x0, x1, y float64
	size      float64
	turn      int
	letters   int
}

func pieces(chars []char) []*piece {
	var out []*piece
	var p *piece
	for _, w := range words(logical(chars)) {
		if p == nil || !p.takes(w) {
			next := &piece{x0: w.x0, x1: w.x1, y: w.y, size: w.size, turn: w.turn}
			if p != nil && w.size < 0.85*p.size && w.turn == p.turn && w.y > p.y-0.4*p.size && w.y < p.y+0.7*p.size && w.x0 > p.x0 && w.x0 < p.x1+p.size {
				next.y = p.y // raised or lowered, but on the line
			}
			p = next
			out = append(out, p)
		}
		p.add(w)
	}
	return out
}

// takes reports whether w continues p. Small words may be raised or lowered: marks, exponents,
// indexes.
func (p *piece) takes(w *word) bool {
	last := p.words[len(p.words)-1]
	gap, dy, size := w.x0-last.x1, w.y-p.y, max(p.size, w.size)
	small := min(p.size, w.size) < 0.85*size
	switch {
	case w.turn != p.turn, gap > wideGap*size, math.Abs(dy) > 0.3*size && (!small || math.Abs(dy) > 0.7*size):
		return false
	case gap < -0.5*size:
		return w.x0 < p.x0 && strings.ContainsFunc(w.text.String(), rightToLeft)
	}
	w.joined = w.joined || small && gap < 0.1*size
	w.raised = w.size < 0.85*p.size && dy > 0.12*p.size
	w.lowered = w.size < 0.85*p.size && dy < -0.1*p.size
	return true
}

// wideGap is a gap between words, in font sizes, that justified text does not have.
const wideGap = 0.9

func (p *piece) add(w *word) {
	if w.size > 1.2*p.size { // it began with a raised mark
		p.size, p.y = w.size, w.y
	}
	p.words = append(p.words, w)
	p.x0, p.x1 = min(p.x0, w.x0), max(p.x1, w.x1)
	p.letters += len(w.text.String())
}

// pieces returns the lines of the field from top to bottom.
func (f field) pieces() []*piece {
	lines := strings.Split(f.text, "\n")
	step := (f.y1 - f.y0) / float64(len(lines))
	var out []*piece
	for n, l := range lines {
		size := min(step, 12)
		w := &word{x0: f.x0, x1: f.x1, y: f.y1 - step*(float64(n)+0.5) - size*0.3, size: size}
		w.text.WriteString(l)
		p := &piece{x0: w.x0, x1: w.x1, y: w.y, size: size}
		p.add(w)
		out = append(out, p)
	}
	return out
}

func words(chars []char) []*word {
	var out []*word
	var w *word
	var last char
	newline := false
	for k, c := range chars {
		if unicode.IsSpace(c.r) {
			if c.r != '\r' && c.r != '\n' || last.turn == 0 {
				w = nil
			}
			newline = true // in turned text PDFium sees one behind each letter
			continue
		}
		text := string(c.r)
		switch {
		case c.text != "":
			text = c.text
		case c.r == softHyphen:
		case c.r >= 0xfb00 && int(c.r-0xfb00) < len(ligatures):
			text = ligatures[c.r-0xfb00]
		case c.r < ' ', c.r >= 0x7f && c.r < 0xa0, c.r >= 0xfdd0 && c.r < 0xfdf0, c.r == 0xfffe, c.r == 0xffff, c.r >= firstMark && c.r <= lastMark:
			text = string(unknownChar)
		case c.r == 0xf0b7:
			text = "•"
		}
		joined := false
		if w != nil {
			size := max(last.size, c.size)
			dx, dy := c.x0-last.x0, c.y-last.y
			switch gap := c.x0 - last.x1; {
			case c.r == last.r && (dx != 0 || dy != 0) && math.Abs(dx) < min(0.15*size, (c.x1-c.x0)/2) && math.Abs(dy) < 0.15*size: // drawn twice, to look bold
				continue
			case c.turn != last.turn, math.Abs(dy) > 0.7*size && !(ideographic(c.r) && ideographic(last.r) && dy < 0 && math.Abs(dx) < size/2):
				w = nil
			case math.Abs(dy) < 0.7*size && !rightToLeft(c.r) && (gap > maxGap*size && (newline || !spaced(chars, k)) || c.x1 < last.x0-size):
				w = nil
			case rightToLeft(c.r) && !rightToLeft(last.r) && math.Abs(gap) > maxGap*size && math.Abs(w.x0-c.x1) > maxGap*size:
				w = nil
			case math.Abs(dy) > 0.4*size && min(c.size, last.size) > 0.9*size && !ideographic(c.r):
				w = nil
			case min(c.size, last.size) < 0.85*size && math.Abs(dy) > 0.12*size:
				w, joined = nil, true
			}
		}
		ligature := w != nil && rightToLeft(c.r) && rightToLeft(last.r) && c.x0 == last.x0 && c.x1 == last.x1
		if w == nil {
			w = &word{x0: c.x0, x1: c.x1, y: c.y, size: c.size, turn: c.turn, joined: joined, apart: c.apart}
			out = append(out, w)
		}
		w.x0, w.x1 = min(w.x0, c.x0), max(w.x1, c.x1)
		if ligature { // PDFium turns round the characters of a glyph with several, such as lam and alef
			before := w.text.String()
			w.text.Reset()
			w.text.WriteString(before[:w.glyph] + text + before[w.glyph:])
		} else {
			w.glyph = w.text.Len()
			w.text.WriteString(text)
		}
		last, newline = c, false
	}
	return unspaced(out)
}

// maxGap is the widest gap within a word, maxSpread in a spaced-out one, in font sizes.
const maxGap, maxSpread = 0.2, 0.4

// spaced reports whether the gap before chars[k] is one of several equal gaps in a spaced-out word.
func spaced(chars []char, k int) bool {
	gap := chars[k].x0 - chars[k-1].x1
	alike := func(n int) bool {
		if n < 1 || n >= len(chars) {
			return false
		}
		a, b := chars[n-1], chars[n]
		return !unicode.IsSpace(a.r) && !unicode.IsSpace(b.r) && math.Abs(a.y-b.y) < 0.1*a.size && math.Abs(b.x0-a.x1-gap) < 0.1*a.size
	}
	return gap < maxSpread*chars[k].size && (alike(k-1) || alike(k+1))
}

// unspaced joins single letters with equal gaps, unless they are so few different ones that they
// are no word, but a row of marks.
func unspaced(words []*word) []*word {
	single := func(w *word) bool { return utf8.RuneCountInString(w.text.String()) == 1 }
	var out []*word
	for k := 0; k < len(words); {
		n := k + 1
		for n < len(words) && single(words[n-1]) && single(words[n]) && words[n].apart && words[n].x0 > words[n-1].x0 && words[n].x0-words[n-1].x1 < maxSpread*words[k].size &&
			(n == k+1 || math.Abs(words[n].x0-words[n-1].x1-(words[k+1].x0-words[k].x1)) < 0.1*words[k].size) {
			n++
		}
		w := words[k]
		different := map[string]bool{}
		for _, next := range words[k:n] {
			different[next.text.String()] = true
		}
		if n-k > 2 && 2*len(different) >= n-k {
			for _, next := range words[k+1 : n] {
				w.text.WriteString(next.text.String())
				w.x1 = max(w.x1, next.x1)
			}
			k = n
		} else if n-k > 2 {
			out = append(out, words[k:n-1]...)
			w, k = words[n-1], n
		} else {
			k++
		}
		out = append(out, w)
	}
	return out
}

// writer writes pieces as lines and paragraphs.
type writer struct {
	b       strings.Builder
	began   bool // a line was written in this block
	y, size float64
	step    float64 // to the last line from the one before it
	tabbed  bool    // the last line has cells
}

func (w *writer) block() { w.began = false }

// columns writes pieces column by column, or row by row.
func (w *writer) columns(ps []*piece, depth int) {
	slices.SortStableFunc(ps, func(a, b *piece) int { return cmp.Or(cmp.Compare(b.y, a.y), cmp.Compare(a.x0, b.x0)) })
	x, ok := gutter(ps)
	if !ok || depth > maxColumns {
		w.rows(ps)
		return
	}
	var left, right []*piece
	flush := func() {
		switch {
		case len(left) > 0 && len(right) > 0 && separate(left, right):
			w.block()
			w.columns(left, depth+1)
			w.block()
			w.columns(right, depth+1)
			w.block()
		default:
			w.rows(append(left, right...))
		}
		left, right = nil, nil
	}
	for _, p := range ps {
		switch {
		case p.x1 <= x:
			left = append(left, p)
		case p.x0 >= x:
			right = append(right, p)
		default:
			flush()
			w.rows([]*piece{p})
		}
	}
	flush()
}

const (
	// maxColumns is the depth of columns within columns.
	maxColumns = 6
	// minLines is the minimum number of pieces in a column.
	minLines = 3
)

// gutter returns the x of the widest column separation that few pieces cross.
func gutter(ps []*piece) (x float64, ok bool) {
	if len(ps) < 2*minLines {
		return 0, false
	}
	lefts := map[float64]int{}
	for _, p := range ps {
		lefts[math.Floor(p.x0)]++
	}
	candidates := make([]float64, 0, len(lefts))
	for l, n := range lefts {
		if n >= 2 {
			candidates = append(candidates, l)
		}
	}
	slices.SortFunc(candidates, func(a, b float64) int { return cmp.Or(lefts[b]-lefts[a], cmp.Compare(a, b)) })
	best := 0
	for _, l := range candidates[:min(len(candidates), maxCandidates)] {
		var before, after, across int
		for _, p := range ps {
			switch {
			case p.x1 <= l:
				before++
			case p.x0 >= l:
				after++
			default:
				across++
			}
		}
		if n := min(before, after) - 2*across; min(before, after) >= minLines && n > best {
			best, x, ok = n, l, true
		}
	}
	return x, ok
}

const maxCandidates = 50

// separate reports whether the two sides of a gap are columns rather than cells of rows: both are
// prose, or their lines differ.
func separate(left, right []*piece) bool {
	if len(left) < minLines || len(right) < minLines {
		return false
	}
	few, many := left, right
	if len(few) > len(many) {
		few, many = many, few
	}
	paired, n := 0, 0
	for _, p := range few { // both are sorted from top to bottom
		for n < len(many)-1 && many[n].y > p.y && !sameLine(p, many[n]) {
			n++
		}
		if sameLine(p, many[n]) {
			paired++
		}
	}
	return paired < len(few)/2 || prose(left) && prose(right)
}

// prose reports whether most letters are on full lines.
func prose(ps []*piece) bool {
	x0, x1 := math.Inf(1), math.Inf(-1)
	for _, p := range ps {
		x0, x1 = min(x0, p.x0), max(x1, p.x1)
	}
	full, lines, letters := 0, 0, 0
	for _, p := range ps {
		if p.x1-p.x0 > 0.7*(x1-x0) {
			full += p.letters
			lines++
		}
		letters += p.letters
	}
	return 2*full >= letters && full >= 15*lines
}

func sameLine(p, q *piece) bool { return math.Abs(p.y-q.y) < 0.4*min(p.size, q.size) }

func (w *writer) rows(ps []*piece) {
	slices.SortStableFunc(ps, func(a, b *piece) int { return cmp.Or(cmp.Compare(b.y, a.y), cmp.Compare(a.x0, b.x0)) })
	for len(ps) > 0 {
		n := 1
		for n < len(ps) && math.Abs(ps[n].y-ps[0].y) < 0.4*max(ps[0].size, ps[n].size) {
			n++
		}
		line := slices.Clone(ps[:n])
		if !strings.ContainsFunc(line[0].words[0].text.String(), rightToLeft) {
			slices.SortStableFunc(line, func(a, b *piece) int { return cmp.Compare(a.x0, b.x0) })
		}
		w.line(line)
		ps = ps[n:]
	}
}

func (w *writer) line(line []*piece) {
	first := line[0]
	for _, p := range line {
		if p.size > first.size {
			first = p
		}
	}
	step := w.y - first.y
	rows := len(line) > 1 && line[1].x0-line[0].x1 > 1.5*first.size
	mark := string(rune(firstMark + min(int(10*first.size), lastMark-firstMark)))
	switch {
	case w.b.Len() == 0:
		w.b.WriteString(mark)
	case w.began && rows && w.tabbed && step < 3*first.size && math.Abs(first.size-w.size) < 0.1*first.size: // of one table
		w.b.WriteByte('\n')
	case !w.began, step > 1.5*max(w.size, first.size), w.step > 0 && step > 1.3*w.step && step > max(w.size, first.size), first.size > 1.2*w.size, first.size < 0.8*w.size:
		w.b.WriteString("\n\n" + mark)
		step = 0
	default:
		w.b.WriteByte('\n')
	}
	w.began, w.y, w.size, w.step, w.tabbed = true, first.y, first.size, step, rows
	for n, p := range line {
		if n > 0 {
			sep := " "
			if p.x0-line[n-1].x1 > 1.5*p.size {
				sep = "\t"
			}
			w.b.WriteString(sep)
		}
		p.write(&w.b)
	}
}

// write writes the words of the piece. Raised marks are separated from their words, exponents by a
// circumflex, except in 1st, Mme and units such as m²; indexes that are words by an underscore.
func (p *piece) write(b *strings.Builder) {
	var before string
	afterMark := false
	for n, w := range p.words {
		s := w.text.String()
		ordinal := endsInDigit(before) && !strings.ContainsFunc(s, unicode.IsDigit)
		isMark := w.raised && mark(s) && !power(before, s) && !ordinal
		switch {
		case n == 0:
			isMark = isMark || len(p.words) > 1 && w.size < 0.85*p.size && w.y > p.y && mark(s)
		case !w.joined:
			b.WriteByte(' ')
		case isMark && endsInDigit(before):
			b.WriteByte('^')
		case isMark, afterMark:
			b.WriteByte(' ')
		case w.lowered && !mark(s):
			b.WriteByte('_')
		}
		b.WriteString(s)
		before, afterMark = s, isMark
	}
}

// mark reports whether s may be a raised mark: numbers, signs, or single letters as in a,b.
func mark(s string) bool {
	letter := false // before r
	for _, r := range s {
		if unicode.IsLetter(r) && letter {
			return false
		}
		letter = unicode.IsLetter(r)
	}
	return true
}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

// power reports whether s is the exponent of a variable or a unit of length: xⁿ, m², km³.
func power(unit, s string) bool {
	n := utf8.RuneCountInString(unit)
	return n == 1 || n == 2 && strings.HasSuffix(unit, "m") && (s == "2" || s == "3")
}
