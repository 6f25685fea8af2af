package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.etcd.io/bbolt"
)

// A follower is a store that holds what another, its primary, holds: the same collections, document numbers, slots and sequence
// numbers. It begins with a backup, asks for News since then, and writes them with Adopt, Replay and SetValues.

// An Entry is a change of a collection with what it put.
type Entry struct {
	Collection uint32
	Change

	// Document is what the change put. nil: it deleted, a later change has replaced or deleted what it put, or that is damaged.
	Document *Document
	Vectors  [][]float32 // one per passage of Document, nil for a passage without
}

// A Stand is a collection with its place in its log.
type Stand struct {
	Collection
	Seq uint64
}

// News is what a follower lacks, all as it was at one moment, in the order in which it is to be written. A collection that takes another type for
// a field has no document yet that has it: so settings come before changes.
type News struct {
	Collections []Stand // those that the follower has not, or all of them, where Version is another; Seq is where the changes begin
	Entries     []Entry // in the order of each collection's log
	Behind      uint64  // changes that did not find room in Entries

	All     []uint32          // numbers of the collections there are; nil where Version is the one that was asked with
	Values  map[string][]byte // all but those that were omitted; nil with All
	Partial bool              // some collections or values are missing, as they are damaged: what is not there is not gone
	Version uint64            // of the records of collections and of values, while the store is open
}

// Wanted says what News a follower asks for.
type Wanted struct {
	After   map[uint32]uint64       // the last sequence number that it has, by the number of the collection
	Version uint64                  // of the News that it had last; 0: none
	Bytes   int                     // about how many Entries may have; at least one comes
	Begin   func(Collection) uint64 // the sequence number before the first change of a collection that it has not
	Omit    string                  // what the keys of values begin with that are none of its business
	Damaged func(Collection, error) // told of what cannot be read
}

// newsEntries bounds the entries of one News, so that Replay takes them all.
const newsEntries = 16384

// News reads what a follower lacks in one transaction. It returns ErrTrimmed where the log no longer has it, and ErrAhead where the
// follower has changes that this store has not: it needs another backup.
func (s *Store) News(ctx context.Context, w Wanted) (*News, error) {
	n := &News{Version: s.catalog.Load() + 1} // before the view begins: what comes between is read twice
	err := s.view(func(tx *bbolt.Tx) error {
		c, err := openCatalog(tx)
		if err != nil {
			return err
		}
		if err := n.readCollections(ctx, tx, c, &w); err != nil {
			return err
		}
		if n.Version == w.Version {
			n.All = nil
			return nil
		}
		return n.readValues(tx, &w)
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// readCollections reads the collections and, as long as there is room, their changes.
func (n *News) readCollections(ctx context.Context, tx *bbolt.Tx, c catalog, w *Wanted) error {
	n.All = []uint32{}
	left := w.Bytes
	for col, err := range c.all() {
		var rm *room
		if err == nil {
			rm, err = openRoom(tx, col.ID)
		}
		if errors.Is(err, ErrCorrupt) {
			n.Partial = true
			w.Damaged(Collection{ID: col.ID, Name: c.nameOf(col.ID)}, err)
			continue
		}
		if err != nil {
			return err
		}
		n.All = append(n.All, col.ID)
		after, known := w.After[col.ID]
		if !known {
			after = w.Begin(col)
		}
		if !known || n.Version != w.Version {
			n.Collections = append(n.Collections, Stand{col, after})
		}
		if err := n.readChanges(ctx, rm, col, after, w, &left); err != nil {
			return fmt.Errorf("collection %q: %w", col.Name, err)
		}
	}
	return nil
}

// readChanges reads the changes of a collection after a sequence number while left, which it counts down, is not used up.
func (n *News) readChanges(ctx context.Context, rm *room, col Collection, after uint64, w *Wanted, left *int) error {
	switch st := &rm.state; {
	case after < st.trimmed:
		return fmt.Errorf("%w: changes up to %d are gone, asked for those after %d", ErrTrimmed, st.trimmed, after)
	case after > st.seq:
		return fmt.Errorf("%w: asked for changes after %d, the last is %d", ErrAhead, after, st.seq)
	}
	cur := rm.log.Cursor()
	seq := after
	for k, v := cur.Seek(key64(after + 1)); seq < rm.state.seq && *left > 0 && len(n.Entries) < newsEntries; k, v = cur.Next() {
		if seq%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ch, err := rm.change(k, v, seq+1)
		if err != nil {
			w.Damaged(col, err)
			return fmt.Errorf("%w: change %d cannot be read", ErrTrimmed, seq+1)
		}
		e := Entry{Collection: col.ID, Change: ch}
		if err := rm.fill(&e); errors.Is(err, ErrCorrupt) {
			w.Damaged(col, err)
			e.Document, e.Vectors = nil, nil
		} else if err != nil {
			return err
		}
		if *left -= e.size(); *left < 0 && len(n.Entries) > 0 {
			break // it is the first of the next News
		}
		n.Entries = append(n.Entries, e)
		seq++
	}
	n.Behind += rm.state.seq - seq
	return nil
}

// fill reads the document that the change of e put, where that is still what the number has.
func (rm *room) fill(e *Entry) error {
	if e.Op != OpPut {
		return nil
	}
	h, found, err := rm.headByNo(e.No)
	if err != nil || !found || h.Revision != e.Seq {
		return err
	}
	if h.Fields, err = rm.fieldsOf(e.No); err != nil {
		return err
	}
	e.Document, e.Vectors = &h.Document, make([][]float32, len(h.Passages))
	for i, p := range h.Passages {
		if !h.hasVector[i] {
			continue
		}
		payload, err := rm.vectors.get(key32(p.Slot))
		if err == nil && payload == nil {
			err = rm.vectors.corrupt(key32(p.Slot), "vector is missing")
		}
		if err == nil {
			e.Vectors[i], err = rm.vector(p.Slot, payload, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// size is about how many bytes an entry takes.
func (e *Entry) size() int {
	n := e.Change.size()
	if e.Document != nil {
		n += len(e.Document.Fields) + passageBytes*len(e.Document.Passages)
	}
	for _, v := range e.Vectors {
		n += 4 * len(v)
	}
	return n
}

// readValues reads the values.
func (n *News) readValues(tx *bbolt.Tx, w *Wanted) error {
	b, err := openTop(tx, kindValues)
	if err != nil {
		return err
	}
	n.Values = map[string][]byte{}
	cur := b.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if w.Omit != "" && strings.HasPrefix(string(k), w.Omit) {
			continue
		}
		payload, err := b.open(k, v)
		if err != nil {
			n.Partial = true
			w.Damaged(Collection{}, err)
			continue
		}
		n.Values[string(k)] = bytes.Clone(payload)
	}
	return nil
}

// Version counts the commits since the store was opened that changed collections or values: read before these, it is the same as long as they are.
func (s *Store) Version() uint64 { return s.catalog.Load() }

// Commits counts the commits since the store was opened. The channel is closed by the next one.
func (s *Store) Commits() (n uint64, next <-chan struct{}) { return s.bell.now() }

// bell tells whoever waits for the next commit.
type bell struct {
	mu struct {
		sync.Mutex
		rung uint64
		next chan struct{} // nil: nobody waits
	}
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.rung++
	if b.mu.next != nil {
		close(b.mu.next)
		b.mu.next = nil
	}
}

func (b *bell) now() (rung uint64, next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.next == nil {
		b.mu.next = make(chan struct{})
	}
	return b.mu.rung, b.mu.next
}
