package web

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"example.com/searchd/extract/content"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Pages beyond these limits are read whole, as finding the main text takes superlinear time.
const (
	maxMainBytes    = 2 << 20
	maxMainElements = 20_000
	maxMainBlocks   = 10_000
	maxMainDepth    = 150     // of elements within one another
	maxCompared     = 1 << 30 // bytes of what readability has found, times blocks that are looked up in it
)

// minPage is the length in bytes of a text that is too short to be judged.
const minPage = 500

const mainThreshold = 5.7

// page records where the blocks of a web page are in its tree.
type page struct {
	elements []element        // in the order of their start tags; the first stands for the document
	stack    []int            // the open ones
	deep     bool             // elements were deeper than maxMainDepth, or too many
	known    map[string]hints // by class and id
	places   []place          // of each block
}

// element is an element around blocks.
type element struct {
	tag    atom.Atom
	parent int
	size   int // bytes of the blocks in it
	hints  hints
}

// hints say what the class and id of an element suggest about its content.
type hints uint8

const (
	aboutOthers hints = 1 << iota // teasers, advertisements, boxes of other pages
	forVisitors                   // to share, to comment, to search
	aboutPage                     // author, date, tags, captions, menus
)

// hintNames match classes and ids as sites in any language use them.
var hintNames = map[hints]*regexp.Regexp{
	aboutOthers: regexp.MustCompile(`(?i)related|recommend|teaser|promo|newsletter|subscri|advert|\bads?[-_]|[-_]ads?\b|banner|sponsor|outbrain|taboola|popup|modal|cookie|sidebar|widget|shop|more\b|next|prev|similar|also`),
	forVisitors: regexp.MustCompile(`(?i)shar(?:e|ing)|social|comment|disqus|respond|reply|rating|print|login|search|form\b`),
	aboutPage:   regexp.MustCompile(`(?i)meta|author|byline|date|time|tags?\b|categor|breadcrumb|copyright|credit|caption|legend|bio\b|kicker|toolbar|pag(?:er|inat)|menu|nav|foot|info`),
}

// place is where a block is in its page.
type place struct {
	links int // bytes of it that are links
	inner int // the innermost element around it
}

// surroundings are what the elements around a block say about it.
type surroundings struct {
	parent      int   // the element around the innermost one; 0 for none
	box         int   // the same of the innermost that is a block
	near        hints // of the five elements around it
	last        hints // of the innermost one
	paragraph   bool  // in a p element
	figure      bool
	outOfStream bool // in an aside or a footer
}

const maxKnown = 10_000

func (p *page) opens(tag atom.Atom, a *tagAttrs) {
	if p == nil || !closed[tag] && !blocks[tag] || tag == atom.Hr {
		return
	}
	if n := len(p.stack); n > 0 && blocks[tag] && p.elements[p.stack[n-1]].tag == atom.P { // whose end tag may be missing
		p.stack = p.stack[:n-1]
	}
	if p.deep = p.deep || len(p.stack) >= maxMainDepth || len(p.elements) > maxMainElements; p.deep {
		return
	}
	e := element{tag: tag, parent: p.inner()}
	if tag != atom.Body && tag != atom.Article && tag != atom.Main && !strings.Contains(a.class, "hentry") { // whose names are those of the page
		e.hints = p.hintsOf(a)
	}
	p.stack = append(p.stack, len(p.elements))
	p.elements = append(p.elements, e)
}

func (p *page) inner() int {
	if len(p.stack) == 0 {
		return 0
	}
	return p.stack[len(p.stack)-1]
}

func (p *page) hintsOf(a *tagAttrs) hints {
	names := a.class + " " + a.id
	h, ok := p.known[names]
	if ok || names == " " {
		return h
	}
	for hint, re := range hintNames {
		if re.MatchString(names) {
			h |= hint
		}
	}
	if len(p.known) < maxKnown {
		p.known[names] = h
	}
	return h
}

func (p *page) closes(tag atom.Atom) {
	if p == nil || !closed[tag] && !blocks[tag] {
		return
	}
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.elements[p.stack[i]].tag == tag {
			p.stack = p.stack[:i]
			return
		}
	}
}

