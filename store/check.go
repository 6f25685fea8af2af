package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/bbolt"
)

// A Problem is one finding of Check.
type Problem struct {
	Collection string // name; empty for what belongs to the whole file
	Bucket     string // path of the bucket; empty for pages
	Key        string // key in readable form
	No         uint32 // number of the document that the record belongs to; 0: none, or unknown
	Document   string // its id, as far as it can be read
	Part       string // what of it the record is
	Detail     string // what is wrong
	Vector     bool   // the record is a vector of a document: it can be made again from the text
	Harmless   bool   // no record is affected; Compact or the next commits remove it
}

// String returns the problem on one line.
func (p Problem) String() string {
	s := p.Detail
	if p.Key != "" {
		s = "key " + p.Key + ": " + s
	}
	if p.Bucket != "" {
		s = p.Bucket + ": " + s
	}
	if p.No != 0 {
		s = documentText(p.No, p.Document) + ": " + p.Part + ": " + s
	}
	if p.Collection != "" {
		s = fmt.Sprintf("collection %q: %s", p.Collection, s)
	}
	return s
}

// maxProblems ends a check: a file this bad needs no longer list.
const maxProblems = 1000

// Check looks for damage and contradictions in the whole file: the pages; the checksum of each
// record; that documents, ids, fields, slots, vectors and log refer to each other one to one and
// agree with the counters. With deep it also reads every vector and every field (otherwise only
// their keys) and runs bbolt's own check. No problems: the result is nil. The error is for a check
// that could not be done, or ctx.
//
// Writers wait while the pages are checked; the records are read in one view, after which writers
// go on.
func (s *Store) Check(ctx context.Context, deep bool) ([]Problem, error) {
	return s.checkBy(&checker{s: s, ctx: ctx, deep: deep, vectors: deep})
}

// checkBy is Check by a checker that nobody has used.
func (s *Store) checkBy(c *checker) ([]Problem, error) {
	if err := s.lockWriter(c.ctx); err != nil {
		return nil, err
	}
	unlock := sync.OnceFunc(s.unlockWriter)
	defer unlock()
	db, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer s.release()
	return c.check(db, unlock)
}

// CheckValues reads each record with its vectors and fields as Check does with deep, and leaves out
// the pages, so that no writer waits.
func (s *Store) CheckValues(ctx context.Context) ([]Problem, error) {
	db, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer s.release()
	c := &checker{s: s, ctx: ctx, deep: true, vectors: true}
	var tx *bbolt.Tx
	if err := guard(func() (err error) { tx, err = db.Begin(false); return err }); err != nil {
		return nil, s.damaged(err)
	}
	defer func() { _ = guard(tx.Rollback) }()
	return c.values(tx)
}

// check is Check for a caller who holds writer; it calls unlock when the pages have been checked.
func (c *checker) check(db *bbolt.DB, unlock func()) ([]Problem, error) {
	var tx *bbolt.Tx
	err := guard(func() (err error) { tx, err = db.Begin(false); return err })
	if err == nil {
		err = c.pages(tx)
	}
	unlock()
	if tx != nil {
		defer func() { _ = guard(tx.Rollback) }()
	}
	if err != nil {
		return nil, c.s.damaged(err)
	}
	if slices.ContainsFunc(c.problems, func(p Problem) bool { return !p.Harmless }) { // the records are reached through the pages: what they say next is not worth reading
		return c.problems, nil
	}
	return c.values(tx)
}

