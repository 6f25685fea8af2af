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

	"example.com/searchd/index/hnsw"
	"example.com/searchd/index/keyword"
	"example.com/searchd/internal/disk"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
	"example.com/searchd/store"
)

// Names in a collection's folder.
const (
	graphFile      = "graph.hnsw"
	keywordFolder  = "keyword"
	quarantineMark = ".set-aside-"
)

// The graph is saved after snapshotEvery changes, or after as many as 1/snapshotShare of its size,
// where that is more. An opening after a kill replays no more than these. Each save writes the
// whole graph: with a fixed interval, loading a million documents would write it 25 times.
var snapshotEvery = 20000

const snapshotShare = 8

// collection is one open collection with its derived indexes.
type collection struct {
	id       uint32
	name     string
	dir      string
	store    *store.Store
	notice   func(text string)
	alarm    func(text string)
	isNew    bool // it has never had a document
	slots    slotTable
	source   hnsw.Source // of a graph of codes; nil: the graph holds the vectors
	replaced replacedVectors
	damage   damage
	graph    *hnsw.Graph
	keyword  *keyword.Index
	caches   *keyword.Caches // shared by all collections

	config   atomic.Pointer[backend.Config]
	synonyms atomic.Pointer[keyword.Synonyms] // nil: none

	// stale are the documents whose changes the keyword index lacks because it cannot write; nil:
	// none. It is set with write locked.
	stale       atomic.Pointer[roaring.Bitmap]
	reopenFirst time.Duration // before the first attempt to open the keyword index again

	// use is locked for reading by every call that uses the indexes. Closing an index, or replacing
	// the keyword index, locks it for writing.
	use sync.RWMutex

	// write is locked from a commit until the derived indexes have applied it, so that they apply
	// commits in the order of the log.
	write struct {
		sync.Mutex
		unsaved   int     // slots, and changes without any, as deletions are, written since the graph was saved
		retrySave int     // after a failed save: how large unsaved must be for the next attempt
		pinned    *uint64 // changes after it stay in the log; nil: none is pinned
		behind    bool    // a derived index failed to apply a commit; it catches up at the next opening
	}
	seq atomic.Uint64 // last sequence number committed

	rebuildFrom int // see Options
	rebuild     rebuild
	probe       probe
}

