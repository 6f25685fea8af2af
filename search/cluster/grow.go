package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/internal/disk"
	"example.com/searchd/search/backend"
)

// A cluster of one node becomes one of several when that node is started with peers. The log of a
// NATS server that stood alone is no use to one with peers, so:
//
//  1. The node is opened alone once more, until its replicas have applied its logs. What is in the
//     catalogue goes to a file, and the folder of the log is put aside.
//  2. With its peers, it makes a catalogue with that origin, which no other node may begin. Each
//     log is entered as lost, with this node as the one that has all writes.
//  3. The logs are rebuilt from the replicas, as those that were lost are.
//
// Each step can be repeated after a crash. The old log is removed when all logs are rebuilt.

// Files of a data folder.
const (
	logFolder     = "log"
	oldLogFolder  = "log-of-one"
	catalogueFile = "catalogue-of-one.json"
)

// importedKey is the key of the bucket that marks that the catalogue of a single node is in it.
const importedKey = "imported"

// clustered reports whether a folder has the log of a NATS server with peers.
func clustered(dir string) bool {
	return exists(filepath.Join(dir, logFolder, "jetstream", "$SYS", "_js_", "_meta_"))
}

// grow prepares a folder, if it is that of a cluster of one node, to be that of one of several.
func (n *Backend) grow(ctx context.Context, dir string) error {
	switch several := len(n.o.Peers) > 1; {
	case n.o.NATS != "" || !exists(filepath.Join(dir, logFolder)):
	case !several && clustered(dir):
		return fmt.Errorf("%w: %s is the folder of a node of a cluster of several: name its peers, or migrate the cluster to a server of its own", backend.ErrInvalid, dir)
	case several && !clustered(dir):
		if err := n.putAside(ctx, dir); err != nil {
			return fmt.Errorf("making a cluster of one node one of %d: %w", len(n.o.Peers), err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, catalogueFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &n.former); err != nil || len(n.former[originKey]) == 0 {
		return fmt.Errorf("%w: %s: %w", backend.ErrDamaged, catalogueFile, err)
	}
	return nil
}

// putAside brings the replicas of a cluster of one node up to date, writes its catalogue to a file,
// and puts its log aside.
func (n *Backend) putAside(ctx context.Context, dir string) error {
	o := n.o
	o.Node, o.Listen, o.Peers, o.Security = n.name, "", nil, Security{}
	one, err := Open(ctx, dir, o)
	if err != nil {
		return err
	}
	defer one.Close()
	err = one.retry(ctx, "bringing the replicas of this node up to date", func(context.Context) error { return one.behind() })
	if err != nil {
		return err
	}
	keys, err := one.kv.Keys(ctx)
	if err != nil {
		return err
	}
	entries := map[string][]byte{}
	for _, key := range keys {
		if key != valuesKey && key != originKey && !strings.HasPrefix(key, collectionKey) && !strings.HasPrefix(key, logKey) {
			continue
		}
		entry, err := one.kv.Get(ctx, key)
		if err != nil {
			return err
		}
		entries[key] = entry.Value()
	}
	for _, c := range one.collections() {
		for p := range c.Partitions {
			l := one.log(c.ID, p)
			l.Lost, l.Complete = "the cluster had one node", map[string]uint64{n.name: 0}
			if entries[logKeyOf(c.ID, p)], err = json.Marshal(l); err != nil {
				return err
			}
		}
	}
	b, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	if err := one.Close(); err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(dir, catalogueFile), b); err != nil {
		return err
	}
	return disk.Rename(filepath.Join(dir, logFolder), filepath.Join(dir, oldLogFolder))
}

// behind reports a replica of this node that has not applied its log.
func (n *Backend) behind() error {
	for _, c := range n.collections() {
		for p := range c.Partitions {
			if r := n.replica(c.ID, p); r == nil || !r.mayServe() {
				return fmt.Errorf("%w: collection %s: partition %d: the replica is catching up", backend.ErrUnavailable, c.Name, p)
			}
		}
	}
	return n.Ready()
}

// writeSynced writes a file that a crash leaves whole or absent.
func writeSynced(name string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return disk.Rename(f.Name(), name)
}

// found makes sure that the catalogue has an origin, and the catalogue of the single node that this
// one was.
func (n *Backend) found(ctx context.Context) error {
	origin := []byte(newID())
	if n.former != nil {
		origin = n.former[originKey]
	}
	if _, err := n.kv.Create(ctx, originKey, origin); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	entry, err := n.kv.Get(ctx, originKey)
	if err != nil {
		return err
	}
	n.origin = string(entry.Value())
	if n.former == nil || n.origin != string(origin) { // then checkOrigin refuses
		return nil
	}
	if _, err := n.kv.Get(ctx, importedKey); err == nil || !errors.Is(err, jetstream.ErrKeyNotFound) {
		return err
	}
	var keys []string
	for key := range n.former {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(b, a) }) // collections after their logs
	for _, key := range keys {
		if _, err := n.kv.Create(ctx, key, n.former[key]); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
	}
	_, err = n.kv.Create(ctx, importedKey, nil)
	return err
}