// values checks all buckets and returns every problem found so far.
func (c *checker) values(tx *bbolt.Tx) ([]Problem, error) {
	err := guard(func() error { return c.records(tx) })
	if errors.Is(err, errFault) {
		c.add("", Problem{Detail: err.Error()})
		err = nil
	}
	if errors.Is(err, errTooMany) {
		c.problems = append(c.problems, Problem{Detail: fmt.Sprintf("more than %d problems: stopped here", maxProblems)})
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return c.problems, nil
}

var errTooMany = errors.New("too many problems")

type checker struct {
	s        *Store
	ctx      context.Context
	deep     bool
	vectors  bool // read what is in them
	steps    int
	scanned  uint64 // records of the last scan, corrupt ones too
	room     *room  // the collection that is being checked
	problems []Problem
}

// add notes a problem.
func (c *checker) add(collection string, p Problem) {
	p.Collection = collection
	c.problems = append(c.problems, p)
}

// found notes err if it is a problem of a record and returns it otherwise.
func (c *checker) found(collection string, err error) error {
	var ce *CorruptError
	if !errors.As(err, &ce) {
		return err
	}
	p := Problem{Bucket: ce.Bucket, Key: ce.Key, Detail: ce.Detail}
	if c.room != nil {
		p.No, p.Document, p.Part = c.room.owner(ce)
		p.Vector = p.No != 0 && ce.kind == kindVectors
	}
	c.add(collection, p)
	if len(c.problems) >= maxProblems {
		return errTooMany
	}
	return nil
}

// step returns an error when the context has ended; it looks now and then.
func (c *checker) step() error {
	if c.steps++; c.steps%1024 == 0 {
		return c.ctx.Err()
	}
	return nil
}

// pages checks the file under the view tx. The caller holds writer.
func (c *checker) pages(tx *bbolt.Tx) error {
	f, err := os.Open(c.s.path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	heads, err := checkHeaders(f, fi.Size())
	if err != nil {
		c.add("", Problem{Detail: err.Error()})
		return nil
	}
	if !heads.other.valid {
		c.add("", Problem{Harmless: true, Detail: "one of the two header pages is damaged; the next commit writes it anew"})
	}
	w := newWalker(f, heads.newest, true)
	if err := w.walk(); err != nil {
		c.add("", Problem{Detail: err.Error()})
		return nil
	}
	if n := w.lost(); n > 0 {
		c.add("", Problem{Harmless: true, Detail: fmt.Sprintf("%d pages of %d bytes are neither in use nor free; compact the store to get them back", n, w.pageSize)})
	}
	if !c.deep {
		return nil
	}
	for err := range tx.Check() { // to the end, or bbolt's goroutine would never leave
		if len(c.problems) < maxProblems && !strings.HasSuffix(err.Error(), ": unreachable unfreed") { // counted above
			c.add("", Problem{Detail: err.Error()})
		}
	}
	return nil
}

// records checks all buckets.
func (c *checker) records(tx *bbolt.Tx) error {
	cat, err := openCatalog(tx)
	if err != nil {
		return c.found("", err)
	}
	next, err := cat.meta.get(nextCollectionKey)
	if err := c.found("", err); err != nil {
		return err
	}
	nextID := (&decoder{b: next}).u32()
	err = c.scan("", cat.collections, true, func(k, payload []byte) error {
		col, ok := decodeCollection(binary.BigEndian.Uint32(k), payload)
		if !ok || col.ID >= nextID {
			return cat.collections.corrupt(k, "not a collection, or its number is not below %d", nextID)
		}
		if named, err := cat.byName(col.Name); err != nil || named.ID != col.ID {
			return cat.collections.corrupt(k, "its name %q does not refer to it: %v", col.Name, err)
		}
		rm, err := openRoom(tx, col.ID)
		if err != nil {
			return c.found(col.Name, err)
		}
		return c.collection(col.Name, rm)
	})
	if err != nil {
		return err
	}
	collections := c.scanned
	if err := c.scan("", cat.names, true, func(_, _ []byte) error { return nil }); err != nil {
		return err
	}
	if c.scanned != collections {
		c.add("", Problem{Bucket: cat.names.name(), Detail: fmt.Sprintf("%d names for %d collections", c.scanned, collections)})
	}
	values, err := openTop(tx, kindValues)
	if err != nil {
		return c.found("", err)
	}
	if err := c.scan("", values, true, func(_, _ []byte) error { return nil }); err != nil {
		return err
	}
	return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		if len(name) == 5 && name[0] == 'c' && cat.collections.Get(name[1:]) == nil {
			c.add("", Problem{Detail: fmt.Sprintf("bucket of collection %d, which does not exist", binary.BigEndian.Uint32(name[1:]))})
		}
		return nil
	})
}

// scan calls fn for each record of b, with a nil payload if the checksum is not to be verified.
// Problems are noted and do not end it.
func (c *checker) scan(collection string, b bucket, verify bool, fn func(k, payload []byte) error) error {
	cur := b.Cursor()
	seen := uint64(0)
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		seen++
		if err := c.step(); err != nil {
			return err
		}
		var payload []byte
		var err error
		if verify {
			payload, err = b.open(k, v)
		}
		if want := b.keySize(); err == nil && want != 0 && len(k) != want {
			err = b.corrupt(k, "key has %d bytes, want %d", len(k), want)
		}
		if err == nil {
			err = fn(k, payload)
		}
		if err := c.found(collection, err); err != nil {
			return err
		}
	}
	c.scanned = seen // fn may scan, too
	return nil
}

