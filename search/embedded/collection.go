package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/hnsw"
	"searchd/index/keyword"
	"searchd/internal/disk"
	"searchd/search/backend"
	"searchd/search/mapping"
	"searchd/store"
)

// Names in a collection's folder.
const (
	graphFile    = "graph.hnsw"
	wordsFolder  = "keyword"
	setAsideMark = ".set-aside-"
)

// snapshotEvery is how many slots, and changes without any, may be written before the graph is
// saved again, and snapshotShare the part of the graph that may, where that is more: the most that
// an opening after a kill has to replay. Saving writes the whole graph, so that as often in a large
// one a million documents would write it 25 times over.
var snapshotEvery = 20000

const snapshotShare = 8

// collection is one collection with its derived indexes.
type collection struct {
	id      uint32
	name    string
	dir     string
	store   *store.Store
	notice  func(text string)
	raise   func(text string) // notice of what is serious
	fresh   bool              // it held no document yet when it was opened
	slots   slotTable
	source  hnsw.Source // of a graph of codes; nil: the graph holds the vectors
	leaving leaving
	damage  damage
	graph   *hnsw.Graph
	words   *keyword.Index

	config   atomic.Pointer[backend.Config]
	synonyms atomic.Pointer[keyword.Synonyms] // nil: none

	// missed has the documents whose changes the keyword index lacks because it cannot write; nil:
	// none. The holder of write sets it.
	missed      atomic.Pointer[roaring.Bitmap]
	reopenFirst time.Duration // until it is opened again

	// use is held for reading by every call that works on the indexes, so that close, and who puts
	// another in the place of words, waits for them.
	use sync.RWMutex

	// write orders writers: it is held from the commit until the derived indexes have applied it,
	// so that they apply in the order of the log.
	write struct {
		sync.Mutex
		unsaved   int     // slots, and changes without any, as deletions are, written since the graph was saved
		saveAgain int     // of unsaved, from how many on it is tried again after it could not be
		held      *uint64 // changes after it stay in the log; nil: those that the indexes have may go
		behind    bool    // a derived index failed to apply a commit; it catches up at the next opening
	}
	seq atomic.Uint64 // last sequence number committed

	rebuildFrom int // see Options
	rebuild     rebuild
	probed      probed
}

