package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"searchd/search/backend"
	"searchd/store"
)

// damage is what is known of a collection's documents with a damaged value. They are told once, and
// what can be read of the collection is searched:
//
//  1. One with damaged fields is not shown, and leaves the keyword index when that is made anew.
//  2. A passage with a damaged vector is not found by it once the graph is made anew.
//  3. Who asks for such a document by its id, or lists it, gets an error. Put again, with the same
//     content too, or deleted, it is no longer damaged.
//  4. A damaged change is none of theirs: the indexes that need it are made anew from the
//     documents.
//
// Everything else that is damaged sets the collection apart.
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

// forget takes note that documents were replaced, deleted, or read whole.
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

// list returns what is known, by the number of the document.
func (d *damage) list() (texts []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, no := range slices.Sorted(maps.Keys(d.mu.documents)) {
		texts = append(texts, d.mu.documents[no])
	}
	return texts
}

// leaveOut notes the document whose fields, or one of whose vectors, err says are damaged, and
// returns the number that the value is stored under, of the document or a slot. ok is false for
// every other error. tx is a view of the collection; nil: none is open.
func (c *collection) leaveOut(tx *store.Tx, err error) (n uint32, ok bool) {
	n, text := c.noteDamage(tx, err)
	return n, text != ""
}

// translate is translate that notes a damaged document and names it.
func (c *collection) translate(err error) error {
	if _, text := c.noteDamage(nil, err); text != "" {
		return &backend.DamagedError{Collection: c.name, Damage: text, Document: true}
	}
	return translate(err)
}

// noteDamage notes the document whose fields, or one of whose vectors, err says are damaged. text
// is empty for every other error.
func (c *collection) noteDamage(tx *store.Tx, err error) (n uint32, text string) {
	if err == nil {
		return 0, "" // often, and without an allocation
	}
	var ce *store.CorruptError
	if !errors.As(err, &ce) {
		return 0, ""
	}
	n, ok := ce.Number()
	if !ok {
		return 0, ""
	}
	no, text := owner(c.store, c.id, tx, ce)
	if text != "" && c.damage.note(no, text) {
		c.alarm("a document is damaged and left out of searches; put it again, or delete it: %s", text)
	}
	return n, text
}

// owner returns the number of the document that a value other than its record belongs to, and what
// is wrong with it; 0 where there is none.
func owner(st *store.Store, collection uint32, tx *store.Tx, ce *store.CorruptError) (no uint32, text string) {
	var id, part string
	look := func(tx *store.Tx) error {
		if no, id, part = tx.Owner(ce); no != 0 {
			_, err := tx.HeadByNo(no)
			return err
		}
		return nil
	}
	var err error
	if tx != nil {
		err = look(tx)
	} else {
		err = st.View(context.Background(), collection, look)
	}
	if err != nil || no == 0 {
		return 0, ""
	}
	return no, fmt.Sprintf("document %q, %s: %v", id, part, ce)
}

// documents calls fn for the documents that scan finds after a number, without those whose fields
// are damaged.
func (c *collection) documents(tx *store.Tx, after uint32, scan func(after uint32, fn func(store.Document) error) error, fn func(store.Document) error, damaged func(no uint32) error) error {
	for {
		err := scan(after, func(d store.Document) error {
			after = d.No
			return fn(d)
		})
		no, ok := c.leaveOut(tx, err)
		if !ok || no <= after {
			return err
		}
		after = no
		if err := damaged(no); err != nil {
			return err
		}
	}
}

// storedVectors calls fn for the stored vectors from a slot on, without those that are damaged.
func (c *collection) storedVectors(ctx context.Context, from uint32, fn func(slot uint32, v []float32) error) error {
	for {
		err := c.store.Vectors(ctx, c.id, from, fn)
		slot, ok := c.leaveOut(nil, err)
		if !ok || slot < from {
			return err
		}
		from = slot + 1
	}
}

// noteLost notes the documents whose vectors the graph lacks because they were damaged when it was
// made.
func (c *collection) noteLost(ctx context.Context) error {
	if _, live := c.slots.counts(); c.rebuild.graph.Load() != nil || c.graph.Len() == live {
		return nil
	}
	var lacking []uint32
	for slot := range c.slots.end() {
		if _, _, ok := c.slots.document(slot); ok && !c.graph.Contains(slot) {
			lacking = append(lacking, slot)
		}
	}
	return c.stored().Read(ctx, lacking, func(int, []float32) {})
}

// logDamaged reports whether a change of the log is damaged.
func logDamaged(err error) bool {
	var ce *store.CorruptError
	return errors.As(err, &ce) && ce.OfLog()
}
