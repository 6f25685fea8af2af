package keyword

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Bounds of reading words together and apart.
const (
	maxBroken   = 12  // words of a query; what those of longer ones are written like says less
	brokenBytes = 512 // of its text
	maxParts    = 10  // of a word
	maxWays     = 8   // to write a word in parts
	leastParted = 4   // characters of a word
	leastDigits = 7   // of a number: 2 3 is not 23
	mostDigits  = 16
	apartBudget = 1 << 20 // bytes of alternatives of words kept, of an index
	blockDigits = 4       // of the blocks in which IBANs and the numbers of cards are written
)

// alternativeBytes is about what an alternative takes.
const alternativeBytes = 400

// apartShare is what the parts of a word that no document has say of what the idf of their phrase
// would: it may not be meant.
const apartShare = 0.75

// breaks returns the parts of the text of q, beside those of taken, that are read as documents
// write them, in order:
//
//  1. Words side by side that documents have as one: data base is data or database, and base or
//     database, so that a text with database is one with both. More than two words are one only
//     with digits among them, or if they are single letters.
//  2. A word whose two parts stand side by side in documents: icecream is icecream or "ice cream",
//     16gb is 16gb or "16 gb". Numbers, and what is written in blocks of four, may have more parts.
//     Of a document that has the word itself the parts do not count. A word of letters that no
//     document has may not be meant so, and counts for apartShare of its idf.
func (x *Index) breaks(ctx context.Context, l lexicon, q Query, taken []expansion) (out []expansion, err error) {
	readings, err := x.readings(ctx, l, q, taken)
	if err != nil {
		return nil, err
	}
	known := map[string]*meaning{}
	for _, r := range readings {
		if l.notes != nil {
			r.as = r.may // to be counted, whatever other indexes have
		}
		if len(r.as) == 0 {
			continue
		}
		own := &meaning{alternatives: []alternative{{text: r.word.term}}}
		syn := &synonym{name: r.word.term, meaning: own.with(r.as, known)}
		if l.global != nil {
			syn.widest = own.with(r.may, known).key
		}
		out = append(out, expansion{r.word.start, r.word.end, r.parts, syn})
	}
	return out, nil
}

// reading is a word of a query with what else it is read as.
type reading struct {
	word token
	may  []alternative // what texts may write in its place, where that is needed for the statistics of several indexes
	as   []alternative // of it, what documents have

	parts bool // the word has parts that are asked for beside it
}

