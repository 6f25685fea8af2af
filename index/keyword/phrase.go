package keyword

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"example.com/searchd/index/keyword/analysis"
)

// maxPhraseTerms is the number of terms at which phrases are cut.
const maxPhraseTerms = 256

// Phrase is an analysed sequence of words, including stop words. A word with parts, such as
// iPhone15 or wi-fi, stands for itself or for its parts in sequence.
type Phrase struct {
	steps []step   // by from
	end   int      // the position after the last step
	pairs []string // of characters, in scripts that have them; the steps are the single characters
}

// step is a term that takes the positions [from, to) of a phrase.
type step struct {
	term, word string // see analysis.Token
	from, to   int
}

// Phrase analyses text as a phrase. A name with signs that its words lack is one term: C++ is not
// C.
func (x *Index) Phrase(text string) Phrase { return newPhrase(x.analyzer, text) }

func newPhrase(a *analysis.Analyzer, text string) Phrase {
	var p Phrase
	first, nameEnd := 0, 0
	for t := range a.Tokens(text) {
		if t.Start < nameEnd {
			continue
		}
		if t.Pair {
			p.pairs = append(p.pairs, t.Term)
			continue
		}
		if t.Kind == analysis.Name && analysis.HasSigns(t.Term) {
			nameEnd = t.End
		}
		if len(p.steps) == 0 {
			first = t.Position
		}
		p.steps = append(p.steps, step{t.Term, t.Word, t.Position - first, t.Next - first})
		p.end = max(p.end, t.Next-first)
		if len(p.steps) == maxPhraseTerms {
			break
		}
	}
	slices.SortStableFunc(p.steps, func(a, b step) int { return a.from - b.from })
	return p
}

// Len returns the number of terms. WithTerms finds the documents with a phrase of one term, and
// candidates for a longer one.
func (p Phrase) Len() int { return len(p.steps) }

// hasStop reports whether one of the terms is a stop word.
func (p Phrase) hasStop() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return strings.HasPrefix(s.term, analysis.StopPrefix) })
}