// openCollection opens the derived indexes of a collection and replays the changes that they lack;
// for rebuildFrom see Options.
func (b *Backend) openCollection(ctx context.Context, sc store.Collection, rebuildFrom int) (*collection, error) {
	c := &collection{id: sc.ID, store: b.store, caches: b.caches, name: sc.Name, notice: b.notice, alarm: b.alarm, dir: b.folder(sc.ID), rebuildFrom: rebuildFrom, reopenFirst: reopenFirst}
	config, err := readConfig(sc)
	if err != nil {
		return nil, err
	}
	c.setConfig(config)
	if config.Quantize == backend.QuantizeInt8 {
		c.source = c.storedVectors()
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.loadSlots(ctx); err != nil {
		return nil, err
	}
	if err = c.openGraph(ctx); err == nil {
		err = c.noteMissingVectors(ctx)
	}
	if err != nil {
		if c.graph != nil {
			c.graph.Close()
		}
		return nil, fmt.Errorf("vector index: %w", err)
	}
	if err := c.openKeyword(ctx); err != nil {
		if c.keyword != nil { // open or not
			err = errors.Join(err, c.keyword.Close())
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

// setConfig replaces the config. If the indexes are open, the new config must leave them as they
// are, see [sameIndexes].
func (c *collection) setConfig(config *backend.Config) {
	var synonyms *keyword.Synonyms
	if len(config.Synonyms) > 0 {
		var err error
		if synonyms, err = keyword.NewSynonyms(config.Language, config.Synonyms); err != nil { // written by another version
			c.notify("searched without its synonyms: %v", err)
		}
	}
	c.synonyms.Store(synonyms)
	c.config.Store(config)
	if c.graph != nil {
		c.setBeamWidth()
	}
}

// setBeamWidth gives the graph the beam width that the config asks for. The graph looks for the
// width of a target recall in the background.
func (c *collection) setBeamWidth() {
	config := c.config.Load()
	if err := c.graph.SetWidth(config.EfSearch, config.TargetRecall); err != nil { // written by another version
		c.notify("searched with the previous beam width: %v", err)
	}
}

// sameIndexes reports whether two configs have the same indexes.
func sameIndexes(a, b backend.Config) bool {
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
	err := c.store.View(ctx, c.id, func(tx *store.Tx) error {
		c.seq.Store(tx.Seq())
		c.isNew = tx.Counts().NextNo == 1
		return nil
	})
	if err != nil {
		return err
	}
	load := func(d store.Document) error {
		first := uint32(0)
		if len(d.Passages) > 0 {
			first = d.Passages[0].Slot
		}
		c.slots.load(d.No, first, uint32(len(d.Passages)))
		return nil
	}
	return c.documents(ctx, 0, load, func(no uint32) error {
		return c.store.View(ctx, c.id, func(tx *store.Tx) error {
			d, err := tx.HeadByNo(no)
			if err != nil {
				return err
			}
			return load(d)
		})
	})
}

func (c *collection) counts() (documents, passages int, seq uint64) {
	documents, passages = c.slots.counts()
	return documents, passages, c.seq.Load()
}

// storedVectors returns the vectors as the store has them.
func (c *collection) storedVectors() storedVectors {
	return storedVectors{c.store, c.id, &c.replaced, c.noteDamage}
}

// notify sends a notice about the collection.
func (c *collection) notify(format string, args ...any) {
	c.notice(fmt.Sprintf("collection %s: ", c.name) + fmt.Sprintf(format, args...))
}

// warn sends an alarm about the collection.
func (c *collection) warn(format string, args ...any) {
	c.alarm(fmt.Sprintf("collection %s: ", c.name) + fmt.Sprintf(format, args...))
}

// quarantineIndex renames an index that cannot be used, so that a person can examine it, and keeps
// only the newest such copy. An index of another version or with other settings is removed.
func (c *collection) quarantineIndex(name string, why error) error {
	path := filepath.Join(c.dir, name)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(why, keyword.ErrMismatch) || errors.Is(why, hnsw.ErrMismatch) {
		return c.removeIndex(name, why)
	}
	old, _ := disk.Glob(c.dir, name+quarantineMark+"*")
	for _, o := range old {
		os.RemoveAll(o)
	}
	to := path + quarantineMark + time.Now().UTC().Format("20060102T150405")
	c.notify("%s is unusable; it is kept as %s and rebuilt from the store: %v", path, to, why)
	return os.Rename(path, to)
}

// removeIndex removes an index that is about to be rebuilt.
func (c *collection) removeIndex(name string, why error) error {
	path := filepath.Join(c.dir, name)
	c.notify("%s is removed and rebuilt from the store: %v", path, why)
	return os.RemoveAll(path)
}

// save saves the graph if it can be saved. A failure loses nothing: it is reported, and the graph
// is saved after as many changes again. The caller holds c.write.
func (c *collection) save(ctx context.Context) {
	if !c.savable() {
		return
	}
	err := c.saveGraph(ctx)
	if c.write.retrySave = 0; err != nil && ctx.Err() == nil {
		c.write.retrySave = c.write.unsaved + snapshotEvery
		c.warn("cannot save the indexes, will try again; until then the next start takes longer and the change log grows: %v", err)
	}
}

// saveGraph writes the graph's snapshot and trims the log below what both indexes have made
// durable. The caller holds c.write.
func (c *collection) saveGraph(ctx context.Context) error {
	err := c.graph.WriteSnapshot(filepath.Join(c.dir, graphFile), hnsw.Meta{Seq: c.seq.Load(), StoreID: c.store.ID()})
	if err != nil {
		return fmt.Errorf("saving the vector index: %w", err)
	}
	c.write.unsaved = 0
	if err := c.keyword.Sync(ctx); errors.Is(err, keyword.ErrBroken) {
		return nil // it needs the log when it is opened again
	} else if err != nil {
		return fmt.Errorf("saving the keyword index: %w", err)
	}
	if c.rebuild.keyword.Load() {
		return nil // after a crash the rebuild begins again, and needs the changes since
	}
	upTo := min(c.seq.Load(), c.keyword.Seq())
	if c.write.pinned != nil {
		upTo = min(upTo, *c.write.pinned)
	}
	return c.store.TrimChanges(ctx, c.id, upTo)
}

// close stops the background work and saves the graph.
func (c *collection) close() error {
	return c.shut(func() error {
		if !c.savable() {
			return nil
		}
		return c.saveGraph(context.Background())
	})
}

// discard closes a dropped collection without saving its graph.
func (c *collection) discard() {
	if err := c.shut(func() error { return nil }); err != nil {
		c.notify("closing a dropped keyword index: %v", err)
	}
}

// shut stops the background work and, once no call uses the indexes, calls last and closes them.
func (c *collection) shut(last func() error) error {
	c.end()
	c.graph.Close()
	c.use.Lock()
	defer c.use.Unlock()
	c.write.Lock()
	defer c.write.Unlock()
	err := errors.Join(last(), c.keyword.Close())
	if isNoSpace(err) { // nothing is lost: the next opening replays the log
		c.notify("no space to save the indexes: the next start takes longer: %v", err)
		return nil
	}
	return err
}

// saveDue reports whether there are enough changes to save the graph. The caller holds c.write.
func (c *collection) saveDue() bool {
	return c.write.unsaved >= max(snapshotEvery, c.graph.Len()/snapshotShare, c.write.retrySave)
}

// savable reports whether the graph has something to save and no index lacks a change. The caller
// holds c.write.
func (c *collection) savable() bool {
	return (c.write.unsaved > 0 || c.graph.NewWidths()) && !c.write.behind && c.stale.Load() == nil && c.rebuild.graph.Load() == nil
}
