package keyword

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"example.com/searchd/internal/cache"
)

// view is the state of the index that one search sees: bleve's snapshot with what BM25 needs beside
// the postings.
type view struct {
	snapshot *scorch.IndexSnapshot // only compared; whoever uses the view holds the reference
	segments []*segmentView
	docs     uint64            // N, without deleted documents
	tokens   map[string]uint64 // by text field, without deleted documents
	fields   []string          // text fields, sorted

	largest func() []string // the fields with most tokens, at most maxSuggestFields

	has    *cache.Cache[string, bool]          // by term: whether a document has it
	df     *cache.Cache[dfKey, uint64]         // documents with a term in one of some fields
	splits *cache.Cache[string, []alternative] // by word: how documents write it in parts
	parts  *cache.Cache[string, splitPart]     // what words may be split into
}

// segmentView is a segment with the deletions of one snapshot.
type segmentView struct {
	*segmentData
	deleted     *roaring.Bitmap // local numbers; nil if none
	deletedBits docBits         // the same; nil if none
}

// segmentData is what is read once of a segment, which never changes. Local numbers count its
// documents from 0.
type segmentData struct {
	id      uint64 // unique in caches
	caches  *Caches
	segment segment.Segment
	nos     []uint32                // document number by local number
	lengths map[string]fieldLengths // by text field
	tokens  map[string]uint64       // by text field: sum of lengths
	sums    lengthSums
	walks   columnWalks

	dicts func() (map[string]segment.TermDictionary, error) // by text field; only Contains is safe for concurrent use
	byNo  func() []uint32                                   // local numbers, sorted by document number
}

// latestView caches the last view and the data of its segments.
type latestView struct {
	mu     sync.Mutex
	view   *view
	caches *Caches
}

// Budgets of a view in bytes.
const (
	hasBudget    = 512 << 10
	dfBudget     = 512 << 10
	splitsBudget = 1 << 20
	partsBudget  = 1 << 20
	partBytes    = 80 // of one in a cache, beside its text
)

// of returns the view of a snapshot. It holds no reference to the snapshot, so that bleve can
// remove files; the snapshot's address is not reused while the view points to it.
func (l *latestView) of(snapshot *scorch.IndexSnapshot) (*view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.view != nil && l.view.snapshot == snapshot {
		return l.view, nil
	}
	known := map[segment.Segment]*segmentData{}
	if l.view != nil {
		for _, s := range l.view.segments {
			known[s.segment] = s.segmentData
		}
	}
	v := &view{
		snapshot: snapshot, tokens: map[string]uint64{},
		has: cache.New[string, bool](hasBudget), df: cache.New[dfKey, uint64](dfBudget), splits: cache.New[string, []alternative](splitsBudget), parts: cache.New[string, splitPart](partsBudget),
	}
	for _, s := range snapshot.Segments() {
		data := known[s.Segment()]
		if data == nil {
			var err error
			if data, err = readSegment(s.Segment(), l.caches); err != nil {
				return nil, err
			}
		}
		v.add(data, s.Deleted())
	}
	v.fields = slices.Sorted(maps.Keys(v.tokens))
	v.largest = sync.OnceValue(func() []string {
		fields := slices.Clone(v.fields)
		slices.SortStableFunc(fields, func(a, b string) int { return cmp.Compare(v.tokens[b], v.tokens[a]) })
		return fields[:min(maxSuggestFields, len(fields))]
	})
	l.view = v
	return v, nil
}

// add adds a segment and counts its documents and tokens, without deleted ones.
func (v *view) add(data *segmentData, deleted *roaring.Bitmap) {
	s := &segmentView{segmentData: data}
	v.segments = append(v.segments, s)
	v.docs += uint64(len(s.nos))
	for name, n := range s.tokens {
		v.tokens[name] += n
	}
	if deleted == nil || deleted.IsEmpty() {
		return
	}
	s.deleted, s.deletedBits = deleted, bitsOf(deleted, len(s.nos))
	n := deleted.GetCardinality()
	v.docs -= n
	for name, lengths := range s.lengths {
		v.tokens[name] -= lengths.sum(deleted, n)
	}
}

func readSegment(s segment.Segment, caches *Caches) (*segmentData, error) {
	d := &segmentData{
		id:      caches.segments.Add(1),
		caches:  caches,
		segment: s,
		nos:     make([]uint32, s.Count()),
		lengths: map[string]fieldLengths{},
		tokens:  map[string]uint64{},
	}
	d.dicts = sync.OnceValues(d.openDicts)
	d.byNo = sync.OnceValue(d.sortByNo)
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

func (d *segmentData) sortByNo() []uint32 {
	locals := make([]uint32, len(d.nos))
	for i := range locals {
		locals[i] = uint32(i)
	}
	slices.SortFunc(locals, func(a, b uint32) int { return cmp.Compare(d.nos[a], d.nos[b]) })
	return locals
}

// local returns the local number of document no; ok is false if the segment does not hold it or it
// is deleted.
func (s *segmentView) local(no uint32) (local uint32, ok bool) {
	byNo := s.byNo()
	if len(byNo) == 0 || no < s.nos[byNo[0]] || no > s.nos[byNo[len(byNo)-1]] {
		return 0, false // most segments have documents of one time, whose numbers are near each other
	}
	i := sort.Search(len(byNo), func(i int) bool { return s.nos[byNo[i]] >= no })
	if local = byNo[i]; s.nos[local] != no || s.isDeleted(local) {
		return 0, false
	}
	return local, true
}

func (s *segmentView) isDeleted(local uint32) bool {
	return s.deletedBits != nil && s.deletedBits.has(local)
}

// live removes deleted documents from local, which it changes, and returns it.
func (s *segmentView) live(local *roaring.Bitmap) *roaring.Bitmap {
	if s.deleted != nil {
		local.AndNot(s.deleted)
	}
	return local
}

// allowed returns the local numbers of the documents in allow (nil: all) that are not deleted.
func (s *segmentView) allowed(allow *roaring.Bitmap) *roaring.Bitmap {
	local := roaring.New()
	if allow == nil {
		local.AddRange(0, uint64(len(s.nos)))
		return s.live(local)
	}
	if allow.GetCardinality() < uint64(len(s.nos))/16 {
		var found []uint32
		for it := allow.Iterator(); it.HasNext(); {
			if i, ok := s.local(it.Next()); ok {
				found = append(found, i)
			}
		}
		local.AddMany(found)
		return local
	}
	bits := newDocBits(len(s.nos))
	for i, no := range s.nos {
		if allow.Contains(no) {
			bits.set(uint32(i))
		}
	}
	return s.live(roaring.FromDense(bits, false))
}

// allowed is segmentView.allowed for each segment.
func (v *view) allowed(allow *roaring.Bitmap) []*roaring.Bitmap {
	out := make([]*roaring.Bitmap, len(v.segments))
	for i, s := range v.segments {
		out[i] = s.allowed(allow)
	}
	return out
}

// addNumbers adds the document numbers of local to dst.
func (s *segmentView) addNumbers(dst, local *roaring.Bitmap) {
	nos := make([]uint32, 0, local.GetCardinality())
	for it := local.Iterator(); it.HasNext(); {
		nos = append(nos, s.nos[it.Next()])
	}
	dst.AddMany(nos)
}
