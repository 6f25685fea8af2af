package keyword

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// maxPhraseTerms of a phrase count.
const maxPhraseTerms = 256

// Phrase is an analysed sequence of words, stop words too. A word with parts, such as iPhone15 or
// wi-fi, stands for itself or for its parts one after another.
type Phrase struct {
	steps []step   // by from
	end   int      // the place behind the last step
	pairs []string // of characters, where scripts are in pairs; the steps are the characters
}

// step is a term from one place of a phrase to another one, which has the same distance in texts.
// Places count from 0.
type step struct {
	term, word string // see token
	from, to   int
}

func (s step) hash() uint64 { return maphash.String(placesSeed, s.term) }

// wordHash is the hash of the word of a term.
func wordHash(term, word string) uint64 {
	if word == "" {
		word = term
	}
	return maphash.String(placesSeed, word)
}

// Phrase analyses text as a phrase. Of names that have signs before or behind their words, or &, it
// has the whole and not the words: C++ is not C.
func (x *Index) Phrase(text string) Phrase { return x.analyzer.phrase(text) }

func (a analyzer) phrase(text string) Phrase {
	var p Phrase
	first, whole := 0, 0 // bytes of text to which the last such name goes
	a.each(text, func(t token) bool {
		switch {
		case t.start < whole:
			return true
		case t.pair:
			p.pairs = append(p.pairs, t.term)
			return true
		}
		if t.kind == nameTerm && hasSigns(t.term) {
			whole = t.end
		}
		if len(p.steps) == 0 {
			first = t.position
		}
		p.steps = append(p.steps, step{t.term, t.word, t.position - first, t.next - first})
		p.end = max(p.end, t.next-first)
		return len(p.steps) < maxPhraseTerms
	})
	slices.SortStableFunc(p.steps, func(a, b step) int { return a.from - b.from })
	return p
}

// hasSigns says whether the words of a name lack signs that it begins or ends with, or an &.
func hasSigns(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	return notWord(first) || notWord(last) || strings.Contains(name, "&")
}

// Len is the number of terms. The index knows the documents with a phrase of one term; of longer
// ones, those with all of the terms.
func (p Phrase) Len() int { return len(p.steps) }

// path returns the terms of the phrase in its smallest parts, with their places as positions.
func (p Phrase) path() (out []Token) {
	for at := 0; at < p.end; {
		next := p.end
		var smallest step
		for _, s := range p.steps {
			if s.from == at && s.to <= next {
				smallest, next = s, s.to
			}
		}
		if smallest.term != "" {
			out = append(out, Token{Term: strings.TrimPrefix(smallest.term, commonMark), Position: at, Common: strings.HasPrefix(smallest.term, commonMark)})
		}
		at = next
	}
	return out
}

// walkPhrase goes through the places of a phrase from its beginning with what begins there and
// returns what is at its end. step returns what is behind a term from what is before it, and either
// adds what several ways lead to.
func walkPhrase[T any](p Phrase, begin T, behind func(before T, s step) T, either func(a, b T) T) (end T) {
	at := make([]T, p.end+1)
	reached := make([]bool, p.end+1)
	at[0], reached[0] = begin, true
	for _, s := range p.steps {
		if !reached[s.from] {
			continue
		}
		if v := behind(at[s.from], s); reached[s.to] {
			at[s.to] = either(at[s.to], v)
		} else {
			at[s.to], reached[s.to] = v, true
		}
	}
	return at[p.end]
}

// Held says how a text has a phrase.
type Held uint8

const (
	NotHeld Held = iota
	Stemmed      // with other forms of its words: "emergency fund" in emerging funds
	Literal      // with its words, in capitals or small letters, with accents or without
)

// Holds says of each phrase how text has it, which is analysed once. starts are where strings begin
// that text is made of, rising and without the first: no phrase goes from one to the next. An empty
// phrase is in every text.
func (x *Index) Holds(text string, starts []int, phrases ...Phrase) []Held {
	held := make([]Held, len(phrases))
	stems, words, stemmed := x.spots(text, starts, phrases...)
	for i, p := range phrases {
		switch {
		case p.Len() == 0 || p.count(words, literalsOf) > 0:
			held[i] = Literal
		case stemmed && p.count(stems, stemsOf) > 0:
			held[i] = Stemmed
		}
	}
	return held
}

