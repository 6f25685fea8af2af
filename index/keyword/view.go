package keyword

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// view is the state that one search sees: bleve's snapshot with what BM25 needs beside the
// postings.
type view struct {
	snapshot *scorch.IndexSnapshot // identity only; whoever uses the view holds the reference
	segments []*segmentView
	docs     uint64            // N, without deleted documents
	tokens   map[string]uint64 // by text field, of documents that are not deleted
	fields   []string          // text fields, sorted

	largest func() []string // fields, see mostTokens

	had struct { // what has answered
		sync.Mutex
		terms map[string]bool
	}
	apart kept[string, []alternative] // by word: as what documents write it, see breaks
}

// segmentView is a segment with the deletions of one snapshot.
type segmentView struct {
	*segmentData
	deleted *roaring.Bitmap // local numbers; nil if none
}

// segmentData is what is read once of a segment, whose documents never change. Local numbers count
// its documents from 0.
type segmentData struct {
	id      uint64 // no other has had it
	segment segment.Segment
	nos     []uint32                // by local number: document number
	lengths map[string]fieldLengths // by text field
	tokens  map[string]uint64       // by text field: sum of lengths
	sums    lengthSums

	walks columnWalks

	dicts func() (map[string]segment.TermDictionary, error) // of the text fields, opened once; Contains alone may be called by several at a time

	byNoOnce sync.Once
	byNo     []uint32 // local numbers, sorted by document number
}

// segmentCaches keeps the latest view and the data of its segments.
type segmentCaches struct {
	mu   sync.Mutex
	last *view
}

// view returns the view of snapshot. The cache holds no reference to it, so that bleve can remove
// its files; it is compared by address, which is not used again while the cache holds it.
func (c *segmentCaches) view(snapshot *scorch.IndexSnapshot) (*view, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.snapshot == snapshot {
		return c.last, nil
	}
	known := map[segment.Segment]*segmentData{}
	if c.last != nil {
		for _, s := range c.last.segments {
			known[s.segment] = s.segmentData
		}
	}
	v := &view{snapshot: snapshot, tokens: map[string]uint64{}}
	v.apart.budget = apartBudget
	for _, s := range snapshot.Segments() {
		data := known[s.Segment()]
		if data == nil {
			var err error
			if data, err = readSegment(s.Segment()); err != nil {
				return nil, err
			}
		}
		sv := &segmentView{segmentData: data, deleted: s.Deleted()}
		if sv.deleted != nil && sv.deleted.IsEmpty() {
			sv.deleted = nil
		}
		v.add(sv)
	}
	for name := range v.tokens {
		v.fields = append(v.fields, name)
	}
	slices.Sort(v.fields)
	v.largest = sync.OnceValue(v.mostTokens)
	c.last = v
	return v, nil
}

// add counts the documents and tokens of s that are not deleted.
func (v *view) add(s *segmentView) {
	v.segments = append(v.segments, s)
	v.docs += uint64(len(s.nos))
	for name, n := range s.tokens {
		v.tokens[name] += n
	}
	if s.deleted == nil {
		return
	}
	gone := s.deleted.GetCardinality()
	v.docs -= gone
	for name, lengths := range s.lengths {
		v.tokens[name] -= lengths.of(s.deleted, gone)
	}
}

func (d *segmentData) openDicts() (map[string]segment.TermDictionary, error) {
	dicts := make(map[string]segment.TermDictionary, len(d.lengths))
	for field := range d.lengths {
		dict, err := d.segment.Dictionary(textPrefix + field)
		if err != nil {
			return nil, err
		}
		dicts[field] = dict
	}
	return dicts, nil
}

func readSegment(s segment.Segment) (*segmentData, error) {
	d := &segmentData{
		id:      segmentIDs.Add(1),
		segment: s,
		nos:     make([]uint32, s.Count()),
		lengths: map[string]fieldLengths{},
		tokens:  map[string]uint64{},
	}
	d.dicts = sync.OnceValues(d.openDicts)
	for i := range d.nos {
		id, err := s.DocID(uint64(i))
		if err != nil {
			return nil, fmt.Errorf("keyword: document %d of a segment: %w", i, err)
		}
		if len(id) != 4 {
			return nil, fmt.Errorf("%w: document %d of a segment has the id %x, want 4 bytes", ErrDamaged, i, id)
		}
		d.nos[i] = binary.BigEndian.Uint32(id)
	}
	dict, err := s.Dictionary(lengthField)
	if err != nil {
		return nil, err
	}
	for _, field := range s.Fields() {
		name, ok := strings.CutPrefix(field, textPrefix)
		if !ok {
			continue
		}
		pl, err := dict.PostingsList([]byte(name), nil, nil)
		if err != nil {
			return nil, err
		}
		if d.lengths[name], d.tokens[name], err = readLengths(pl, len(d.nos)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// local returns the local number of document no, if the segment holds it and it is not deleted.
func (s *segmentView) local(no uint32) (uint32, bool) {
	s.byNoOnce.Do(func() {
		s.byNo = make([]uint32, len(s.nos))
		for i := range s.byNo {
			s.byNo[i] = uint32(i)
		}
		slices.SortFunc(s.byNo, func(a, b uint32) int { return int(int64(s.nos[a]) - int64(s.nos[b])) })
	})
	i, ok := slices.BinarySearchFunc(s.byNo, no, func(local, no uint32) int { return int(int64(s.nos[local]) - int64(no)) })
	if !ok || s.deleted != nil && s.deleted.Contains(s.byNo[i]) {
		return 0, false
	}
	return s.byNo[i], true
}

// live removes deleted documents from local, which it changes, and returns it.
func (s *segmentView) live(local *roaring.Bitmap) *roaring.Bitmap {
	if s.deleted != nil {
		local.AndNot(s.deleted)
	}
	return local
}

// orInto adds the documents of a postings list, deleted ones too, to dst.
func orInto(dst *roaring.Bitmap, pl segment.PostingsList) error {
	if pl.Count() == 0 {
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
