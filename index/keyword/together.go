package keyword

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Bounds of reading texts for one phrase among the synonyms of a query: a quarter of a second of
// one core, once.
const (
	togetherDocs   = 2000
	togetherTokens = 1 << 18
	togetherLeast  = 1. / 16 // of both, for a segment

	togetherBudget = 16 << 20 // bytes of postings of phrases kept, of all indexes
)

// Texts calls f with the texts of documents, as they were given to the index, and where strings
// begin that each is made of, see [Index.Holds]. Documents that are gone are passed over.
type Texts func(ctx context.Context, nos []uint32, f func(no uint32, text Field, starts []int)) error

// phrasePostings says which documents of a segment have a phrase in a field, and how often.
type phrasePostings struct {
	locals []uint32 // rising
	freqs  []uint32 // of locals
}

// phraseKey names the postings of a phrase. What a segment holds never changes, so that nothing
// that is kept can be out of date.
type phraseKey struct {
	segment       uint64
	field, phrase string
}

var togetherKept = kept[phraseKey, *phrasePostings]{budget: togetherBudget}

// key tells phrases apart.
func (p Phrase) key() string {
	var b strings.Builder
	for _, s := range p.steps {
		fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", s.term, s.from, s.to)
	}
	return b.String()
}

// together returns the postings of a phrase in each of fields in segment s.
//
//  1. The postings of its terms tell which documents have all of them in a field.
//  2. The texts of these are read, the shortest first, up to the bounds above, of which a segment
//     has its share, or a sixteenth.
//  3. The others count as having it as often as the term that they have least often. If it is of
//     letters and from breaks a quarter as many are read, and the others have it only where half of
//     those do.
func (x *Index) together(ctx context.Context, v *view, s *segmentView, alt alternative, fields []string, texts Texts) ([]*phrasePostings, error) {
	out := make([]*phrasePostings, len(fields))
	p, key := alt.phrase, alt.phrase.key()
	if alt.without != "" {
		key += "\x00" + alt.without
	}
	found := map[string]*phrasePostings{} // by field that is not known yet
	docs := roaring.New()
	for i, name := range fields {
		var ok bool
		if out[i], ok = togetherKept.get(phraseKey{s.id, name, key}); ok {
			continue
		}
		most, err := s.atMost(p, name, alt.without)
		if err != nil {
			return nil, err
		}
		out[i], found[name] = most, most
		docs.AddMany(most.locals)
	}
	if len(found) == 0 {
		return out, nil
	}
	if texts != nil && !docs.IsEmpty() {
		share := float64(len(s.nos)) / float64(max(v.docs, 1))
		if alt.seldom { // anybody may ask for it
			share /= 4
		}
		locals := s.shortest(docs, found, share)
		if err := x.readTogether(ctx, s, p, locals, found, texts); err != nil {
			return nil, err
		}
		for _, f := range found {
			if alt.seldom && !f.mostly(locals) {
				f.keep(locals)
			}
		}
	}
	for name, p := range found {
		p.trim()
		if bytes := 8 * len(p.locals); bytes <= togetherBudget/2 {
			togetherKept.put(phraseKey{s.id, name, key}, p, bytes+len(key)+len(name))
		}
	}
	return out, nil
}

// shortest returns which of docs are read of a segment that has a share of what may be read, those
// with the shortest of fields that may have the phrase first.
func (s *segmentView) shortest(docs *roaring.Bitmap, fields map[string]*phrasePostings, share float64) []uint32 {
	type sized struct{ local, tokens uint32 }
	tokens := make([]uint32, len(s.nos))
	for name, p := range fields {
		for _, local := range p.locals {
			tokens[local] += s.lengths[name].at(local)
		}
	}
	list := make([]sized, 0, docs.GetCardinality())
	for it := docs.Iterator(); it.HasNext(); {
		local := it.Next()
		list = append(list, sized{local, tokens[local]})
	}
	slices.SortFunc(list, func(a, b sized) int { return cmp.Or(cmp.Compare(a.tokens, b.tokens), cmp.Compare(a.local, b.local)) })
	share = max(togetherLeast, min(1, share))
	left := uint32(togetherTokens * share)
	var locals []uint32
	for _, d := range list[:min(len(list), int(togetherDocs*share))] {
		if d.tokens > left {
			break
		}
		left -= d.tokens
		locals = append(locals, d.local)
	}
	return locals
}

// readTogether puts into found how often documents really have the phrase.
func (x *Index) readTogether(ctx context.Context, s *segmentView, p Phrase, locals []uint32, found map[string]*phrasePostings, texts Texts) error {
	nos := make([]uint32, len(locals))
	byNo := make(map[uint32]uint32, len(locals))
	for i, local := range locals {
		nos[i] = s.nos[local]
		byNo[nos[i]] = local
		for _, f := range found {
			if at, ok := slices.BinarySearch(f.locals, local); ok {
				f.freqs[at] = 0
			}
		}
	}
	return texts(ctx, nos, func(no uint32, text Field, starts []int) {
		f := found[x.names.of(text.Name)]
		if f == nil {
			return
		}
		if at, ok := slices.BinarySearch(f.locals, byNo[no]); ok {
			f.freqs[at] += uint32(x.occurrences(text.Text, starts, p)[0])
		}
	})
}