// occurrences returns how often each phrase is in text, in any form of its words, for starts see
// Holds.
func (x *Index) occurrences(text string, starts []int, phrases ...Phrase) []int {
	stems, _, _ := x.spots(text, starts, phrases...)
	n := make([]int, len(phrases))
	for i, p := range phrases {
		n[i] = p.count(stems, stemsOf)
	}
	return n
}

// spots has the positions of a term in a text by how many positions it takes.
type spots map[int]positions

func stemsOf(s step) uint64    { return s.hash() }
func literalsOf(s step) uint64 { return wordHash(s.term, s.word) }

// spots returns the positions of the terms of phrases in a text, and of their words, and whether
// these differ.
func (x *Index) spots(text string, starts []int, phrases ...Phrase) (stems, words map[uint64]spots, differ bool) {
	stems, words = map[uint64]spots{}, map[uint64]spots{}
	gap := 0 // between strings: wider than any phrase
	for _, p := range phrases {
		gap = max(gap, p.end+1)
		for _, s := range p.steps {
			stems[stemsOf(s)], words[literalsOf(s)] = spots{}, spots{}
			differ = differ || s.word != ""
		}
	}
	before := 0 // strings
	x.analyzer.eachPlace(text, func(l place) {
		for before < len(starts) && starts[before] <= int(l.start) {
			before++
		}
		at, ok := stems[l.term]
		if !ok {
			return
		}
		differ = differ || l.term != l.word
		position, width := int(l.position)+before*gap, int(l.width)
		at.add(position, width)
		if at, ok := words[l.word]; ok {
			at.add(position, width)
		}
	})
	return stems, words, differ
}

func (s spots) add(position, width int) {
	p := s[width]
	p.add(position)
	s[width] = p
}

// count returns at how many positions of a text the phrase ends; 0 for an empty phrase. Positions
// are moved and met as sets: where text and phrase repeat themselves, going from each first one
// through the terms would take the product of both lengths.
func (p Phrase) count(at map[uint64]spots, of func(s step) uint64) int {
	if p.Len() == 0 {
		return 0
	}
	return walkPhrase(p, nil, func(before positions, s step) (behind positions) {
		for width, found := range at[of(s)] {
			if s.from > 0 {
				found = found.and(before)
			}
			behind = behind.or(found.moved(width))
		}
		return behind
	}, positions.or).len()
}

// WithTerms returns the documents that have all terms of p in one and the same of fields, none
// meaning every text field. An empty phrase has none.
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
				if _, ok := s.lengths[name]; !ok {
					continue
				}
				docs, err := s.withTerms(p, name)
				if err != nil {
					return err
				}
				local.Or(docs)
			}
			s.addNumbers(result, s.live(local))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// withTerms returns the local numbers of the documents that have all terms of p in a field, deleted
// ones among them.
func (s *segmentView) withTerms(p Phrase, field string) (*roaring.Bitmap, error) {
	dict, err := s.segment.Dictionary(textPrefix + field)
	if err != nil {
		return nil, err
	}
	var pl segment.PostingsList
	read := func(term string) *roaring.Bitmap {
		docs := roaring.New()
		if err == nil {
			if pl, err = dict.PostingsList([]byte(term), nil, pl); err == nil {
				err = orInto(docs, pl)
			}
		}
		return docs
	}
	var pairs *roaring.Bitmap
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
		behind := read(s.term)
		if before != nil {
			behind.And(before)
		}
		return behind
	}, func(a, b *roaring.Bitmap) *roaring.Bitmap { return roaring.Or(a, b) })
	if docs == nil {
		docs = roaring.New()
	}
	return docs, err
}

// addNumbers adds the document numbers of local to dst.
func (s *segmentView) addNumbers(dst, local *roaring.Bitmap) {
	nos := make([]uint32, 0, local.GetCardinality())
	for it := local.Iterator(); it.HasNext(); {
		nos = append(nos, s.nos[it.Next()])
	}
	dst.AddMany(nos)
}

// terms returns the different terms of a phrase.
func (p Phrase) terms() []string {
	all := map[string]bool{}
	for _, s := range p.steps {
		all[s.term] = true
	}
	return slices.Sorted(maps.Keys(all))
}
