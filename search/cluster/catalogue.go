package cluster

import (
	"context"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// Keys of the bucket. Names of collections and nodes follow in base32, since a bucket takes few
// characters.
const (
	collectionKey = "collection."
	nodeKey       = "node."
	valuesKey     = "values" // all of them, so that several change at once
	originKey     = "origin"
)

var nameEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// collection is a collection as the catalogue has it.
type collection struct {
	Name       string
	ID         string // of this one, not of another of the same name
	Partitions int
	Config     backend.Config

	revision uint64 // of the bucket
}

// catalogue is the bucket as this node knows it, with the replicas of this node.
type catalogue struct {
	mu struct {
		sync.Mutex
		collections map[string]*collection // by name
		values      map[string][]byte
		nodes       map[string]nodeRecord
		logs        map[string]logRecord // by local name
		replicas    map[string]*replica  // by local name
		revision    uint64               // of the bucket, up to which this node follows it
		changed     chan struct{}        // closed when the catalogue changes
		complete    bool                 // all that the bucket has was read once
		listeners   []func()
	}
	work chan struct{} // a token: the replicas are to be looked at
}

func (c *catalogue) init() {
	c.work = make(chan struct{}, 1)
	c.mu.collections, c.mu.values, c.mu.nodes, c.mu.replicas = map[string]*collection{}, map[string][]byte{}, map[string]nodeRecord{}, map[string]*replica{}
	c.mu.logs = map[string]logRecord{}
	c.mu.changed = make(chan struct{})
}

// end stops all replicas.
func (c *catalogue) end() {
	c.mu.Lock()
	replicas := maps.Clone(c.mu.replicas)
	c.mu.Unlock()
	for _, r := range replicas {
		r.end()
	}
}

// look asks for a look at the replicas.
func (c *catalogue) look() {
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// openCatalogue opens the bucket, makes it if it is missing, and follows it.
func (n *Backend) openCatalogue(ctx context.Context) error {
	err := n.retry(ctx, "waiting for the catalogue of the cluster", func(ctx context.Context) (err error) {
		n.kv, err = n.js.KeyValue(ctx, n.bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			if err := n.mayFound(ctx); err != nil {
				return err
			}
			n.kv, err = n.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: n.bucket, Storage: jetstream.FileStorage, Replicas: n.logReplicas(), History: 1})
		}
		if err != nil {
			return err
		}
		if _, err := n.kv.Get(ctx, originKey); errors.Is(err, jetstream.ErrKeyNotFound) {
			if err := n.mayFound(ctx); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		return n.found(ctx)
	})
	if err != nil {
		return err
	}
	if err := n.checkOrigin(ctx); err != nil {
		return err
	}
	opened := make(chan struct{})
	run, cancel := context.WithCancel(context.Background())
	n.wait.Go(func() {
		<-n.done
		cancel()
	})
	n.wait.Go(func() {
		for run.Err() == nil {
			if err := n.watch(run, sync.OnceFunc(func() { close(opened) })); err != nil && run.Err() == nil {
				n.notice(fmt.Sprintf("following the catalogue of the cluster, which is tried again: %v", err))
			}
			pause(run, retryDelay)
		}
	})
	n.wait.Go(func() { n.keepReplicas(run) })
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// originValue is the value of the embedded backend with the origin of the cluster that the folder
// is a node of.
const originValue = "cluster/origin"

// checkOrigin refuses a folder of another cluster, or a catalogue that was lost and made anew: its
// collections would be taken for dropped.
func (n *Backend) checkOrigin(ctx context.Context) error {
	values, err := n.local.Values(ctx, originValue)
	if err != nil {
		return err
	}
	switch own := string(values[originValue]); own {
	case n.origin:
		return nil
	case "":
		return n.local.SetValues(ctx, map[string][]byte{originValue: []byte(n.origin)})
	default:
		return fmt.Errorf("%w: the data folder is a node of the cluster with the origin %s, and this catalogue has the origin %s: "+
			"it is another cluster, or its catalogue was lost; nothing was changed", backend.ErrInvalid, own, n.origin)
	}
}

// watch follows the bucket. It calls opened when it has read what is there.
func (n *Backend) watch(ctx context.Context, opened func()) error {
	w, err := n.kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	seen, complete := map[string]bool{}, false
	for {
		select {
		case entry, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("the watch has ended")
			case entry == nil: // all that was there has come
				complete = true
				n.forget(seen)
				opened()
			default:
				if !complete {
					seen[entry.Key()] = true
				}
				n.take(entry)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// change changes the catalogue under its lock and tells who waits.
func (c *catalogue) change(f func()) {
	c.mu.Lock()
	f()
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
	listeners := slices.Clone(c.mu.listeners)
	c.mu.Unlock()
	c.look()
	for _, l := range listeners {
		l()
	}
}

// take brings an entry of the bucket into the catalogue.
func (n *Backend) take(entry jetstream.KeyValueEntry) {
	key, gone := entry.Key(), entry.Operation() != jetstream.KeyValuePut
	n.catalogue.change(func() {
		c := &n.catalogue.mu
		c.revision = max(c.revision, entry.Revision())
		switch {
		case strings.HasPrefix(key, collectionKey):
			name, err := nameEncoding.DecodeString(strings.TrimPrefix(key, collectionKey))
			if err != nil {
				return
			}
			if gone {
				delete(c.collections, string(name))
				return
			}
			if one, err := readCollection(entry); err == nil {
				c.collections[one.Name] = one
			} else {
				n.alarm(fmt.Sprintf("catalogue: %v", err))
			}
		case strings.HasPrefix(key, nodeKey):
			name := strings.TrimPrefix(key, nodeKey)
			var r nodeRecord
			if gone || json.Unmarshal(entry.Value(), &r) != nil {
				delete(c.nodes, name)
				return
			}
			r.revision = entry.Revision()
			c.nodes[name] = r
			if name == n.name && r.Removed {
				go n.leave(context.Background())
			}
		case strings.HasPrefix(key, logKey):
			name, ok := nameOfLogKey(key)
			if !ok {
				return
			}
			l, err := logRecord{}, error(nil)
			if gone {
				delete(c.logs, name)
			} else if l, err = readLog(entry); err != nil {
				n.alarm(fmt.Sprintf("catalogue: %v", err))
				return
			} else {
				c.logs[name] = l
			}
			if r := c.replicas[name]; r != nil {
				r.note(l)
			}
		case key == valuesKey:
			values := map[string][]byte{}
			if err := json.Unmarshal(entry.Value(), &values); err != nil {
				n.alarm(fmt.Sprintf("catalogue: values: %v", err))
				return
			}
			c.values = values
		}
	})
}

func readCollection(entry jetstream.KeyValueEntry) (*collection, error) {
	c := &collection{revision: entry.Revision()}
	if err := json.Unmarshal(entry.Value(), c); err != nil {
		return nil, fmt.Errorf("collection %s: %w", entry.Key(), err)
	}
	if c.Partitions < 1 || c.Partitions > MaxPartitions || c.ID == "" {
		return nil, fmt.Errorf("collection %s: %d partitions: allowed: 1 to %d", c.Name, c.Partitions, MaxPartitions)
	}
	return c, nil
}

// forget removes what was deleted while the node did not follow the bucket.
func (n *Backend) forget(seen map[string]bool) {
	n.catalogue.change(func() {
		c := &n.catalogue.mu
		maps.DeleteFunc(c.collections, func(name string, _ *collection) bool { return !seen[keyOf(name)] })
		c.complete = true
		maps.DeleteFunc(c.nodes, func(name string, _ nodeRecord) bool { return !seen[nodeKey+name] })
		logs := map[string]bool{}
		for key := range seen {
			if name, ok := nameOfLogKey(key); ok && strings.HasPrefix(key, logKey) {
				logs[name] = true
			}
		}
		maps.DeleteFunc(c.logs, func(name string, _ logRecord) bool { return !logs[name] })
	})
}

func keyOf(name string) string { return collectionKey + nameEncoding.EncodeToString([]byte(name)) }

// collection returns a collection by name.
func (n *Backend) collection(ctx context.Context, name string) (*collection, error) {
	if n.closed() {
		return nil, backend.ErrClosed
	}
	n.catalogue.mu.Lock()
	c := n.catalogue.mu.collections[name]
	n.catalogue.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	return c, ctx.Err()
}

// replica returns the replica of a partition on this node, nil where there is none.
func (n *Backend) replica(id string, p int) *replica {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	return n.catalogue.mu.replicas[localName(id, p)]
}

// Configure creates a collection, or replaces the config of one.
func (n *Backend) Configure(ctx context.Context, r backend.ConfigureRequest) error {
	if err := n.checkConfig(r); err != nil {
		return err
	}
	c, err := n.collection(ctx, r.Collection)
	switch {
	case r.Create && err == nil:
		return fmt.Errorf("%w: %q", backend.ErrCollectionExists, r.Collection)
	case r.Create && errors.Is(err, backend.ErrCollectionNotFound):
		return n.create(ctx, r)
	case err != nil:
		return err
	}
	next := *c
	next.Config = r.Config
	next.Config.FirstSequence = c.Config.FirstSequence // the logs begin there
	value, err := json.Marshal(next)
	if err != nil {
		return err
	}
	revision, err := n.updateKey(ctx, fmt.Sprintf("changing the settings of collection %q", c.Name), keyOf(c.Name), value, c.revision)
	if err != nil {
		return n.casError(ctx, err, c.Name)
	}
	return n.spread(ctx, revision)
}

// checkConfig refuses what replicas would refuse.
func (n *Backend) checkConfig(r backend.ConfigureRequest) error {
	if n.closed() {
		return backend.ErrClosed
	}
	switch r.Config.Quantize {
	case "", backend.QuantizeNone, backend.QuantizeInt8:
	default:
		return fmt.Errorf("%w: quantize is %q, want %s or %s", backend.ErrInvalid, r.Config.Quantize, backend.QuantizeNone, backend.QuantizeInt8)
	}
	if r.Collection == "" || len(r.Collection) > 200 {
		return fmt.Errorf("%w: a name of %d bytes: allowed: 1 to 200", backend.ErrInvalid, len(r.Collection))
	}
	if r.Config.Dimension < 1 {
		return fmt.Errorf("%w: vectors of %d components", backend.ErrInvalid, r.Config.Dimension)
	}
	if _, err := keyword.NewAnalysis(r.Config.Language); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return nil
}

// duplicateTime is how long a log recognises a message that is sent again.
const duplicateTime = 2 * time.Minute

// create makes the logs of a collection and then its entry in the catalogue.
func (n *Backend) create(ctx context.Context, r backend.ConfigureRequest) (err error) {
	c := collection{Name: r.Collection, ID: newID(), Partitions: n.o.Partitions, Config: r.Config}
	value, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := n.createLogs(ctx, &c); err != nil {
		n.removeLogs(context.WithoutCancel(ctx), &c)
		return err
	}
	revision, err := n.updateKey(ctx, fmt.Sprintf("entering collection %q in the catalogue", c.Name), keyOf(c.Name), value, 0)
	if isConflict(err) {
		n.removeLogs(context.WithoutCancel(ctx), &c)
		return fmt.Errorf("%w: %q", backend.ErrCollectionExists, c.Name)
	}
	if err != nil { // the entry may yet appear, and needs its logs
		return cmpContext(ctx, unavailable(err))
	}
	if err := n.spread(ctx, revision); err != nil {
		n.notice(fmt.Sprintf("collection %s: made, and not yet known to all nodes: %v", c.Name, err))
	}
	return nil
}

// creating is how many logs of a collection are made at the same time.
const creating = 8

// createLogs makes the logs of a collection.
func (n *Backend) createLogs(ctx context.Context, c *collection) error {
	var g errgroup.Group
	g.SetLimit(creating)
	for p := range c.Partitions {
		g.Go(func() error {
			what := fmt.Sprintf("making the log of partition %d of collection %q", p, c.Name)
			return n.steady(ctx, what, func(ctx context.Context) error {
				_, err := n.js.CreateStream(ctx, n.logConfig(c.ID, p, 0, c.Config.FirstSequence))
				return err
			})
		})
	}
	return g.Wait()
}

// removeLogs removes the logs of a collection that is not in the catalogue.
func (n *Backend) removeLogs(ctx context.Context, c *collection) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for p := range c.Partitions {
		l, err := n.storedLog(ctx, c.ID, p)
		if l.revision > 0 && err == nil {
			err = n.kv.Delete(ctx, logKeyOf(c.ID, p))
		}
		if err := errors.Join(err, n.removeGenerations(ctx, c.ID, p, max(l.Generation, l.Attempt), -1)); err != nil {
			n.notice(fmt.Sprintf("collection %s: a log that is left over: %v", c.Name, err))
		}
	}
}

// Drop removes a collection from the catalogue and then its logs.
func (n *Backend) Drop(ctx context.Context, name string) error {
	c, err := n.collection(ctx, name)
	if err != nil {
		return err
	}
	tried := false // and perhaps taken
	err = n.steady(ctx, fmt.Sprintf("dropping collection %q", name), func(ctx context.Context) error {
		err := n.kv.Delete(ctx, keyOf(name), jetstream.LastRevision(c.revision))
		if tried && isConflict(err) {
			if _, gone := n.kv.Get(ctx, keyOf(name)); errors.Is(gone, jetstream.ErrKeyNotFound) {
				return nil
			}
		}
		tried = true
		return err
	})
	if err != nil {
		return n.casError(ctx, err, name)
	}
	n.catalogue.change(func() {
		if n.catalogue.mu.collections[name] == c {
			delete(n.catalogue.mu.collections, name)
		}
	})
	n.removeLogs(context.WithoutCancel(ctx), c)
	return nil
}

// OnChange calls f, from any goroutine, when the catalogue may have changed.
func (n *Backend) OnChange(f func()) {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	n.catalogue.mu.listeners = append(n.catalogue.mu.listeners, f)
}
