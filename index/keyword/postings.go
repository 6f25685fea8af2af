package keyword

import (
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// postings are the documents of a segment that contain a term, or a phrase, in a field, deleted
// ones too, and how often. They are immutable once they are cached.
type postings struct {
	docs  []uint32       // local numbers, ascending
	freqs []uint8        // by index in docs; maxFreq: see large
	large map[int]uint32 // by index in docs: frequencies of maxFreq and more
	impacts
}

// impacts bound the scores that postings can give.
type impacts struct {
	shortest [4]uint32 // 1 + the length of the shortest field with a frequency of 1, 2, 3, more; 0: none
	largest  uint32    // frequency
}

// add takes in a document with a frequency above 0 and the length of its field.
func (m *impacts) add(freq, length uint32) {
	least := &m.shortest[min(freq, 4)-1]
	if *least == 0 || length < *least {
		*least = length + 1
	}
	m.largest = max(m.largest, freq)
}

// bound returns the largest tf / (tf + base + slope*dl) of the postings in a field with a weight.
func (m *impacts) bound(weight, base, slope float64) (largest float64) {
	for i, length := range m.shortest {
		if length == 0 {
			continue
		}
		tf := weight * float64(i+1)
		if i == len(m.shortest)-1 {
			tf = weight * float64(m.largest)
		}
		largest = max(largest, tf/(tf+base+slope*weight*float64(length-1)))
	}
	return largest
}

const maxFreq = math.MaxUint8

// newPostings returns postings of docs, in a field with lengths, that have a frequency above 0.
func newPostings(docs, freqs []uint32, lengths fieldLengths) *postings {
	p := &postings{}
	for i, freq := range freqs {
		if freq > 0 {
			p.add(docs[i], freq, lengths)
		}
	}
	p.docs, p.freqs = slices.Clip(p.docs), slices.Clip(p.freqs)
	return p
}

func (p *postings) add(doc, freq uint32, lengths fieldLengths) {
	p.impacts.add(freq, lengths.at(doc))
	if freq >= maxFreq {
		if p.large == nil {
			p.large = map[int]uint32{}
		}
		p.large[len(p.docs)] = freq
		freq = maxFreq
	}
	p.docs, p.freqs = append(p.docs, doc), append(p.freqs, uint8(freq))
}

func (p *postings) freq(i int) uint32 {
	if f := p.freqs[i]; f < maxFreq {
		return uint32(f)
	}
	return p.large[i]
}

// seek returns the index of the first document from doc on, at or after index from.
func (p *postings) seek(from int, doc uint32) int {
	step := 1
	for from+step < len(p.docs) && p.docs[from+step] < doc { // galloping: most steps are short
		from += step
		step *= 2
	}
	end := min(from+step+1, len(p.docs))
	if from >= end {
		return from
	}
	i, _ := slices.BinarySearch(p.docs[from:end], doc)
	return from + i
}

// frequencies returns how often each of docs, which ascend, has the term.
func (p *postings) frequencies(docs []uint32) []uint32 {
	out := make([]uint32, len(docs))
	at := 0
	for i, doc := range docs {
		if at = p.seek(at, doc); at == len(p.docs) {
			break
		}
		if p.docs[at] == doc {
			out[i] = p.freq(at)
		}
	}
	return out
}

// minus returns the postings of documents that have the term more often than other, by how much.
func (p *postings) minus(other *postings, lengths fieldLengths) *postings {
	freqs := other.frequencies(p.docs)
	for i := range freqs {
		freqs[i] = p.freq(i) - min(p.freq(i), freqs[i])
	}
	return newPostings(p.docs, freqs, lengths)
}

func (p *postings) bytes() int { return 104 + 5*len(p.docs) + 32*len(p.large) }

// postingsKey names postings. A segment never changes.
type postingsKey struct {
	segment     uint64
	field, term string // of a phrase its key, which is no term
}

// postings returns the postings of a term in a text field.
func (d *segmentData) postings(field, term string) (*postings, error) {
	key := postingsKey{d.id, field, term}
	if p, ok := d.caches.postings.Get(key); ok {
		return p, nil
	}
	list, err := d.list(field, term)
	if err != nil {
		return nil, err
	}
	p, lengths := &postings{}, d.lengths[field]
	if list != nil {
		n := int(list.Count())
		p.docs, p.freqs = make([]uint32, 0, n), make([]uint8, 0, n)
		it := list.Iterator(true, false, false, nil)
		for next, err := it.Next(); next != nil || err != nil; next, err = it.Next() {
			if err != nil {
				return nil, err
			}
			p.add(uint32(next.Number()), uint32(next.Frequency()), lengths)
		}
	}
	d.cachePostings(key, p)
	return p, nil
}

func (d *segmentData) cachePostings(key postingsKey, p *postings) {
	if n := p.bytes() + len(key.field) + len(key.term); n <= postingsBudget/4 {
		d.caches.postings.Put(key, p, n)
	}
}

// contains reports whether documents have a term in a text field, deleted ones too.
func (d *segmentData) contains(field, term string) (bool, error) {
	dicts, err := d.dicts()
	if err != nil || dicts[field] == nil {
		return false, err
	}
	return dicts[field].Contains([]byte(term))
}

// list returns bleve's postings of a term in a text field; nil if there are none, which is fast.
func (d *segmentData) list(field, term string) (segment.PostingsList, error) {
	if have, err := d.contains(field, term); err != nil || !have {
		return nil, err
	}
	dict, err := d.segment.Dictionary(textPrefix + field)
	if err != nil {
		return nil, err
	}
	return dict.PostingsList([]byte(term), nil, nil)
}

// orInto adds the documents of a postings list, deleted ones too, to dst.
func orInto(dst *roaring.Bitmap, pl segment.PostingsList) error {
	if pl == nil || pl.Count() == 0 {
		return nil
	}
	it := pl.Iterator(false, false, false, nil)
	if o, ok := it.(segment.OptimizablePostingsIterator); ok {
		if no, ok := o.DocNum1Hit(); ok {
			dst.Add(uint32(no))
			return nil
		}
		if bm := o.ActualBitmap(); bm != nil {
			dst.Or(bm)
			return nil
		}
	}
	for p, err := it.Next(); p != nil || err != nil; p, err = it.Next() {
		if err != nil {
			return err
		}
		dst.Add(uint32(p.Number()))
	}
	return nil
}

// docBits has one bit for each local number.
type docBits []uint64

func newDocBits(n int) docBits { return make(docBits, (n+63)/64) }

// bitsOf returns docs, local numbers below n, as bits.
func bitsOf(docs *roaring.Bitmap, n int) docBits {
	b := newDocBits(n)
	docs.WriteDenseTo(b)
	return b
}

func (b docBits) has(doc uint32) bool { return b[doc/64]>>(doc%64)&1 != 0 }
func (b docBits) set(doc uint32)      { b[doc/64] |= 1 << (doc % 64) }
func (b docBits) clear(doc uint32)    { b[doc/64] &^= 1 << (doc % 64) }
