package embedded

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"searchd/search/backend"
	"searchd/store"
)

// A data folder with a marker is a replica's: a copy of another one, the primary's, and of what was changed there since. It holds nothing of
// its own but values under localPrefix.
//
//  1. Nobody writes to it but Take and Leave; everybody else gets [backend.ErrReplica].
//  2. Its collections have the numbers, and their documents the revisions, that they have at the primary.
//  3. Promote removes the marker and with it what makes the folder a replica's, in one transaction.

const (
	localPrefix = "local/"
	markerKey   = localPrefix + "replica"
)

// readMarker returns what the marker of a store says; ok is false where it has none. One that is damaged says nothing.
func readMarker(s *store.Store) (m backend.Marker, ok bool, err error) {
	values, err := s.Values(markerKey) // Value would take a damaged neighbour for it
	if errors.Is(err, store.ErrCorrupt) {
		return m, true, nil
	}
	value, ok := values[markerKey]
	if err == nil && ok {
		err = json.Unmarshal(value, &m)
	}
	if err != nil {
		return m, ok, fmt.Errorf("value %q: %w", markerKey, err)
	}
	return m, ok, nil
}

// Marker says what the folder follows; nil where it is no replica's.
func (b *Backend) Marker() *backend.Marker { return b.marker.Load() }

// own returns nil where the folder is no replica's.
func (b *Backend) own() error { return ownOf(b.marker.Load()) }

func ownOf(m *backend.Marker) error {
	if m == nil {
		return nil
	}
	return fmt.Errorf("%w: it follows %s; send writes there, or make this one a primary by starting it without --follow", backend.ErrReplica, m.URL)
}

// SetMarker changes what the marker of a replica says.
func (b *Backend) SetMarker(ctx context.Context, m backend.Marker) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := b.store.SetValue(ctx, markerKey, value); err != nil {
		return translate(err)
	}
	b.marker.Store(&m)
	return nil
}

// promote makes a replica's folder one of its own; that of a standby the shard, for somebody to claim.
func (b *Backend) promote(ctx context.Context) error {
	values, err := b.store.Values(localPrefix)
	if damaged := (*store.ValuesError)(nil); err != nil && !errors.As(err, &damaged) {
		return err
	} else if damaged != nil {
		for _, key := range damaged.Keys {
			values[key] = nil
		}
	}
	if len(values) == 0 {
		return nil
	}
	shard, err := unclaimed(b.store)
	if err != nil {
		return err
	}
	m, _, _ := readMarker(b.store) // one that cannot be read names nobody
	for key := range values {
		values[key] = nil
	}
	if shard != nil {
		values[shardKey] = shard
	}
	if err := b.store.SetValues(ctx, values); err != nil {
		return err
	}
	b.alarm(fmt.Sprintf("this was a replica of %s and is a primary from here on: nothing must be written to the old one any more", cmp.Or(m.URL, "another server")))
	return os.RemoveAll(filepath.Join(b.dir, copyFolder))
}

// Promote is [Options.Promote] of a folder that is open already.
func (b *Backend) Promote(ctx context.Context) error {
	if b.Marker() == nil {
		return nil
	}
	if err := b.promote(ctx); err != nil {
		return translate(err)
	}
	b.marker.Store(nil)
	return nil
}

// Stands are the sequence numbers of the collections, by their numbers.
func (b *Backend) Stands() map[uint32]uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	after := make(map[uint32]uint64, len(b.mu.byName))
	for _, c := range b.mu.byName {
		after[c.id] = c.seq.Load()
	}
	for _, a := range b.mu.apart {
		if b.follows(a) {
			after[a.id] = a.seq
		}
	}
	return after
}

// follows reports whether the store takes changes for a collection that is set apart: nothing is damaged, or the primary has the damage too. Of any
// other a copy is wanted.
func (b *Backend) follows(a *apart) bool {
	m := b.Marker()
	return a.whole != nil || m != nil && slices.Contains(m.Damaged, a.id)
}