// openCollection opens the derived indexes of a collection and replays what they have missed; for
// rebuildFrom see Options.
func (b *Backend) openCollection(ctx context.Context, sc store.Collection, rebuildFrom int) (*collection, error) {
	c := &collection{id: sc.ID, store: b.store, name: sc.Name, notice: b.notice, raise: b.alarm, dir: b.folder(sc.ID), rebuildFrom: rebuildFrom, reopenFirst: reopenFirst}
	config, err := readConfig(sc)
	if err != nil {
		return nil, err
	}
	c.take(config)
	if config.Quantize == backend.QuantizeInt8 {
		c.source = c.stored()
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(c.loadSlots(ctx), c.readLog(ctx)); err != nil {
		return nil, err
	}
	err = c.openGraph(ctx)
	if err == nil {
		err = c.noteLost(ctx)
	}
	if err != nil {
		if c.graph != nil {
			c.graph.Close()
		}
		return nil, fmt.Errorf("vector index: %w", err)
	}
	if err := c.openWords(ctx); err != nil {
		if c.words != nil { // open or not
			err = errors.Join(err, c.words.Close())
		}
		c.graph.Close()
		return nil, fmt.Errorf("keyword index: %w", err)
	}
	c.begin()
	return c, nil
}

func readConfig(sc store.Collection) (*backend.Config, error) {
	config := &backend.Config{}
	if err := json.Unmarshal(sc.Settings, config); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return config, nil
}

// take gives the collection a config. That of a collection which serves has the same indexes, see
// [indexedAs].
func (c *collection) take(config *backend.Config) {
	var synonyms *keyword.Synonyms
	if len(config.Synonyms) > 0 {
		var err error
		if synonyms, err = keyword.NewSynonyms(config.Language, config.Synonyms); err != nil { // of a program that takes others
			c.tell("searched without its synonyms: %v", err)
		}
	}
	c.synonyms.Store(synonyms)
	c.config.Store(config)
	if c.graph != nil { // it is open
		c.aim()
	}
}

// aim gives the graph the beam width that the settings ask for. Where one has to be found for it,
// that is done in the background.
func (c *collection) aim() {
	config := c.config.Load()
	if err := c.graph.SetWidth(config.EfSearch, config.TargetRecall); err != nil { // of a program that takes others
		c.tell("searched with the beam width of before: %v", err)
	}
}

// indexedAs reports whether two configs have the same indexes.
func indexedAs(a, b backend.Config) bool {
	a.Synonyms, a.Payload = b.Synonyms, b.Payload
	a.EfSearch, a.TargetRecall = b.EfSearch, b.TargetRecall
	sameFields := maps.EqualFunc(a.Mapping, b.Mapping, func(a, b mapping.Field) bool {
		a.Weight = b.Weight
		return a == b
	})
	a.Mapping = b.Mapping
	return sameFields && reflect.DeepEqual(a, b)
}

// loadSlots reads the slots of every document, and the last sequence number, from the store.
func (c *collection) loadSlots(ctx context.Context) error {
	return c.store.View(ctx, c.id, func(tx *store.Tx) error {
		c.seq.Store(tx.Seq())
		c.fresh = tx.Counts().NextNo == 1
		load := func(d store.Document) error {
			first := uint32(0)
			if len(d.Passages) > 0 {
				first = d.Passages[0].Slot
			}
			c.slots.load(d.No, first, uint32(len(d.Passages)))
			return nil
		}
		return c.documents(tx, 0, tx.Documents, load, func(no uint32) error {
			d, err := tx.HeadByNo(no)
			if err != nil {
				return err
			}
			return load(d)
		})
	})
}

// readLog looks for damage in the log, of which the indexes may need nothing.
func (c *collection) readLog(ctx context.Context) error {
	return c.store.View(ctx, c.id, func(tx *store.Tx) error {
		err := tx.Changes(tx.Trimmed(), func(store.Change) error { return nil })
		if logDamaged(err) {
			return nil // what needs it says so
		}
		return err
	})
}

func (c *collection) counts() (documents, passages int, seq uint64) {
	documents, passages = c.slots.counts()
	return documents, passages, c.seq.Load()
}

// stored returns the vectors as the store has them.
func (c *collection) stored() stored { return stored{c.store, c.id, &c.leaving, c.leaveOut} }

// tell gives notice of something that an operator wants to know.
func (c *collection) tell(format string, args ...any) {
	c.notice(fmt.Sprintf("collection %s: ", c.name) + fmt.Sprintf(format, args...))
}

// alarm is tell for what needs a person to look.
func (c *collection) alarm(format string, args ...any) {
	c.raise(fmt.Sprintf("collection %s: ", c.name) + fmt.Sprintf(format, args...))
}

// setAside renames what cannot be used, so that a person can look at it, and keeps only the newest
// such copy. What was made by another version or with other settings is not worth keeping.
func (c *collection) setAside(name string, why error) error {
	path := filepath.Join(c.dir, name)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(why, keyword.ErrMismatch) || errors.Is(why, hnsw.ErrMismatch) {
		return c.remove(name, why)
	}
	old, _ := disk.Glob(c.dir, name+setAsideMark+"*")
	for _, o := range old {
		os.RemoveAll(o)
	}
	to := path + setAsideMark + time.Now().UTC().Format("20060102T150405")
	c.tell("%s cannot be used, is kept as %s and rebuilt from the store: %v", path, to, why)
	return os.Rename(path, to)
}

// remove makes place for an index that is made anew.
func (c *collection) remove(name string, why error) error {
	path := filepath.Join(c.dir, name)
	c.tell("%s is removed and made anew from the store: %v", path, why)
	return os.RemoveAll(path)
}

// save saves the graph where it can be. Where there is no room, for example, no index lacks
// anything: it is told, and tried again after as many changes more. The caller holds c.write.
func (c *collection) save(ctx context.Context) {
	if !c.savable() {
		return
	}
	err := c.saveGraph(ctx)
	if c.write.saveAgain = 0; err != nil && ctx.Err() == nil {
		c.write.saveAgain = c.write.unsaved + snapshotEvery
		c.alarm("the indexes cannot be saved, which is tried again later; until then the next opening takes longer, and the log of changes grows: %v", err)
	}
}

// saveGraph writes the graph's snapshot, after which the log below it is no longer needed by the
// graph. The caller holds c.write.
func (c *collection) saveGraph(ctx context.Context) error {
	err := c.graph.WriteSnapshot(filepath.Join(c.dir, graphFile), hnsw.Meta{Seq: c.seq.Load(), StoreID: c.store.ID()})
	if err != nil {
		return fmt.Errorf("saving the vector index: %w", err)
	}
	c.write.unsaved = 0
	if err := c.words.Sync(ctx); errors.Is(err, keyword.ErrBroken) {
		return nil // it is opened again and needs the log
	} else if err != nil {
		return fmt.Errorf("saving the keyword index: %w", err)
	}
	if c.rebuild.words.Load() {
		return nil // a keyword index that is being filled begins again after a crash, but needs what has been written since
	}
	upTo := min(c.seq.Load(), c.words.Seq())
	if c.write.held != nil {
		upTo = min(upTo, *c.write.held)
	}
	return c.store.TrimChanges(ctx, c.id, upTo)
}

// close stops what runs in the background and saves what makes the next opening fast.
func (c *collection) close() error {
	c.end()
	c.graph.Close()
	c.use.Lock()
	defer c.use.Unlock()
	c.write.Lock()
	defer c.write.Unlock()
	var errs []error
	if c.savable() {
		errs = append(errs, c.saveGraph(context.Background()))
	}
	err := errors.Join(append(errs, c.words.Close())...)
	if noRoom(err) { // nothing is lost: the next opening replays the log
		c.tell("no room to save the indexes: the next opening takes longer: %v", err)
		return nil
	}
	return err
}

// saveDue reports whether so much was written that the graph is to be saved. The caller holds
// c.write.
func (c *collection) saveDue() bool {
	return c.write.unsaved >= max(snapshotEvery, c.graph.Len()/snapshotShare, c.write.saveAgain)
}

// savable reports whether the graph has something to save and no index lacks a change. The caller
// holds c.write.
func (c *collection) savable() bool {
	return (c.write.unsaved > 0 || c.graph.NewWidths()) && !c.write.behind && c.missed.Load() == nil && c.rebuild.graph.Load() == nil
}

// discard closes without saving.
func (c *collection) discard() {
	c.end()
	c.graph.Close()
	c.use.Lock()
	defer c.use.Unlock()
	c.write.Lock()
	defer c.write.Unlock()
	if err := c.words.Close(); err != nil {
		c.tell("closing a dropped keyword index: %v", err)
	}
}
