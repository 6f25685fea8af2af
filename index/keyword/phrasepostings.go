package keyword

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Bounds on the texts that are read for one phrase of a query: a quarter of a second of one core.
const (
	maxPhraseDocs   = 2000
	maxPhraseTokens = 1 << 18
	minPhraseShare  = 1. / 16 // of both, for one segment
)

// Texts calls f with the texts of documents, as they were given to the index, and the starts of
// their strings, see [Index.Holds]. Documents that no longer exist are skipped.
type Texts func(ctx context.Context, nos []uint32, f func(no uint32, text Field, starts []int)) error

// candidates are documents of a segment that have all terms of a phrase in a field, with the number
// of occurrences as far as it is known: at most that of the rarest term in the document.
type candidates struct{ docs, freqs []uint32 }

// phrasePostings returns the postings of a phrase in each of fields in segment s. The index has no
// positions, so the texts of documents with all terms are read, except those that their neighbour
// filters exclude, the shortest first, within the bounds above, of which a segment has its share.
// Beyond the bounds a document counts as many occurrences as it has of the rarest term. Of an
// unlikely phrase a quarter of the bounds is read, and other documents count only if half of those
// read have it.
func (x *Index) phrasePostings(ctx context.Context, v *view, s *segmentView, alt alternative, fields []string, texts Texts) ([]*postings, error) {
	out := make([]*postings, len(fields))
	p, key := alt.phrase, ""
	found := map[string]*candidates{} // by field that is not cached
	docs := roaring.New()
	for i, name := range fields {
		have, err := s.mayHave(p, name)
		if err != nil {
			return nil, err
		}
		if !have { // nearly always, and faster to find out than to look up in a cache
			out[i] = &noPostings
			continue
		}
		if key == "" {
			if key = p.key(); alt.without != "" {
				key += "\x00" + alt.without
			}
		}
		var ok bool
		if out[i], ok = s.caches.postings.Get(postingsKey{s.id, name, key}); ok {
			continue
		}
		c, err := s.candidates(p, name, alt.without)
		if err != nil {
			return nil, err
		}
		found[name] = c
		docs.AddMany(c.docs)
	}
	docs, err := s.mayHavePhrase(p, docs)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		c.keep(docs)
	}
	if texts != nil && !docs.IsEmpty() {
		share, least := float64(len(s.nos))/float64(max(v.docs, 1)), minPhraseShare
		if alt.unlikely {
			share /= 4
			if p.hasStop() { // very many documents have a stop word
				share, least = 0, least/4
			}
		}
		read := s.shortest(docs, found, max(least, min(1, share)))
		if err := x.readPhrase(ctx, s, alt, read, found, texts); err != nil {
			return nil, err
		}
		for _, c := range found {
			if alt.unlikely && !c.mostly(read) {
				c.keep(roaring.BitmapOf(read...))
			}
		}
	}
	for i, name := range fields {
		if c := found[name]; c != nil {
			out[i] = newPostings(c.docs, c.freqs, s.lengths[name])
			s.cachePostings(postingsKey{s.id, name, key}, out[i])
		}
	}
	return out, nil
}

// shortest returns which of docs are read in a segment with a share of the bounds: those with the
// shortest fields that may have the phrase.
func (s *segmentView) shortest(docs *roaring.Bitmap, fields map[string]*candidates, share float64) []uint32 {
	type sized struct{ doc, tokens uint32 }
	tokens := make([]uint32, len(s.nos))
	for name, c := range fields {
		for _, doc := range c.docs {
			tokens[doc] += s.lengths[name].at(doc)
		}
	}
	list := make([]sized, 0, docs.GetCardinality())
	for it := docs.Iterator(); it.HasNext(); {
		doc := it.Next()
		list = append(list, sized{doc, tokens[doc]})
	}
	slices.SortFunc(list, func(a, b sized) int { return cmp.Or(cmp.Compare(a.tokens, b.tokens), cmp.Compare(a.doc, b.doc)) })
	left := uint32(maxPhraseTokens * share)
	var read []uint32
	for _, d := range list[:min(len(list), int(maxPhraseDocs*share))] {
		if d.tokens > left {
			break
		}
		left -= d.tokens
		read = append(read, d.doc)
	}
	return read
}

// noPostings are those of what a segment lacks.
var noPostings postings

// mayHave reports, from the dictionary alone, whether a field can have p: it has all terms, or they
// are in the phrase in more than one way.
func (d *segmentData) mayHave(p Phrase, field string) (bool, error) {
	if !p.isPlain() {
		return true, nil
	}
	for _, s := range p.steps {
		if have, err := d.contains(field, s.term); !have || err != nil {
			return false, err
		}
	}
	return true, nil
}

// isPlain reports whether each term of the phrase follows the one before it.
func (p Phrase) isPlain() bool {
	at := 0
	for _, s := range p.steps {
		if s.from != at {
			return false
		}
		at = s.to
	}
	return true
}

// readPhrase sets the exact numbers of occurrences in some documents.
func (x *Index) readPhrase(ctx context.Context, s *segmentView, alt alternative, docs []uint32, found map[string]*candidates, texts Texts) error {
	nos := make([]uint32, len(docs))
	byNo := make(map[uint32]uint32, len(docs))
	for i, doc := range docs {
		nos[i] = s.nos[doc]
		byNo[nos[i]] = doc
		for _, c := range found {
			if at, ok := slices.BinarySearch(c.docs, doc); ok {
				c.freqs[at] = 0
			}
		}
	}
	return texts(ctx, nos, func(no uint32, text Field, starts []int) {
		c := found[x.names.of(text.Name)]
		if c == nil {
			return
		}
		at, ok := slices.BinarySearch(c.docs, byNo[no])
		if !ok {
			return
		}
		stems, _, _ := x.occurrences(text.Text, starts, alt.phrase)
		c.freqs[at] += uint32(alt.phrase.count(stems, termOf))
	})
}

// candidates returns the documents of a field that have all terms of p and not the term without, if
// that is not empty.
func (s *segmentView) candidates(p Phrase, field, without string) (*candidates, error) {
	docs, err := s.withTerms(p, field)
	if err != nil || s.live(docs).IsEmpty() {
		return &candidates{}, err
	}
	if without != "" {
		other, err := s.postings(field, without)
		if err != nil {
			return nil, err
		}
		docs.AndNot(roaring.BitmapOf(other.docs...))
	}
	c := &candidates{docs: docs.ToArray()}
	freqs := map[string][]uint32{} // by term: in each of c.docs
	for _, term := range p.terms() {
		list, err := s.postings(field, term)
		if err != nil {
			return nil, err
		}
		freqs[term] = list.frequencies(c.docs)
	}
	c.freqs = make([]uint32, len(c.docs))
	for i := range c.docs {
		c.freqs[i] = walkPhrase(p, math.MaxUint32, func(before uint32, s step) uint32 { return min(before, freqs[s.term][i]) },
			func(a, b uint32) uint32 { return max(a, b) })
	}
	return c, nil
}

// mostly reports whether at least half of the candidates among docs have the phrase.
func (c *candidates) mostly(docs []uint32) bool {
	read, have := 0, 0
	for _, doc := range docs {
		if at, ok := slices.BinarySearch(c.docs, doc); ok {
			if read++; c.freqs[at] > 0 {
				have++
			}
		}
	}
	return 2*have >= read
}

// keep removes the occurrences in all documents but docs.
func (c *candidates) keep(docs *roaring.Bitmap) {
	for i, doc := range c.docs {
		if !docs.Contains(doc) {
			c.freqs[i] = 0
		}
	}
}
