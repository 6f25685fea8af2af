package keyword

import (
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"

	"example.com/searchd/index/keyword/analysis"
)

// A neighbour filter is a Bloom filter of the terms that follow each other in a document's text
// fields: it tells most documents without a phrase from those with it, so that few texts have to be
// read. It has a byte for each pair of terms and neighbourBits bits set for each, so that 3% of the
// pairs that a document lacks seem to be there. It is stored with the document.
const neighbourBits = 3

// maxNeighbourDocs is the number of documents of a segment whose neighbour filters are read for a
// phrase, which takes about 10 ms.
const maxNeighbourDocs = 1 << 16

// neighbours collects the pairs of terms of a document.
type neighbours struct {
	pairs []uint64
	ends  []termEnd // of the last terms
}

type termEnd struct {
	next int // the position after the term
	hash uint64
}

// add adds the next term of a text.
func (n *neighbours) add(t analysis.Token) {
	if t.Pair {
		return // phrases consist of single characters
	}
	h := xxhash.Sum64String(t.Term)
	kept := n.ends[:0]
	for _, e := range n.ends {
		if e.next == t.Position {
			n.pairs = append(n.pairs, pairHash(e.hash, h))
		}
		if e.next >= t.Position {
			kept = append(kept, e)
		}
	}
	n.ends = append(kept, termEnd{t.Next, h})
}

// endText ends a text: its last term has no neighbour.
func (n *neighbours) endText() { n.ends = n.ends[:0] }

// filter returns the neighbour filter, which is empty if there are no pairs.
func (n *neighbours) filter() []byte {
	filter := make([]byte, len(n.pairs))
	for _, pair := range n.pairs {
		eachBit(pair, len(filter), func(at, bit uint) bool {
			filter[at] |= 1 << bit
			return true
		})
	}
	return filter
}

// eachBit calls f with the bits of a pair in a filter of length bytes until f returns false.
func eachBit(pair uint64, length int, f func(at, bit uint) bool) {
	for range neighbourBits {
		at, rest := bits.Mul64(pair, uint64(length))
		if !f(uint(at), uint(rest>>61)) {
			return
		}
		pair = mix(pair)
	}
}

// hasPair reports whether a document with a neighbour filter may have a pair.
func hasPair(filter []byte, pair uint64) bool {
	have := len(filter) > 0
	eachBit(pair, len(filter), func(at, bit uint) bool {
		have = have && filter[at]&(1<<bit) != 0
		return have
	})
	return have
}

// neighbours returns the pairs of terms that every text with the phrase has.
func (p Phrase) neighbours() (pairs []uint64) {
	if len(p.steps) < 2 || !p.isPlain() {
		return nil
	}
	for i, s := range p.steps[1:] {
		pairs = append(pairs, pairHash(xxhash.Sum64String(p.steps[i].term), xxhash.Sum64String(s.term)))
	}
	return pairs
}

// mayHavePhrase returns those of docs whose neighbour filters do not exclude p. It keeps documents
// without a filter, which an earlier version has written, and those after maxNeighbourDocs.
func (d *segmentData) mayHavePhrase(p Phrase, docs *roaring.Bitmap) (*roaring.Bitmap, error) {
	pairs := p.neighbours()
	if len(pairs) == 0 {
		return docs, nil
	}
	kept, left := docs.Clone(), maxNeighbourDocs
	for it := docs.Iterator(); it.HasNext() && left > 0; left-- {
		doc := it.Next()
		err := d.segment.VisitStoredFields(uint64(doc), func(field string, _ byte, filter []byte, _ []uint64) bool {
			if field != neighbourField {
				return true
			}
			if slices.ContainsFunc(pairs, func(pair uint64) bool { return !hasPair(filter, pair) }) {
				kept.Remove(doc)
			}
			return false
		})
		if err != nil {
			return nil, err
		}
	}
	return kept, nil
}

func pairHash(first, second uint64) uint64 { return mix(bits.RotateLeft64(first, 23) ^ second) }

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