// unopened returns a collection that is set apart and followed; nil for any other.
func (b *Backend) unopened(name string) *apart {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if a := b.mu.apart[name]; a != nil && b.follows(a) {
		return a
	}
	return nil
}

// nameOf returns the name of a collection by its number.
func (b *Backend) nameOf(id uint32) (string, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for name, c := range b.mu.byName {
		if c.id == id {
			return name, nil
		}
	}
	for name, a := range b.mu.apart {
		if a.id == id {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: number %d", backend.ErrCollectionNotFound, id)
}

// Take writes what a primary has sent, in an order in which no value names what is not there: collections and their changes; when all of them are there,
// values. News may come in parts, the last of which has All. It reports whether collections have come, or others of their settings, and the keys of the
// values that have changed; after an error, those of before. What [Backend.Gone] returns then is for the caller to drop with [Backend.Leave]. After an
// error the folder is as it was before the step that failed, and its follower can ask again.
func (b *Backend) Take(ctx context.Context, n *store.News) (adopted bool, values []string, err error) {
	if b.Marker() == nil {
		return false, nil, errors.ErrUnsupported
	}
	for _, c := range n.Collections {
		changed, err := b.adopt(ctx, c)
		adopted = adopted || changed // also where it could not be opened
		if err != nil {
			return adopted, nil, err
		}
	}
	for rest := n.Entries; len(rest) > 0; {
		k := 1
		for k < len(rest) && rest[k].Collection == rest[0].Collection {
			k++
		}
		if err := b.replay(ctx, rest[:k]); err != nil {
			return adopted, nil, err
		}
		rest = rest[k:]
	}
	if n.All == nil || n.Behind > 0 {
		return adopted, nil, nil
	}
	values, err = b.settle(ctx, n.Values, n.Partial)
	return adopted, values, err
}

// adopt makes a collection of the primary's, or gives it the settings that it has there, and reports whether it has not had them already. One that
// had its name before is gone there, and goes here too.
func (b *Backend) adopt(ctx context.Context, s store.Stand) (changed bool, err error) {
	have, err := b.store.CollectionByID(s.ID)
	if err == nil && have.Name == s.Name && have.Generation == s.Generation && bytes.Equal(have.Settings, s.Settings) {
		return false, nil
	}
	var config backend.Config
	if err := json.Unmarshal(s.Settings, &config); err != nil {
		return false, fmt.Errorf("%w: settings of collection %q: %w", backend.ErrInvalid, s.Name, err)
	}
	if err := checkConfig(config); err != nil {
		return false, err
	}
	done, err := b.begin(ctx, s.Name)
	if err != nil {
		return false, err
	}
	defer done()
	if id, err := b.number(s.Name); err == nil && id != s.ID {
		if err := b.drop(ctx, s.Name); err != nil {
			return false, err
		}
	}
	if err := b.store.Adopt(ctx, s.Collection, s.Seq); err != nil {
		return false, translate(err)
	}
	err = b.reopen(context.WithoutCancel(ctx), s.Collection)
	if b.unopened(s.Name) != nil {
		return true, nil // it takes changes all the same
	}
	return true, err
}

// replay commits changes of one collection as the primary has them, and then brings the derived indexes up to date, as Apply does.
func (b *Backend) replay(ctx context.Context, entries []store.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	name, err := b.nameOf(entries[0].Collection)
	if err != nil {
		return translate(err)
	}
	if done, err := b.replayUnopened(ctx, name, entries); done || err != nil {
		return err
	}
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	writes, err := writesOf(entries, c.id, c.config.Load().Dimension)
	if err != nil {
		return err
	}
	_, err = c.commit(ctx, writes, func() ([]store.Outcome, uint64, error) { return c.store.Replay(ctx, c.id, entries) })
	return err
}

// replayUnopened is replay for a collection that cannot be opened now: the store takes the changes, and the opening finds them in its log.
// done is false for any other collection, of which nothing is written.
func (b *Backend) replayUnopened(ctx context.Context, name string, entries []store.Entry) (done bool, err error) {
	if b.unopened(name) == nil {
		return false, nil
	}
	end, err := b.begin(ctx, name) // who opens it meanwhile comes first
	if err != nil {
		return false, err
	}
	defer end()
	a := b.unopened(name)
	if a == nil {
		return false, nil
	}
	if _, err := writesOf(entries, a.id, a.config.Dimension); err != nil {
		return false, err
	}
	_, seq, err := b.store.Replay(ctx, a.id, entries)
	if err != nil {
		return false, translate(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.seq = seq
	return true, nil
}

// writesOf are the writes that changes of one collection came from, as far as the indexes ask.
func writesOf(entries []store.Entry, collection uint32, dimension int) (writes []backend.Write, err error) {
	writes = make([]backend.Write, len(entries))
	for i, e := range entries {
		if e.Collection != collection {
			return nil, fmt.Errorf("%w: changes of two collections", backend.ErrInvalid)
		}
		if writes[i], err = writeOf(e, dimension); err != nil {
			return nil, err
		}
	}
	return writes, nil
}

// writeOf is the write that a change came from.
func writeOf(e store.Entry, dimension int) (backend.Write, error) {
	if e.Document == nil {
		return backend.Write{ID: e.ID, Delete: true}, nil
	}
	w := backend.Write{ID: e.ID, Fields: e.Document.Fields, Vectors: e.Vectors}
	return w, checkVectors(w, len(e.Document.Passages), dimension)
}

// settle gives a replica the values that the primary has, all at once; those that are not among them go, unless partial. It returns the keys of
// those that were others before.
func (b *Backend) settle(ctx context.Context, values map[string][]byte, partial bool) (changed []string, err error) {
	have, err := b.store.Values("")
	if damaged := (*store.ValuesError)(nil); err != nil && !errors.As(err, &damaged) {
		return nil, translate(err)
	} else if damaged != nil {
		for _, key := range damaged.Keys {
			have[key] = nil // another than whatever the primary has
		}
	}
	change := map[string][]byte{}
	for key, value := range values {
		if strings.HasPrefix(key, localPrefix) {
			return nil, fmt.Errorf("%w: value %.80q is this one's own", backend.ErrInvalid, key)
		}
		if old, ok := have[key]; !ok || old == nil || !bytes.Equal(old, value) {
			change[key] = slices.Clip(append([]byte{}, value...)) // not nil
		}
	}
	for key := range have {
		if _, ok := values[key]; !ok && !partial && !strings.HasPrefix(key, localPrefix) {
			change[key] = nil
		}
	}
	if len(change) == 0 {
		return nil, nil
	}
	if err := b.store.SetValues(ctx, change); err != nil {
		return nil, translate(err)
	}
	return slices.Sorted(maps.Keys(change)), nil
}

// Gone returns the collections that are not among those of the primary, where the news tell of all that it has.
func (b *Backend) Gone(n *store.News) ([]store.Collection, error) {
	if n.All == nil || n.Behind > 0 || n.Partial {
		return nil, nil
	}
	list, err := b.store.Collections()
	if damaged := (*store.CollectionsError)(nil); err != nil && !errors.As(err, &damaged) {
		return nil, translate(err)
	}
	return slices.DeleteFunc(list, func(c store.Collection) bool { return slices.Contains(n.All, c.ID) }), nil
}

// Leave drops a collection that is gone at the primary, unless it is gone here too.
func (b *Backend) Leave(ctx context.Context, c store.Collection) error {
	done, err := b.begin(ctx, c.Name)
	if err != nil {
		return err
	}
	defer done()
	if id, err := b.number(c.Name); err != nil || id != c.ID {
		return nil
	}
	return b.drop(ctx, c.Name)
}
