package keyword

import (
	"context"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	columnsBudget = 64 << 20 // bytes of columns kept, of all indexes
	columnFew     = 1024     // documents that a column lists of a term; those of others are as fast to get from their postings
	columnWalk    = 256      // terms of a walk from which on it counts towards a column
)

// columnMost is how many bytes a column has at most; larger ones are not made.
var columnMost = columnsBudget / 2

// column holds the terms of one kind that a value field has in a segment, in order, with their
// documents, deleted ones too. Looking the postings of each term up costs a hundred times as much,
// which is felt where a field has thousands of values.
type column struct {
	terms  string   // joined
	ends   []uint32 // by term, where it ends in terms
	starts []uint32 // by term and behind the last, where its documents begin in docs
	docs   []uint32 // local numbers, ascending within a term
	many   []uint32 // terms of more than columnFew documents, which are not in docs
}

func (c *column) bytes() int {
	const fixed = 112
	return fixed + len(c.terms) + 4*(len(c.ends)+len(c.starts)+len(c.docs)+len(c.many))
}

// term returns a term by its place.
func (c *column) term(i int) string {
	if i == 0 {
		return c.terms[:c.ends[0]]
	}
	return c.terms[c.ends[i-1]:c.ends[i]]
}

// span returns the places of the terms in r.
func (c *column) span(r termRange) (from, to int) {
	from = sort.Search(len(c.ends), func(i int) bool { return c.term(i) >= string(r.first) })
	return from, from + sort.Search(len(c.ends)-from, func(i int) bool { return c.term(from+i) >= string(r.end) })
}

// orInto adds the documents of the terms in r to dst; n is the number of documents of the segment.
func (c *column) orInto(dst *roaring.Bitmap, values *fieldValues, r termRange, n int) error {
	from, to := c.span(r)
	docs := c.docs[c.starts[from]:c.starts[to]]
	if len(docs) < n/64 {
		dst.AddMany(docs)
	} else {
		bits := newDocBits(n)
		for _, doc := range docs {
			bits.set(doc)
		}
		dst.Or(roaring.FromDense(bits, false))
	}
	at, _ := slices.BinarySearch(c.many, uint32(from))
	for ; at < len(c.many) && int(c.many[at]) < to; at++ {
		pl, err := values.postings([]byte(c.term(int(c.many[at]))), nil)
		if err != nil {
			return err
		}
		if err := orInto(dst, pl); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the places of the terms in r and their documents, of those of more than
// columnFew none.
func (c *column) each(ctx context.Context, r termRange, f func(i int, docs termDocs) error) error {
	from, to := c.span(r)
	for i := from; i < to; i++ {
		var docs termDocs
		if c.starts[i] < c.starts[i+1] {
			docs.few = c.docs[c.starts[i]:c.starts[i+1]]
		}
		if err := f(i, docs); err != nil {
			return err
		}
		if i%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
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

// column returns the column that r is a part of, nil if there is none. It is made for a question
// about all of its terms, and once walks through parts of it have taken as many terms as the
// segment has documents. One is made at a time, which bounds the memory; who finds another being
// made walks.
func (s *segmentView) column(ctx context.Context, values *fieldValues, r termRange) (*column, error) {
	whole, ok := columnOf(r)
	if !ok {
		return nil, nil
	}
	key := s.columnKey(values, r)
	if c, ok := columnsKept.get(key); ok {
		return c, nil
	}
	all := string(r.first) == string(whole.first) && string(r.end) == string(whole.end)
	if !s.walks.due(key.terms, all, len(s.nos)) {
		return nil, nil
	}
	if !columnsMade.TryLock() {
		return nil, nil
	}
	defer columnsMade.Unlock()
	if c, ok := columnsKept.get(key); ok {
		return c, nil
	}
	c, err := makeColumn(ctx, values, whole)
	if err != nil {
		return nil, err
	}
	if s.walks.made(key.terms, c != nil); c != nil {
		columnsKept.put(key, c, c.bytes())
	}
	return c, nil
}

// walked is told that a walk through r, for which there was no column, has taken n terms.
func (s *segmentView) walked(values *fieldValues, r termRange, n int) {
	if _, ok := columnOf(r); ok && n >= columnWalk {
		s.walks.add(s.columnKey(values, r).terms, n)
	}
}

// columnOf returns the range of valueRanges that r is a part of.
func columnOf(r termRange) (termRange, bool) {
	if r.end != nil {
		for _, whole := range valueRanges {
			if string(r.first) >= string(whole.first) && string(r.end) <= string(whole.end) {
				return whole, true
			}
		}
	}
	return termRange{}, false
}

func (s *segmentView) columnKey(values *fieldValues, r termRange) columnKey {
	return columnKey{s.id, string(values.whole(r.first[:1]))}
}

// makeColumn returns nil if the column would be larger than columnMost.
func makeColumn(ctx context.Context, values *fieldValues, r termRange) (*column, error) {
	c := &column{starts: []uint32{0}}
	var terms strings.Builder
	size := 0
	err := values.eachDocs(ctx, r, func(term []byte, docs *roaring.Bitmap) error {
		if n := docs.GetCardinality(); n > columnFew {
			c.many = append(c.many, uint32(len(c.ends)))
		} else {
			for it := docs.Iterator(); it.HasNext(); {
				c.docs = append(c.docs, it.Next())
			}
		}
		terms.Write(term)
		c.ends, c.starts = append(c.ends, uint32(terms.Len())), append(c.starts, uint32(len(c.docs)))
		if size = c.bytes() + terms.Len(); size > columnMost {
			return errEnough
		}
		return nil
	})
	if size > columnMost {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.terms = strings.Clone(terms.String())
	c.ends, c.starts, c.docs, c.many = slices.Clone(c.ends), slices.Clone(c.starts), slices.Clone(c.docs), slices.Clone(c.many)
	return c, nil
}

// columnWalks counts by column the terms that walks have taken for want of it. Its zero value is
// empty.
type columnWalks struct {
	mu    sync.Mutex
	terms map[string]int // negative: the column is too large
}

func (w *columnWalks) add(key string, n int) {
	if n == 0 {
		return // there may be no such field
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.terms == nil {
		w.terms = map[string]int{}
	}
	if w.terms[key] >= 0 {
		w.terms[key] += n
	}
}

// due says whether a column is to be made, for a question about all of its terms or not.
func (w *columnWalks) due(key string, all bool, docs int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.terms[key]
	return n >= 0 && (all || n > 0 && n >= docs)
}

// made is told that a column has been made, or that it is too large.
func (w *columnWalks) made(key string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.terms, key); ok {
		return
	}
	if w.terms == nil {
		w.terms = map[string]int{}
	}
	w.terms[key] = -1
}

// columnKey names a column by its segment and what its terms begin with.
type columnKey struct {
	segment uint64
	terms   string
}

var (
	segmentIDs  atomic.Uint64 // the last segmentData.id
	columnsKept = kept[columnKey, *column]{budget: columnsBudget}
	columnsMade sync.Mutex // held while one is made
)
