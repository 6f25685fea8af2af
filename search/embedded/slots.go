package embedded

import (
	"math"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/store"
)

// slotTable maps slots to documents and documents, also those without passages, to slots. The store
// gives the passages of a document consecutive slots, so that a first slot and a count are enough:
// the table takes 4 bytes per slot and 8 per document.
type slotTable struct {
	mu struct {
		sync.RWMutex
		owner   []uint32    // by slot: document number + 1; 0: free
		ranges  []slotRange // by document number
		live    int         // slots in use
		docs    int
		version uint64 // grows with each change that frees slots
	}
}

// slotRange is the slots of a document; the zero value means that there is no such document.
type slotRange struct{ first, n uint32 }

// noSlots is the range of a document without passages.
var noSlots = slotRange{first: math.MaxUint32}

func (r slotRange) exists() bool { return r != slotRange{} }

// move is the change of a document's slots by a commit.
type move struct {
	no              uint32
	oldSlots, slots []uint32 // slots are consecutive
	existed, exists bool     // before and after the commit
}

// movesOf returns the move of each document in outcomes: a call may write an id more than once.
func movesOf(outcomes []store.Outcome) []move {
	var moves []move
	at := map[uint32]int{}
	for _, o := range outcomes {
		if o.Status > store.Deleted { // nothing was written
			continue
		}
		i, ok := at[o.No]
		if !ok {
			i = len(moves)
			moves, at[o.No] = append(moves, move{no: o.No, existed: o.Status != store.Created}), i
		}
		m := &moves[i]
		m.oldSlots, m.slots, m.exists = append(m.oldSlots, o.OldSlots...), o.NewSlots, o.Status != store.Deleted
	}
	return moves
}

// apply applies moves in one step: readers see a document with its old slots or with its new ones.
func (t *slotTable) apply(moves []move) {
	t.mu.Lock()
	defer t.mu.Unlock()
	freed := false
	for _, m := range moves {
		t.free(m.no, m.oldSlots)
		freed = freed || len(m.oldSlots) > 0
		switch {
		case len(m.slots) > 0:
			t.put(m.no, m.slots[0], uint32(len(m.slots)))
		case m.exists:
			t.put(m.no, 0, 0)
		}
	}
	if freed {
		t.mu.version++
	}
}

// load records the slots of a stored document.
func (t *slotTable) load(no, first, n uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(no, first, n)
}

// version returns a number that has changed if slots seen since an earlier call may be free.
func (t *slotTable) version() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.version
}

// put records the slots [first, first+n) of a document that is not in the table. The caller holds
// mu.
func (t *slotTable) put(no, first, n uint32) {
	t.grow(no, first+n)
	t.mu.docs++
	if t.mu.ranges[no] = noSlots; n > 0 {
		t.mu.ranges[no] = slotRange{first, n}
	}
	for s := first; s < first+n; s++ {
		t.mu.owner[s] = no + 1
	}
	t.mu.live += int(n)
}

// free forgets a document and its slots. The caller holds mu.
func (t *slotTable) free(no uint32, slots []uint32) {
	for _, s := range slots {
		if int(s) < len(t.mu.owner) && t.mu.owner[s] != 0 {
			t.mu.owner[s] = 0
			t.mu.live--
		}
	}
	if int(no) < len(t.mu.ranges) && t.mu.ranges[no].exists() {
		t.mu.ranges[no] = slotRange{}
		t.mu.docs--
	}
}

// grow makes room for a document number and for as many slots.
func (t *slotTable) grow(no, slots uint32) {
	t.mu.ranges = append(t.mu.ranges, make([]slotRange, max(0, int(no)+1-len(t.mu.ranges)))...)
	t.mu.owner = append(t.mu.owner, make([]uint32, max(0, int(slots)-len(t.mu.owner)))...)
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
		for no < len(t.mu.ranges) && t.mu.ranges[no].exists() {
			no++
		}
		out.AddRange(uint64(from), uint64(no))
	}
	return out
}

// place is a passage: a document and the ordinal in it.
type place struct {
	no      uint32
	ordinal int
}

// living returns those of found that have a document, and their places, as of one moment.
func (t *slotTable) living(found []hnsw.Neighbor) ([]hnsw.Neighbor, []place) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	kept, places := found[:0], make([]place, 0, len(found))
	for _, n := range found {
		if int(n.ID) < len(t.mu.owner) && t.mu.owner[n.ID] != 0 {
			no := t.mu.owner[n.ID] - 1
			kept, places = append(kept, n), append(places, place{no, int(n.ID - t.mu.ranges[no].first)})
		}
	}
	return kept, places
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

// of returns the slots of a set of documents, and the version of the table.
func (t *slotTable) of(docs *roaring.Bitmap) (slots *roaring.Bitmap, version uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := roaring.New()
	var some []uint32 // AddRange copies the slots before, each time
	for it := docs.Iterator(); it.HasNext(); {
		no := it.Next()
		if int(no) >= len(t.mu.ranges) {
			break // a set from elsewhere may have billions of numbers that are not in use
		}
		r := t.mu.ranges[no]
		for s := range r.n {
			some = append(some, r.first+s)
		}
		if len(some) >= 4096 {
			out.AddMany(some)
			some = some[:0]
		}
	}
	out.AddMany(some)
	return out, t.mu.version
}

// end returns a slot after all that are in use.
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

// spread returns n of the slots in use at even distances, or all where there are fewer.
func (t *slotTable) spread(n int) []uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n = min(n, t.mu.live); n <= 0 {
		return nil
	}
	out := make([]uint32, 0, n)
	seen := 0
	for slot, owner := range t.mu.owner {
		if owner == 0 {
			continue
		}
		if seen*n/t.mu.live >= len(out) && len(out) < n {
			out = append(out, uint32(slot))
		}
		seen++
	}
	return out
}
