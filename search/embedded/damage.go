package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// damage holds the documents of a collection with a damaged value, as far as they are known. Each
// is reported once, and the rest of the collection is searched:
//
//  1. A document with damaged fields is not shown, and leaves the keyword index when that is
//     rebuilt.
//  2. A passage with a damaged vector is not found by it once the graph is rebuilt.
//  3. Reading such a document by its id, or listing it, returns an error. Writing it again, even
//     with the same content, or deleting it ends that.
//  4. A damaged change belongs to no document: indexes that need it are rebuilt.
//
// Any other damage quarantines the collection.
type damage struct {
	mu struct {
		sync.Mutex
		documents map[uint32]string // by number: which value, and what is wrong
	}
}

// note notes the damage of a document and reports whether it is new.
func (d *damage) note(no uint32, text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.mu.documents[no]; known {
		return false
	}
	if d.mu.documents == nil {
		d.mu.documents = map[uint32]string{}
	}
	d.mu.documents[no] = text
	return true
}

// forget removes documents that were replaced, deleted, or found to be whole.
func (d *damage) forget(outcomes []store.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range outcomes {
		if o.Status == store.Updated || o.Status == store.Deleted || o.Status == store.Unchanged {
			delete(d.mu.documents, o.No)
		}
	}
}

// has reports whether a document is known to be damaged.
func (d *damage) has(no uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.mu.documents[no]
	return known
}

func (d *damage) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.mu.documents)
}

// list returns what is damaged, by the number of the document.
func (d *damage) list() (texts []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, no := range slices.Sorted(maps.Keys(d.mu.documents)) {
		texts = append(texts, d.mu.documents[no])
	}
	return texts
}

// translate is [translate] for errors that may be the damage of a document, which it notes.
func (c *collection) translate(err error) error {
	if _, text := c.documentDamage(nil, err); text != "" {
		return &backend.DamagedError{Collection: c.name, Damage: text, Document: true}
	}
	return translate(err)
}

// noteDamage notes the document whose fields, or one of whose vectors, err reports as damaged, and
// returns the number of the damaged record, a document's or a slot. ok is false for every other
// error. tx is an open view of the collection, or nil.
func (c *collection) noteDamage(tx *store.Tx, err error) (n uint32, ok bool) {
	n, text := c.documentDamage(tx, err)
	return n, text != ""
}

// documentDamage is noteDamage with a description of the damage, empty for every other error.
func (c *collection) documentDamage(tx *store.Tx, err error) (n uint32, text string) {
	if err == nil {
		return 0, "" // the common case, without an allocation
	}
	var ce *store.CorruptError
	if !errors.As(err, &ce) {
		return 0, ""
	}
	n, ok := ce.Number()
	if !ok {
		return 0, ""
	}
	no, text, err := owner(c.store, c.id, tx, ce)
	if err != nil || no == 0 {
		return n, ""
	}
	if c.damage.note(no, text) {
		c.warn("a damaged document is left out of searches; write it again, or delete it: %s", text)
	}
	return n, text
}

// owner returns the number of the document that a corrupt record belongs to, 0 for none, and a
// description of the damage. err is not nil if the document itself cannot be read.
func owner(st *store.Store, collection uint32, tx *store.Tx, ce *store.CorruptError) (no uint32, text string, err error) {
	var id, part string
	find := func(tx *store.Tx) error {
		no, id, part = tx.Owner(ce)
		_, err := tx.HeadByNo(no)
		return err
	}
	if tx != nil {
		err = find(tx)
	} else {
		err = st.View(context.Background(), collection, find)
	}
	switch {
	case no == 0:
		text = ce.Error()
	case id == "":
		text = fmt.Sprintf("document number %d, %s: %v", no, part, ce)
	default:
		text = fmt.Sprintf("document %q, %s: %v", id, part, ce)
	}
	return no, text, err
}

// skipDamaged calls scan with the number of the first record to read, and again behind each damaged
// record for which skip returns its number and true.
func skipDamaged(from uint32, scan func(from uint32) error, skip func(error) (n uint32, ok bool)) error {
	for {
		err := scan(from)
		n, ok := skip(err)
		if !ok || n < from || n == math.MaxUint32 {
			return err
		}
		from = n + 1
	}
}

// documents calls fn for the documents with numbers greater than after, and damaged for those whose
// fields are damaged.
func (c *collection) documents(ctx context.Context, after uint32, fn func(store.Document) error, damaged func(no uint32) error) error {
	var damagedErr error
	err := skipDamaged(after+1, func(from uint32) error {
		return c.store.Documents(ctx, c.id, from-1, fn)
	}, func(err error) (uint32, bool) {
		no, ok := c.noteDamage(nil, err)
		if ok {
			damagedErr = damaged(no)
		}
		return no, ok && damagedErr == nil
	})
	if damagedErr != nil {
		return damagedErr
	}
	return err
}

// vectorsFrom calls fn for the stored vectors from a slot on, without damaged ones.
func (c *collection) vectorsFrom(ctx context.Context, from uint32, fn func(slot uint32, v []float32) error) error {
	return skipDamaged(from, func(from uint32) error { return c.store.Vectors(ctx, c.id, from, fn) },
		func(err error) (uint32, bool) { return c.noteDamage(nil, err) })
}

// noteMissingVectors notes the documents whose vectors the graph lacks because they were damaged
// when it was built.
func (c *collection) noteMissingVectors(ctx context.Context) error {
	if _, live := c.slots.counts(); c.rebuild.graph.Load() != nil || c.graph.Len() == live {
		return nil
	}
	var missing []uint32
	for slot := range c.slots.end() {
		if _, _, ok := c.slots.document(slot); ok && !c.graph.Contains(slot) {
			missing = append(missing, slot)
		}
	}
	return c.storedVectors().Read(ctx, missing, func(int, []float32) {})
}

// isLogDamage reports whether an error is a damaged record of the change log.
func isLogDamage(err error) bool {
	var ce *store.CorruptError
	return errors.As(err, &ce) && ce.OfLog()
}