// endGrowth removes the file of the catalogue that is in the bucket by now, and notes the folder of
// the old log, which is removed later.
func (n *Backend) endGrowth(dir string) {
	if n.former != nil {
		if err := os.Remove(filepath.Join(dir, catalogueFile)); err != nil {
			n.notice(fmt.Sprintf("removing %s: %v", catalogueFile, err))
		}
	}
	if old := filepath.Join(dir, oldLogFolder); exists(old) {
		n.oldLog = old
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// State of a node's folder, which it reports to nodes that would begin a catalogue.
const (
	isFresh    = "fresh"
	isMember   = "is of a cluster"
	bringsOwn  = "brings a catalogue"
	helloWait  = 500 * time.Millisecond
	helloTopic = ".hello"
)

type hello struct {
	Name, State string
}

// state returns the state of the folder.
func (n *Backend) state(ctx context.Context) (string, error) {
	values, err := n.local.Values(ctx, originValue)
	switch {
	case err != nil:
		return "", err
	case n.former != nil:
		return bringsOwn, nil
	case len(values[originValue]) > 0:
		return isMember, nil
	}
	return isFresh, nil
}

// greet answers other nodes that would begin a catalogue.
func (n *Backend) greet(ctx context.Context) error {
	state, err := n.state(ctx)
	if err != nil {
		return err
	}
	n.fresh = state == isFresh
	b, err := json.Marshal(hello{n.name, state})
	if err != nil {
		return err
	}
	_, err = n.nc.Subscribe(n.prefix+helloTopic, func(m *nats.Msg) { _ = m.Respond(b) })
	return err
}

// mayFound returns nil if this node may begin a catalogue: a new node may where all nodes are new.
func (n *Backend) mayFound(ctx context.Context) error {
	state, err := n.state(ctx)
	if err != nil || n.server == nil || len(n.o.Peers) < 2 || state != isFresh {
		return err
	}
	answers := n.nc.NewRespInbox()
	sub, err := n.nc.SubscribeSync(answers)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := n.nc.PublishRequest(n.prefix+helloTopic, answers, nil); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	for seen := map[string]bool{n.name: true}; len(seen) < len(n.o.Peers); {
		m, err := sub.NextMsgWithContext(within)
		if err != nil {
			return fmt.Errorf("%w: %d of %d nodes have answered: a new cluster needs all of them", backend.ErrUnavailable, len(seen), len(n.o.Peers))
		}
		var h hello
		if json.Unmarshal(m.Data, &h) != nil {
			continue
		}
		if h.State != isFresh {
			return fmt.Errorf("%w: node %s %s: it has the catalogue", backend.ErrUnavailable, h.Name, h.State)
		}
		seen[h.Name] = true
	}
	return nil
}

// collections returns all collections of the catalogue.
func (n *Backend) collections() (all []*collection) {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	for _, c := range n.catalogue.mu.collections {
		all = append(all, c)
	}
	return all
}