// placed records the places of the blocks up to the n-th, and that its last link bytes are a link.
func (p *page) placed(n, link int) {
	if p == nil || n == 0 {
		return
	}
	for len(p.places) < n {
		p.places = append(p.places, place{inner: p.inner()})
	}
	p.places[n-1].links += link
}

// around returns what the elements around a block say about it. Elements that hold most of the page
// do not count: a page that is in a box called footer as a whole is no footer.
func (p *page) around(at place, whole int) surroundings {
	var s surroundings
	for n, i := 0, at.inner; i > 0; n, i = n+1, p.elements[i].parent {
		e := &p.elements[i]
		if n == 0 {
			s.parent = e.parent
		}
		if s.box == 0 && blocks[e.tag] {
			s.box = e.parent
		}
		s.paragraph = s.paragraph || e.tag == atom.P && n < 2
		if 2*e.size > whole {
			continue
		}
		if n == 0 {
			s.last = e.hints
		}
		if n < 5 {
			s.near |= e.hints
		}
		s.figure = s.figure || e.tag == atom.Figure
		s.outOfStream = s.outOfStream || e.tag == atom.Aside || e.tag == atom.Footer
	}
	return s
}

// measure sums up the blocks in each element.
func (p *page) measure(blocks []content.Block) (whole int) {
	for i, b := range blocks {
		p.elements[p.places[i].inner].size += b.End - b.Start
		whole += b.End - b.Start
	}
	for i := len(p.elements) - 1; i > 0; i-- { // children come after their parents
		p.elements[p.elements[i].parent].size += p.elements[i].size
	}
	return whole
}

// mainText reduces a page to its main text, without menus, teasers and footers. It reports false,
// and changes nothing, if it finds too little.
//
// Readability alone misses leads, lists and tables, and keeps captions and teasers; it is one of
// the signs by which each block is weighed.
func mainText(c *content.Content, p *page, source string) bool {
	if len(source) > maxMainBytes || p.deep || len(c.Blocks) > maxMainBlocks || len(p.places) != len(c.Blocks) {
		return false
	}
	if len(c.Text) < minPage {
		return false
	}
	found, err := readabilityText(source)
	if err != nil || len(found)*len(c.Blocks) > maxCompared {
		return false
	}
	var text strings.Builder
	var kept []content.Block
	last := -1
	for i, good := range weigh(c.Text, c.Blocks, p, found) {
		if !good {
			continue
		}
		b := c.Blocks[i]
		switch {
		case text.Len() == 0:
		case last == i-1:
			text.WriteString(c.Text[c.Blocks[last].End:b.Start])
		default:
			text.WriteString("\n\n")
		}
		moved := text.Len() - b.Start
		text.WriteString(c.Text[b.Start:b.End])
		b.Start, b.End = b.Start+moved, b.End+moved
		if b.Head > 0 {
			b.Head += moved
		}
		kept, last = append(kept, b), i
	}
	if tooLittle(text.Len(), len(c.Text)) {
		return false
	}
	c.Text, c.Blocks = text.String(), kept
	return true
}

// tooLittle reports whether n of all bytes are so few that the page is probably a list of links or
// a directory, whose main text is all of it.
func tooLittle(n, all int) bool { return n*12 < all || n < 300 && n*3 < all }

// readabilityText returns the letters and digits of readability's main text.
func readabilityText(source string) (found string, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the page cannot be read")
		}
	}()
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return "", err
	}
	r := readability.NewParser()
	r.MaxElemsToParse = maxMainElements
	article, err := r.ParseAndMutate(doc, nil)
	if err != nil || article.Node == nil {
		return "", err
	}
	var b strings.Builder
	if err := html.Render(&b, article.Node); err != nil {
		return "", err
	}
	var out content.Builder
	if err := Write(&out, b.String(), Options{All: true}, nil); err != nil {
		return "", err
	}
	return squeezed(out.String()), nil
}

func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '²':
			return '2'
		case r == '³':
			return '3'
		case unicode.IsLetter(r), unicode.IsNumber(r):
			return r
		}
		return -1
	}, s)
}

