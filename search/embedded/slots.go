package embedded

import (
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// slotTable says which document each slot belongs to and which slots a document has. The store gives the passages of a document
// consecutive slots, so a first slot and a count are enough: 4 bytes per slot and 8 per document.
type slotTable struct {
	mu struct {
		sync.RWMutex
		owner  []uint32    // by slot: document number + 1; 0: free
		ranges []slotRange // by document number; n == 0: no such document
		live   int         // slots in use
		docs   int
	}
}

type slotRange struct{ first, n uint32 }

// put records the slots of a document; first to first+n.
func (t *slotTable) put(no, first, n uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grow(no, first+n)
	if t.mu.ranges[no].n == 0 && n > 0 {
		t.mu.docs++
	}
	t.mu.ranges[no] = slotRange{first, n}
	for s := first; s < first+n; s++ {
		t.mu.owner[s] = no + 1
	}
	t.mu.live += int(n)
}

// free forgets slots. The document is forgotten with the last of its present range.
func (t *slotTable) free(no uint32, slots []uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range slots {
		if int(s) < len(t.mu.owner) && t.mu.owner[s] != 0 {
			t.mu.owner[s] = 0
			t.mu.live--
		}
	}
	if int(no) < len(t.mu.ranges) {
		if r := t.mu.ranges[no]; r.n > 0 && t.mu.owner[r.first] == 0 {
			t.mu.ranges[no] = slotRange{}
			t.mu.docs--
		}
	}
}

func (t *slotTable) grow(no, slots uint32) {
	for int(no) >= len(t.mu.ranges) {
		t.mu.ranges = append(t.mu.ranges, slotRange{})
	}
	for int(slots) > len(t.mu.owner) {
		t.mu.owner = append(t.mu.owner, 0)
	}
}

// document returns the document of a slot and the slot's ordinal in it.
func (t *slotTable) document(slot uint32) (no uint32, ordinal int, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if int(slot) >= len(t.mu.owner) || t.mu.owner[slot] == 0 {
		return 0, 0, false
	}
	no = t.mu.owner[slot] - 1
	return no, int(slot - t.mu.ranges[no].first), true
}

// documents returns the numbers of all documents.
func (t *slotTable) documents() *roaring.Bitmap {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := roaring.New()
	for no := 0; no < len(t.mu.ranges); no++ {
		from := no
		for no < len(t.mu.ranges) && t.mu.ranges[no].n > 0 {
			no++
		}
		out.AddRange(uint64(from), uint64(no))
	}
	return out
}

// slots returns the slots of a document.
func (t *slotTable) slots(no uint32) slotRange {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if int(no) >= len(t.mu.ranges) {
		return slotRange{}
	}
	return t.mu.ranges[no]
}

// of returns the slots of a set of documents.
func (t *slotTable) of(docs *roaring.Bitmap) *roaring.Bitmap {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := roaring.New()
	for it := docs.Iterator(); it.HasNext(); {
		if no := it.Next(); int(no) < len(t.mu.ranges) {
			if r := t.mu.ranges[no]; r.n > 0 {
				out.AddRange(uint64(r.first), uint64(r.first)+uint64(r.n))
			}
		}
	}
	return out
}

// end returns the slot after the last that was ever in use, as far as the table knows.
func (t *slotTable) end() uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return uint32(len(t.mu.owner))
}

// counts returns the documents and slots in use.
func (t *slotTable) counts() (documents, slots int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.docs, t.mu.live
}
