package keyword

import (
	"context"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	maxColumnDocs = 1024 // of one term; those of more frequent terms are as fast to read from their postings
	minWalk       = 256  // terms of a walk that counts towards building a column
)

// maxColumnBytes is the size of a column beyond which it is not built.
var maxColumnBytes = columnsBudget / 2

// column holds the terms of one kind that a value field has in a segment, in order, with their
// documents, deleted ones too. Looking up the postings of each term takes a hundred times as long,
// which matters where a field has thousands of values.
type column struct {
	terms    string   // joined
	ends     []uint32 // by term: where it ends in terms
	starts   []uint32 // by term and after the last: where its documents begin in docs
	docs     []uint32 // local numbers, ascending within a term
	frequent []uint32 // terms of more than maxColumnDocs documents, which are not in docs
}

func (c *column) bytes() int {
	const fixed = 112
	return fixed + len(c.terms) + 4*(len(c.ends)+len(c.starts)+len(c.docs)+len(c.frequent))
}

// term returns a term by its index.
func (c *column) term(i int) string {
	if i == 0 {
		return c.terms[:c.ends[0]]
	}
	return c.terms[c.ends[i-1]:c.ends[i]]
}

// span returns the indexes of the terms in r.
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
	at, _ := slices.BinarySearch(c.frequent, uint32(from))
	for ; at < len(c.frequent) && int(c.frequent[at]) < to; at++ {
		if err := values.or(dst, []byte(c.term(int(c.frequent[at])))); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the indexes of the terms in r and their documents; frequent terms have none.
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

// column returns the column that contains r, nil if there is none. It is built for a query for all
// of its terms, and once walks through parts of it have visited as many terms as the segment has
// documents. One is built at a time, which bounds the memory; others walk meanwhile.
func (s *segmentView) column(ctx context.Context, values *fieldValues, r termRange) (*column, error) {
	whole, ok := columnOf(r)
	if !ok {
		return nil, nil
	}
	all := string(r.first) == string(whole.first) && string(r.end) == string(whole.end)
	c, _, err := built(s, s.caches.columns, s.columnKey(values, r), all, (*column).bytes, func() (*column, bool, error) {
		return buildColumn(ctx, values, whole)
	})
	return c, err
}

// walked records that a walk through r, which has no column, has visited n terms.
func (s *segmentView) walked(values *fieldValues, r termRange, n int) {
	if _, ok := columnOf(r); ok && n >= minWalk {
		s.walks.add(s.columnKey(values, r).terms, n)
	}
}

// columnOf returns the range of valueRanges that contains r.
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

// columnKey names a column, or a list of numbers, by its segment and what its terms begin with.
type columnKey struct {
	segment uint64
	terms   string
}

func (s *segmentView) columnKey(values *fieldValues, r termRange) columnKey {
	return columnKey{s.id, string(values.whole(r.first[:1]))}
}

// buildColumn returns false if the column would be larger than maxColumnBytes.
func buildColumn(ctx context.Context, values *fieldValues, r termRange) (*column, bool, error) {
	c := &column{starts: []uint32{0}}
	var terms strings.Builder
	size := 0
	err := values.eachDocs(ctx, r, func(term []byte, docs *roaring.Bitmap) error {
		if n := docs.GetCardinality(); n > maxColumnDocs {
			c.frequent = append(c.frequent, uint32(len(c.ends)))
		} else {
			for it := docs.Iterator(); it.HasNext(); {
				c.docs = append(c.docs, it.Next())
			}
		}
		terms.Write(term)
		c.ends, c.starts = append(c.ends, uint32(terms.Len())), append(c.starts, uint32(len(c.docs)))
		if size = c.bytes() + terms.Len(); size > maxColumnBytes {
			return errEnough
		}
		return nil
	})
	if size > maxColumnBytes {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	c.terms = strings.Clone(terms.String())
	c.ends, c.starts, c.docs, c.frequent = slices.Clone(c.ends), slices.Clone(c.starts), slices.Clone(c.docs), slices.Clone(c.frequent)
	return c, true, nil
}

// columnWalks counts by column the terms that walks have visited without it. Its zero value is
// empty.
type columnWalks struct {
	mu    sync.Mutex
	terms map[string]int // negative: the column is too large
}

func (w *columnWalks) add(key string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.terms[key] >= 0 { // 0: there may be no such field
		w.set(key, w.terms[key]+n)
	}
}

// due reports whether a column should be built, for a query for all of its terms or for some.
func (w *columnWalks) due(key string, all bool, docs int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.terms[key]
	return n >= 0 && (all || n > 0 && n >= docs)
}

// built records that a column has been built, or that it is too large.
func (w *columnWalks) built(key string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.terms, key); !ok {
		w.set(key, -1)
	}
}

func (w *columnWalks) set(key string, n int) {
	if w.terms == nil {
		w.terms = map[string]int{}
	}
	w.terms[key] = n
}