// weigh reports which blocks are main text; found is the letters and digits of readability's.
//
// The weights come from a logistic regression over the pages of trafilatura's evaluation, rounded
// to a tenth and checked by leaving out sites in turn.
func weigh(text string, blocks []content.Block, p *page, found string) []bool {
	whole := p.measure(blocks)
	places := make([]surroundings, len(blocks))
	for i, at := range p.places {
		places[i] = p.around(at, whole)
	}
	var (
		in     = make([]bool, len(blocks)) // readability has found it
		size   = map[int][2]int{}          // by parent: bytes, and those that have been found
		total  int
		h1     = -1
		first  = len(blocks) // of what has been found
		before = map[string]bool{}
		good   = make([]bool, len(blocks))
		clean  = make([]bool, len(blocks)) // nothing speaks against it
	)
	for i, b := range blocks {
		s := text[b.Start:b.End]
		letters := squeezed(s)
		in[i] = letters != "" && strings.Contains(found, letters)
		n := size[places[i].parent]
		n[0] += len(s)
		if in[i] {
			n[1] += len(s)
			total += len(s)
			if len(s) > 80 {
				first = min(first, i)
			}
		}
		size[places[i].parent] = n
		if h1 < 0 && b.Kind == content.Heading && b.Level == 1 {
			h1 = i
		}
	}
	yes := func(condition bool, weight float64) float64 {
		if condition {
			return weight
		}
		return 0
	}
	for i, b := range blocks {
		at, s := places[i], text[b.Start:b.End]
		linked := min(1, float64(p.places[i].links)/float64(len(s)))
		around := 0
		for j := max(0, i-2); j <= min(len(blocks)-1, i+2); j++ {
			if j != i && in[j] && blocks[j].End-blocks[j].Start > 60 {
				around++
			}
		}
		of := size[at.parent]
		item := b.Kind == content.Item
		sum := .8*math.Log1p(float64(len(s))) - 1.5*linked - 1.1*float64(i)/float64(len(blocks)) +
			.7*float64(of[1])/float64(of[0]) + .7*float64(around)/4 +
			yes(in[i], 1.2) + yes(in[i] && isSentence(s), .9) + yes(len(s) > 120, .6) + yes(at.paragraph, .7) +
			yes(0 <= h1 && h1 <= i && i < first, 1.8) + // the title, the lead
			yes(0 < i && i+1 < len(blocks) && in[i-1] && in[i+1], .6) +
			yes(b.Kind == content.Heading, 1.1) + yes(b.Kind == content.Code, .9) + yes(b.Kind == content.Table, .6) + yes(item, 1.3-1.2*linked) + yes(item && in[i], 1.1) +
			yes(at.near&aboutOthers != 0, -.8) + yes(at.near&forVisitors != 0, -.6) + yes(at.near&aboutPage != 0, -1.2) + yes(at.last != 0, -.7) +
			yes(at.figure, -1.7) + yes(at.outOfStream, -1) + yes(strings.Contains(s, "©"), -1.7) + yes(before[s], -.6) +
			yes(total < 250, .8)
		good[i] = sum >= mainThreshold
		if len(s) < 1000 {
			before[s] = true
		}
		clean[i] = linked <= .3 && at.near|at.last == 0 && !at.figure && !at.outOfStream && !strings.Contains(s, "©")
	}
	fill(good, clean, places, h1)
	wholeLists(good, blocks)
	return good
}

// wholeLists keeps all items of a list if it keeps most of them.
func wholeLists(good []bool, blocks []content.Block) {
	for i := 0; i < len(blocks); i++ {
		begin, n := i, 0
		for ; i < len(blocks) && blocks[i].Kind == content.Item; i++ {
			if good[i] {
				n++
			}
		}
		for j := begin; j < i && 2*n > i-begin; j++ {
			good[j] = true
		}
	}
}

// fill adds blocks without negative signs that are between kept ones, between the first h1 and the
// first of them, or in the same element as one.
func fill(good, clean []bool, places []surroundings, h1 int) {
	first, last := slices.Index(good, true), -1
	if first < 0 {
		return
	}
	boxes := map[int]bool{}
	for i := range good {
		if good[i] {
			last, boxes[places[i].box] = i, true
		}
	}
	if 0 <= h1 && h1 < first {
		first = h1
	}
	for i := range good {
		good[i] = good[i] || clean[i] && (first <= i && i <= last || boxes[places[i].box])
	}
}

var endsSentence = regexp.MustCompile(`[!?…。！？”"»]$`)

func isSentence(s string) bool {
	return strings.HasSuffix(s, ".") || endsSentence.MatchString(s[max(0, len(s)-3):])
}