// atMost returns the documents of a field that have all terms of p, and how often the one that they
// have least often. Those with the term without, if it is not empty, are left out.
func (s *segmentView) atMost(p Phrase, field, without string) (*phrasePostings, error) {
	most := &phrasePostings{}
	if _, ok := s.lengths[field]; !ok {
		return most, nil
	}
	docs, err := s.withTerms(p, field)
	if err != nil || s.live(docs).IsEmpty() {
		return most, err
	}
	dict, err := s.segment.Dictionary(textPrefix + field)
	if err != nil {
		return nil, err
	}
	if without != "" {
		pl, err := dict.PostingsList([]byte(without), nil, nil)
		if err != nil {
			return nil, err
		}
		others := roaring.New()
		if err := orInto(others, pl); err != nil {
			return nil, err
		}
		docs.AndNot(others)
	}
	most.locals = docs.ToArray()
	freqs := map[string][]uint32{} // by term: of each of locals
	for _, term := range p.terms() {
		pl, err := dict.PostingsList([]byte(term), nil, nil)
		if err != nil {
			return nil, err
		}
		it := pl.Iterator(true, false, false, nil)
		of := make([]uint32, len(most.locals))
		for i, posting := 0, segment.Posting(nil); i < len(most.locals); i++ {
			local := uint64(most.locals[i])
			if posting == nil || posting.Number() < local {
				if posting, err = it.Advance(local); err != nil {
					return nil, err
				}
			}
			if posting == nil {
				break
			}
			if posting.Number() == local {
				of[i] = uint32(posting.Frequency())
			}
		}
		freqs[term] = of
	}
	most.freqs = make([]uint32, len(most.locals))
	for i := range most.locals {
		most.freqs[i] = walkPhrase(p, math.MaxUint32, func(before uint32, s step) uint32 { return min(before, freqs[s.term][i]) },
			func(a, b uint32) uint32 { return max(a, b) })
	}
	return most, nil
}

// mostly says whether half of those of locals that have the terms of the phrase have the phrase, or
// more.
func (p *phrasePostings) mostly(locals []uint32) bool {
	read, have := 0, 0
	for _, local := range locals {
		if at, ok := slices.BinarySearch(p.locals, local); ok {
			if read++; p.freqs[at] > 0 {
				have++
			}
		}
	}
	return 2*have >= read
}

// keep leaves all but locals without the phrase.
func (p *phrasePostings) keep(locals []uint32) {
	kept := roaring.BitmapOf(locals...)
	for i, local := range p.locals {
		if !kept.Contains(local) {
			p.freqs[i] = 0
		}
	}
}

// trim leaves out documents without the phrase.
func (p *phrasePostings) trim() {
	n := 0
	for i, freq := range p.freqs {
		if freq > 0 {
			p.locals[n], p.freqs[n] = p.locals[i], freq
			n++
		}
	}
	p.locals, p.freqs = slices.Clip(p.locals[:n]), slices.Clip(p.freqs[:n])
}

// Iterator implements segment.PostingsList.
func (p *phrasePostings) Iterator(_, _, _ bool, _ segment.PostingsIterator) segment.PostingsIterator {
	return &phraseCursor{phrasePostings: p, at: -1}
}

// Count implements segment.PostingsList.
func (p *phrasePostings) Count() uint64 { return uint64(len(p.locals)) }

// Size implements segment.PostingsList.
func (p *phrasePostings) Size() int { return 8 * len(p.locals) }

// BytesRead implements segment.DiskStatsReporter; nothing is read.
func (p *phrasePostings) BytesRead() uint64 { return 0 }

// ResetBytesRead implements segment.DiskStatsReporter.
func (p *phrasePostings) ResetBytesRead(uint64) {}

// BytesWritten implements segment.DiskStatsReporter.
func (p *phrasePostings) BytesWritten() uint64 { return 0 }

// phraseCursor walks through phrasePostings, and is the posting that it stands at.
type phraseCursor struct {
	*phrasePostings
	at int
}

// Next implements segment.PostingsIterator.
func (c *phraseCursor) Next() (segment.Posting, error) {
	c.at++
	return c.posting()
}

// Advance implements segment.PostingsIterator.
func (c *phraseCursor) Advance(doc uint64) (segment.Posting, error) {
	from := max(c.at, 0)
	n, _ := slices.BinarySearch(c.locals[min(from, len(c.locals)):], uint32(doc))
	c.at = from + n
	return c.posting()
}

func (c *phraseCursor) posting() (segment.Posting, error) {
	if c.at >= len(c.locals) {
		return nil, nil
	}
	return c, nil
}

// Number implements segment.Posting.
func (c *phraseCursor) Number() uint64 { return uint64(c.locals[c.at]) }

// Frequency implements segment.Posting.
func (c *phraseCursor) Frequency() uint64 { return uint64(c.freqs[c.at]) }

// Norm implements segment.Posting.
func (c *phraseCursor) Norm() float64 { return 0 }

// Locations implements segment.Posting.
func (c *phraseCursor) Locations() []segment.Location { return nil }