// readings returns the words of the text of q, beside those of taken, that may be read as others,
// see breaks.
func (x *Index) readings(ctx context.Context, l lexicon, q Query, rules []expansion) (out []reading, err error) {
	if len(q.Text) > brokenBytes {
		return nil, nil
	}
	words := x.analyzer.outer(q.Text, func(string) bool { return false })
	if len(words) > maxBroken {
		return nil, nil
	}
	exact, asked := x.exact(q), map[string]bool{}
	var within []token // of words that have parts
	x.analyzer.asked(q.Text, func(t token) bool {
		asked[t.term] = true
		if t.kind != nameTerm {
			within = append(within, t)
		}
		return true
	})
	taken := func(w token) bool {
		return exact[w.term] || slices.ContainsFunc(rules, func(e expansion) bool { return w.start < e.end && e.start < w.end })
	}
	hasParts := func(w token) bool {
		return slices.ContainsFunc(within, func(t token) bool { return w.start <= t.start && t.end <= w.end && t.term != w.term })
	}
	stands := func(w token) bool { return taken(w) || hasParts(w) }
	out = make([]reading, len(words))
	for i, w := range words {
		out[i].word = w
		joined := ""
		for j := i; j < min(len(words), i+maxParts) && !stands(words[j]); j++ {
			between := ""
			if j > i {
				if between = q.Text[words[j-1].end:max(words[j-1].end, words[j].start)]; !joinable(between) {
					break
				}
			}
			joined += q.Text[words[j].start:words[j].end]
			if j == i || !maybeOne(joined, between, words[i:j+1]) {
				continue
			}
			term, ok := x.analyzer.oneTerm(joined)
			if !ok || asked[term] {
				continue
			}
			have, err := l.has(term)
			if err != nil {
				return nil, err
			}
			if !have && l.alone() {
				continue
			}
			for k := i; k <= j; k++ {
				out[k].add(alternative{text: term, part: words[k].term}, have)
			}
		}
		if q.Texts != nil && !taken(w) {
			out[i].parts = hasParts(w)
			if err := x.apart(ctx, l, q, &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// add adds an alternative, which documents have or not.
func (r *reading) add(alt alternative, have bool) {
	if r.may = append(r.may, alt); have {
		r.as = append(r.as, alt)
	}
}

// beyond is the postings of a term as far as documents have it more often than its part: wi-fi is
// indexed as both, and counts once. What counts documents, which takes the part's with them, sees
// all of the term.
type beyond struct {
	segment.PostingsList
	part segment.PostingsList
}

// Iterator implements segment.PostingsList.
func (b beyond) Iterator(freq, norm, locations bool, _ segment.PostingsIterator) segment.PostingsIterator {
	it := b.PostingsList.Iterator(freq, norm, locations, nil)
	if !freq {
		return it
	}
	return &beyondCursor{PostingsIterator: it, part: b.part.Iterator(true, false, false, nil)}
}

// beyondCursor walks through beyond, and is the posting that it stands at.
type beyondCursor struct {
	segment.PostingsIterator
	part  segment.PostingsIterator
	begun bool
	has   segment.Posting // of the part, not before that of the term; nil: no more

	segment.Posting // of the term
	more            uint64
}

// Next implements segment.PostingsIterator.
func (c *beyondCursor) Next() (segment.Posting, error) { return c.from(c.PostingsIterator.Next()) }

// Advance implements segment.PostingsIterator.
func (c *beyondCursor) Advance(doc uint64) (segment.Posting, error) {
	return c.from(c.PostingsIterator.Advance(doc))
}

// from goes on from a posting of the term to one that the part does not have as often.
func (c *beyondCursor) from(p segment.Posting, err error) (segment.Posting, error) {
	for ; p != nil && err == nil; p, err = c.PostingsIterator.Next() {
		if !c.begun || c.has != nil && c.has.Number() < p.Number() {
			c.begun = true
			if c.has, err = c.part.Advance(p.Number()); err != nil {
				return nil, err
			}
		}
		c.Posting, c.more = p, p.Frequency()
		if c.has != nil && c.has.Number() == p.Number() {
			c.more -= min(c.more, c.has.Frequency())
		}
		if c.more > 0 {
			return c, nil
		}
	}
	return nil, err
}

// Frequency implements segment.Posting.
func (c *beyondCursor) Frequency() uint64 { return c.more }

// Size implements segment.PostingsIterator.
func (c *beyondCursor) Size() int { return c.PostingsIterator.Size() }

// joinable says whether what stands between two words may part one.
func joinable(between string) bool {
	return between != "" && strings.Trim(between, " -.()/\u2010\u2011\u00a0") == "" && utf8.RuneCountInString(between) <= 2
}

// oneTerm returns the term of a text that is one word.
func (a analyzer) oneTerm(text string) (string, bool) {
	words := a.outer(text, func(string) bool { return false })
	if len(text) > maxJoined || len(words) != 1 || words[0].end-words[0].start != len(text) || words[0].term == "us" { // U.S. is not us
		return "", false
	}
	return words[0].term, true
}

// maybeOne says whether parts may be one word, see breaks.
func maybeOne(joined, between string, parts []token) bool {
	letters, digits := strings.ContainsFunc(joined, unicode.IsLetter), strings.ContainsFunc(joined, unicode.IsDigit)
	switch {
	case !letters:
		return len(joined) >= leastDigits
	case digits:
		return true
	}
	single := utf8.RuneCountInString(joined) == len(parts)
	return single || len(parts) == 2 && utf8.RuneCountInString(between) == 1
}

// apart adds to a word its parts, as phrases that documents have. Where it is not known yet what
// other indexes have, the word is open if it has any parts, all of which are asked for.
func (x *Index) apart(ctx context.Context, l lexicon, q Query, r *reading) error {
	text := q.Text[r.word.start:r.word.end]
	if l.alone() {
		if found, ok := l.view.apart.get(text); ok {
			for _, alt := range found {
				r.add(alt, true)
			}
			return nil
		}
	}
	ways, err := x.ways(l, text, r.parts)
	if err != nil {
		return err
	}
	own, err := l.has(r.word.term)
	if err != nil {
		return err
	}
	if l.first() {
		if len(ways) > 0 {
			l.notes.Open = append(l.notes.Open, r.word.term)
		}
		return nil
	}
	var found []alternative
	letters := !strings.ContainsFunc(text, unicode.IsDigit)
	for _, way := range ways {
		way := strings.Join(way, " ")
		alt := alternative{text: way, phrase: x.analyzer.phrase(way), without: r.word.term, seldom: letters, guessed: letters && !own}
		have, err := l.together(ctx, alt)
		if err != nil {
			return err
		}
		if r.add(alt, have); have {
			found = append(found, alt)
		}
	}
	if l.alone() {
		l.view.apart.put(text, found, len(text)+alternativeBytes*len(found))
	}
	return nil
}

// ways returns the parts that a word may have been written in. Of a word whose parts are asked for
// beside it they are letters and digits.
func (x *Index) ways(l lexicon, text string, parts bool) (ways [][]string, err error) {
	known := map[string]bool{}
	ways = waysApart(text, maxWays, func(part string) bool {
		is, seen := known[part]
		if term, ok := x.analyzer.oneTerm(part); !seen && ok && err == nil {
			is, err = l.has(term)
			is = is || l.first()
		}
		known[part] = is
		return is
	})
	if parts && !strings.ContainsFunc(text, unicode.IsDigit) {
		ways = nil
	}
	return ways, err
}

// foundTogether says whether a document has a phrase.
func (x *Index) foundTogether(ctx context.Context, v *view, alt alternative, texts Texts) (bool, error) {
	for _, s := range v.segments {
		lists, err := x.together(ctx, v, s, alt, v.fields, texts)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(lists, func(p *phrasePostings) bool { return p.Count() > 0 }) {
			return true, nil
		}
	}
	return false, nil
}

// waysApart returns the parts that a word may have been written in, all of them known, at most so
// many.
func waysApart(word string, most int, known func(part string) bool) (ways [][]string) {
	add := func(parts ...string) {
		if len(ways) < most && !slices.ContainsFunc(parts, func(p string) bool { return !known(p) }) {
			ways = append(ways, slices.Clone(parts))
		}
	}
	letters, digits, border, borders := 0, 0, 0, 0 // border: where letters end and digits begin, or the other way round
	for i, r := range word {
		digit := '0' <= r && r <= '9'
		switch {
		case digit:
			digits++
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		default:
			return nil
		}
		if i > 0 && digit != isDigit(word[i-1]) {
			border, borders = i, borders+1
		}
	}
	switch {
	case len(word) > maxJoined:
	case digits == 0 && letters >= leastParted:
		for i := range word {
			if i > 0 && utf8.RuneCountInString(word[i:]) > 1 {
				add(word[:i], word[i:])
			}
		}
	case letters == 0 && digits >= leastDigits && digits <= mostDigits:
		groups(word, nil, known, func(parts []string) { add(parts...) })
	case borders == 1:
		ways = append(ways, []string{word[:border], word[border:]}) // these are terms of every document that has the word
	}
	if digits > 2*blockDigits && len(word) <= maxParts*blockDigits && len(word) == letters+digits {
		var blocks []string
		for b := range slices.Chunk([]byte(word), blockDigits) {
			blocks = append(blocks, string(b))
		}
		add(blocks...)
	}
	return ways
}

// groups calls f with the ways to write a number, behind parts, in two groups and more of known
// ones: of two to seven digits, the first also of one.
func groups(number string, parts []string, known func(part string) bool, f func(parts []string)) {
	if number == "" && len(parts) > 1 {
		f(parts)
	}
	for n := min(1+len(parts), 2); n <= min(7, len(number)) && len(parts) < 5; n++ {
		if known(number[:n]) {
			groups(number[n:], append(parts, number[:n]), known, f)
		}
	}
}