// terms returns the distinct terms.
func (p Phrase) terms() []string {
	all := map[string]bool{}
	for _, s := range p.steps {
		all[s.term] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// key identifies the phrase.
func (p Phrase) key() string {
	var b strings.Builder
	for _, s := range p.steps {
		fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", s.term, s.from, s.to)
	}
	return b.String()
}

// smallest returns the terms of the smallest parts of the phrase with their positions in it.
func (p Phrase) smallest() (out []Token) {
	for at := 0; at < p.end; {
		next := p.end
		var smallest step
		for _, s := range p.steps {
			if s.from == at && s.to <= next {
				smallest, next = s, s.to
			}
		}
		if smallest.term != "" {
			term, stop := strings.CutPrefix(smallest.term, analysis.StopPrefix)
			out = append(out, Token{Term: term, Position: at, Next: next, Common: stop})
		}
		at = next
	}
	return out
}

// walkPhrase carries a value along the steps of a phrase from its beginning and returns the value
// at its end. apply returns the value after a step from that before it, and either combines the
// values of two ways to one position.
func walkPhrase[T any](p Phrase, begin T, apply func(before T, s step) T, either func(a, b T) T) (end T) {
	at := make([]T, p.end+1)
	reached := make([]bool, p.end+1)
	at[0], reached[0] = begin, true
	for _, s := range p.steps {
		if !reached[s.from] {
			continue
		}
		if v := apply(at[s.from], s); reached[s.to] {
			at[s.to] = either(at[s.to], v)
		} else {
			at[s.to], reached[s.to] = v, true
		}
	}
	return at[p.end]
}

// Held tells how a text contains a phrase.
type Held uint8

const (
	NotHeld Held = iota
	Stemmed      // with other forms of its words: "emergency fund" in emerging funds
	Literal      // with its words, whatever their case and accents
)

// Holds returns how text contains each phrase. The text is made of strings that begin at 0 and at
// starts, which ascend; phrases do not go from one string to the next. Every text contains an empty
// phrase.
func (x *Index) Holds(text string, starts []int, phrases ...Phrase) []Held {
	held := make([]Held, len(phrases))
	stems, words, differ := x.occurrences(text, starts, phrases...)
	for i, p := range phrases {
		switch {
		case p.Len() == 0 || p.count(words, wordOf) > 0:
			held[i] = Literal
		case differ && p.count(stems, termOf) > 0:
			held[i] = Stemmed
		}
	}
	return held
}

func termOf(s step) uint64 { return termHash(s.term) }
func wordOf(s step) uint64 { return wordHash(s.term, s.word) }

// occurrences are the positions of a term in a text by the number of positions that it takes.
type occurrences map[int]positions

func (o occurrences) add(position, width int) {
	p := o[width]
	p.add(position)
	o[width] = p
}

// occurrences returns where text has the terms of phrases and where it has their words, by hash,
// and whether these differ. For starts see Holds.
func (x *Index) occurrences(text string, starts []int, phrases ...Phrase) (stems, words map[uint64]occurrences, differ bool) {
	stems, words = map[uint64]occurrences{}, map[uint64]occurrences{}
	gap := 0 // between strings: wider than any phrase
	for _, p := range phrases {
		gap = max(gap, p.end+1)
		for _, s := range p.steps {
			stems[termOf(s)], words[wordOf(s)] = occurrences{}, occurrences{}
			differ = differ || s.word != ""
		}
	}
	before := 0 // number of strings before the place
	x.eachPlace(text, func(l place) {
		for before < len(starts) && starts[before] <= int(l.start) {
			before++
		}
		stem, ok := stems[l.term]
		if !ok {
			return
		}
		differ = differ || l.term != l.word
		position, width := int(l.position)+before*gap, int(l.width)
		stem.add(position, width)
		if word, ok := words[l.word]; ok {
			word.add(position, width)
		}
	})
	return stems, words, differ
}

// count returns the number of positions of a text where the phrase ends; 0 for an empty phrase.
// Working on sets of positions keeps the time linear where text and phrase are repetitive.
func (p Phrase) count(at map[uint64]occurrences, of func(s step) uint64) int {
	if p.Len() == 0 {
		return 0
	}
	return walkPhrase(p, nil, func(before positions, s step) (after positions) {
		for width, found := range at[of(s)] {
			if s.from > 0 {
				found = found.and(before)
			}
			after = after.or(found.shifted(width))
		}
		return after
	}, positions.or).len()
}

// WithTerms returns the documents that have all terms of p in one of fields, or in one of all text
// fields if there are none, but hardly any that have them only in another order or apart. An empty
// phrase has no documents.
func (x *Index) WithTerms(ctx context.Context, p Phrase, fields []string) (*roaring.Bitmap, error) {
	result := roaring.New()
	if p.Len() == 0 {
		return result, nil
	}
	err := x.read(func(v *view) error {
		names := fields
		if len(names) == 0 {
			names = v.fields
		}
		for _, s := range v.segments {
			local := roaring.New()
			for _, name := range names {
				if err := ctx.Err(); err != nil {
					return err
				}
				docs, err := s.withTerms(p, name)
				if err != nil {
					return err
				}
				local.Or(docs)
			}
			docs, err := s.mayHavePhrase(p, s.live(local))
			if err != nil {
				return err
			}
			s.addNumbers(result, docs)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// withTerms returns the local numbers of the documents that have all terms of p in a field, deleted
// ones too.
func (d *segmentData) withTerms(p Phrase, field string) (*roaring.Bitmap, error) {
	var err error
	read := func(term string) *roaring.Bitmap {
		docs := roaring.New()
		if err == nil {
			var list segment.PostingsList
			if list, err = d.list(field, term); err == nil {
				err = orInto(docs, list)
			}
		}
		return docs
	}
	var pairs *roaring.Bitmap // nil: no pairs
	for _, pair := range p.pairs {
		if docs := read(pair); pairs == nil {
			pairs = docs
		} else {
			pairs.And(docs)
		}
		if pairs.IsEmpty() {
			return pairs, err
		}
	}
	docs := walkPhrase(p, pairs, func(before *roaring.Bitmap, s step) *roaring.Bitmap {
		if before != nil && before.IsEmpty() {
			return before
		}
		after := read(s.term)
		if before != nil {
			after.And(before)
		}
		return after
	}, func(a, b *roaring.Bitmap) *roaring.Bitmap { return roaring.Or(a, b) })
	if docs == nil {
		docs = roaring.New()
	}
	return docs, err
}
