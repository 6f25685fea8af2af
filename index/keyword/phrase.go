package keyword

import (
	"context"
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// maxPhraseTerms of a phrase count.
const maxPhraseTerms = 256

// Phrase is an analysed sequence of words. What the analysis drops, stop words mostly, leaves a gap of its width: a phrase with a
// stop word in the middle is in a text that has any one word there.
type Phrase struct {
	terms []phraseTerm
}

type phraseTerm struct {
	text   string
	offset int // from the position of the first term
}

func (t phraseTerm) hash() uint64 { return maphash.String(placesSeed, t.text) }

// Phrase analyses text as a phrase. Of names that have signs before or behind their words, or &, it has the whole and not the words: C++ is not C.
func (x *Index) Phrase(text string) Phrase { return x.analyzer.phrase(text) }

func (a analyzer) phrase(text string) Phrase {
	var p Phrase
	first, whole := 0, 0 // bytes of text to which the last such name goes
	a.eachWithNames(text, func(t token) bool {
		if t.covered || t.start < whole || t.name && !hasSigns(t.term) {
			return true
		}
		if t.name {
			whole = t.end
		}
		if len(p.terms) == 0 {
			first = t.position
		}
		p.terms = append(p.terms, phraseTerm{t.term, t.position - first})
		return len(p.terms) < maxPhraseTerms
	})
	return p
}

// hasSigns says whether the words of a name lack signs that it begins or ends with, or an &.
func hasSigns(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	return notWord(first) || notWord(last) || strings.Contains(name, "&")
}

// Len is the number of terms. The index knows the documents with a phrase of one term; of longer ones, those with all of the terms.
func (p Phrase) Len() int { return len(p.terms) }

// Holds says of each phrase whether it is in text, which is analysed once. starts are where strings begin that text is made of, rising and
// without the first: no phrase goes from one to the next. An empty phrase is in every text.
func (x *Index) Holds(text string, starts []int, phrases ...Phrase) []bool {
	held := make([]bool, len(phrases))
	for i, n := range x.occurrences(text, starts, phrases...) {
		held[i] = n > 0 || phrases[i].Len() == 0
	}
	return held
}

// occurrences returns how often each phrase is in text, for starts see Holds.
func (x *Index) occurrences(text string, starts []int, phrases ...Phrase) []uint64 {
	wanted := map[uint64]*roaring.Bitmap{} // term to its positions
	gap := 0                               // between strings: wider than any phrase
	for _, p := range phrases {
		for _, t := range p.terms {
			wanted[t.hash()] = nil
			gap = max(gap, t.offset+1)
		}
	}
	before := 0 // strings
	x.analyzer.eachPlace(text, func(l place) {
		for before < len(starts) && starts[before] <= int(l.start) {
			before++
		}
		at, ok := wanted[l.term]
		if !ok {
			return
		}
		if at == nil {
			at = roaring.New()
			wanted[l.term] = at
		}
		at.Add(l.position + uint32(before*gap))
	})
	n := make([]uint64, len(phrases))
	for i, p := range phrases {
		n[i] = p.follows(wanted)
	}
	return n
}

// follows returns how often all terms have their places after a first one; 0 for an empty phrase. Their positions are moved and met as sets: where text and phrase repeat
// themselves, going from each first one through the terms would take the product of both lengths.
func (p Phrase) follows(positions map[uint64]*roaring.Bitmap) uint64 {
	var firsts *roaring.Bitmap
	for _, t := range p.terms {
		at := positions[t.hash()]
		if at == nil {
			return 0
		}
		at = roaring.AddOffset64(at, -int64(t.offset))
		if firsts == nil {
			firsts = at
		} else {
			firsts.And(at)
		}
		if firsts.IsEmpty() {
			return 0
		}
	}
	if firsts == nil {
		return 0
	}
	return firsts.GetCardinality()
}

// WithTerms returns the documents that have all terms of p in one and the same of fields, none meaning every text field. An empty
// phrase has none.
func (x *Index) WithTerms(ctx context.Context, p Phrase, fields []string) (*roaring.Bitmap, error) {
	result := roaring.New()
	if len(p.terms) == 0 {
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

// withTerms returns the local numbers of the documents that have all terms of p in a field, deleted ones among them.
func (s *segmentView) withTerms(p Phrase, field string) (*roaring.Bitmap, error) {
	dict, err := s.segment.Dictionary(textPrefix + field)
	if err != nil {
		return nil, err
	}
	var all *roaring.Bitmap
	var pl segment.PostingsList
	for _, t := range p.terms {
		if pl, err = dict.PostingsList([]byte(t.text), nil, pl); err != nil {
			return nil, err
		}
		docs := roaring.New()
		if err := orInto(docs, pl); err != nil {
			return nil, err
		}
		if all == nil {
			all = docs
		} else {
			all.And(docs)
		}
		if all.IsEmpty() {
			break
		}
	}
	return all, nil
}

// addNumbers adds the document numbers of local to dst.
func (s *segmentView) addNumbers(dst, local *roaring.Bitmap) {
	nos := make([]uint32, 0, local.GetCardinality())
	for it := local.Iterator(); it.HasNext(); {
		nos = append(nos, s.nos[it.Next()])
	}
	dst.AddMany(nos)
}