// collection checks the buckets of one collection.
func (c *checker) collection(name string, rm *room) error {
	st := &rm.state
	c.room = rm
	defer func() { c.room = nil }()
	known := len(c.problems)
	var documents, passages, vectors uint64
	err := c.scan(name, rm.docs, true, func(k, payload []byte) error {
		h, err := rm.decodeHead(k, payload)
		if err != nil {
			return err
		}
		documents++
		passages += uint64(len(h.Passages))
		for _, has := range h.hasVector {
			if has {
				vectors++
			}
		}
		return c.document(rm, k, &h)
	})
	if err != nil {
		return err
	}
	// Every document found its records above; if there are just as many records, none is without a
	// document. Documents that cannot be read say nothing of how many there should be.
	whole := len(c.problems) == known
	for _, e := range []struct {
		b      bucket
		want   uint64
		verify bool
	}{
		{rm.ids, documents, true}, {rm.fields, documents, c.deep}, {rm.slots, passages, true}, {rm.vectors, vectors, c.vectors},
	} {
		if err := c.scan(name, e.b, e.verify, func(k, payload []byte) error { return c.record(rm, e.b, k, payload) }); err != nil {
			return err
		}
		n := c.scanned
		if whole && n != e.want {
			c.add(name, Problem{Bucket: e.b.name(), Detail: fmt.Sprintf("%d records, the documents have %d", n, e.want)})
		}
	}
	if whole && (st.documents != documents || st.passages != passages || st.vectors != vectors) {
		c.add(name, Problem{Bucket: rm.stateB.name(), Detail: fmt.Sprintf("counts %d documents, %d passages, %d vectors; there are %d, %d, %d",
			st.documents, st.passages, st.vectors, documents, passages, vectors)})
	}
	if versions := rm.versions(); versions.Bucket != nil {
		err := c.scan(name, versions, true, func(k, payload []byte) error {
			v, err := versions.version(k, payload, c.deep)
			if err == nil && c.deep && !isObject(v.Fields) {
				err = versions.corrupt(k, "fields are not a JSON object")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.log(name, rm)
}

// document checks what the other buckets say about h.
func (c *checker) document(rm *room, k []byte, h *head) error {
	st := &rm.state
	if h.No == 0 || h.No >= st.nextNo || h.Revision == 0 || h.Revision > max(st.seq, st.place) {
		return rm.docs.corrupt(k, "number %d or revision %d is beyond the counters", h.No, h.Revision)
	}
	if id, err := rm.ids.get([]byte(h.ID)); err != nil || len(id) != 4 || binary.LittleEndian.Uint32(id) != h.No {
		return rm.docs.corrupt(k, "its id %q does not refer to it (%v)", h.ID, err)
	}
	if rm.fields.Get(k) == nil {
		return rm.docs.corrupt(k, "it has no fields")
	}
	for i, p := range h.Passages {
		want := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, h.No), uint32(i))
		if got, err := rm.slots.get(key32(p.Slot)); err != nil || !bytes.Equal(got, want) || p.Slot >= st.nextSlot {
			return rm.docs.corrupt(k, "slot %d of passage %d does not refer to it (%v)", p.Slot, i, err)
		}
		if has := rm.vectors.Get(key32(p.Slot)) != nil; has != h.hasVector[i] {
			return rm.docs.corrupt(k, "vector of passage %d, slot %d: exists: %v, expected: %v", i, p.Slot, has, h.hasVector[i])
		}
	}
	if h.Revision <= st.trimmed || st.place != 0 { // the log counts its own changes
		return nil
	}
	payload, err := rm.log.get(key64(h.Revision))
	if err != nil {
		return err
	}
	ch, ok := decodeChange(h.Revision, payload)
	if !ok || ch.No != h.No || ch.ID != h.ID || ch.Op != OpPut || !slices.Equal(ch.NewSlots, h.slots()) {
		return rm.docs.corrupt(k, "change %d, which made it, is about something else", h.Revision)
	}
	return nil
}

// record checks the content of a record whose references document has checked. payload is nil if it
// was not read.
func (c *checker) record(rm *room, b bucket, k, payload []byte) error {
	switch {
	case b.kind == kindVectors && payload != nil:
		v, err := rm.vector(binary.BigEndian.Uint32(k), payload, nil)
		if err != nil {
			return err
		}
		if err := checkVector(v); err != nil {
			return b.corrupt(k, "%v", err)
		}
	case b.kind == kindFields && payload != nil && !isObject(payload):
		return b.corrupt(k, "fields are not a JSON object")
	}
	return nil
}

// log checks that the log is without a gap.
func (c *checker) log(name string, rm *room) error {
	want := rm.state.trimmed + 1
	err := c.scan(name, rm.log, true, func(k, payload []byte) error {
		seq := binary.BigEndian.Uint64(k)
		if seq != want {
			missing := want
			want = seq + 1
			return rm.log.corrupt(k, "change %d should come here", missing)
		}
		want++
		_, err := rm.decodeChange(k, payload)
		return err
	})
	if err == nil && want != rm.state.seq+1 {
		c.add(name, Problem{Bucket: rm.log.name(), Detail: fmt.Sprintf("ends at change %d, the last is %d", want-1, rm.state.seq)})
	}
	return err
}

// keySize returns the size of the keys of b in bytes, 0 if it varies.
func (b bucket) keySize() int {
	switch b.kind {
	case kindCollections, kindDocs, kindFields, kindSlots, kindVectors:
		return 4
	case kindLog:
		return 8
	}
	return 0
}
