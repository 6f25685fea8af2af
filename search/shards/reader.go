package shards

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"searchd/search/backend"
)

// Name implements backend.Cluster.
func (b *Backend) Name() string { return b.name }

// Origin names what is stored here, as the copy that [searchd/search.Spread] makes of it does.
func (b *Backend) Origin() string { return b.name }

// Reader implements backend.Cluster.
func (b *Backend) Reader() bool { return b.reader }

// mayWrite returns nil where this backend may change what the shards hold.
func (b *Backend) mayWrite() error {
	if b.reader {
		return fmt.Errorf("%w: what changes them is for the server that has claimed them", backend.ErrReader)
	}
	return nil
}

// expecter is a part that answers as the shard that was seen, or a later claim of it, and as nothing else that comes to be in its place.
type expecter interface{ Expect(id backend.Identity) }

// join finds out whether the parts are those of a cluster that somebody has claimed, each in its place, or standbys of them where these are allowed.
func (b *Backend) join(ctx context.Context, standbys bool) error {
	ids, err := b.identities(ctx)
	if err != nil {
		return err
	}
	if !standbys {
		if err := b.noStandby(ids); err != nil {
			return err
		}
	}
	whole := clusterOf(ids)
	if whole.Cluster != "" {
		if err := b.placed(ids, whole); err != nil {
			return err
		}
	}
	unclaimed := whole.Epoch <= 1
	for _, id := range ids {
		whole.Complete = max(whole.Complete, id.Complete)
		unclaimed = unclaimed || id.Unclaimed
	}
	if unclaimed {
		return fmt.Errorf("%w: no server has claimed the shards yet; start the one that writes to them", backend.ErrUnavailable)
	}
	if err := b.current(ctx, ids, whole.Complete); err != nil {
		return err
	}
	for i, p := range b.parts {
		if e, ok := p.Shard.(expecter); ok {
			e.Expect(ids[i])
		}
	}
	b.name, b.epoch = whole.Cluster, math.MaxUint64
	return nil
}

// readMarks reads which collections somebody else is dropping.
func (b *Backend) readMarks() error {
	marks, err := b.parts[0].Values(droppedKey)
	if err != nil {
		return b.parts[0].failed(err)
	}
	list := make([]string, 0, len(marks))
	for key := range marks {
		list = append(list, strings.TrimPrefix(key, droppedKey))
	}
	b.dropping.replace(list)
	return nil
}

// Version names what the first part has of collections and values: it is the last to take what changes both.
func (b *Backend) Version(ctx context.Context) (string, error) {
	return one(ctx, b, "", b.parts[0], func(ctx context.Context, p *part) (string, error) { return p.Version(ctx) })
}

// stands is how far collections were last seen to be on the parts. The zero value knows none.
type stands struct {
	mu struct {
		sync.Mutex
		byName map[string]stand
	}
}

// stand is how far a collection is on each part, and with which settings.
type stand struct {
	origins   []string
	settings  []uint64 // hashes
	sequences []uint64
}

// settingsSeed makes the hashes of settings.
var settingsSeed = maphash.MakeSeed()

// stand is how far the collection was seen to be.
func (seen *sighting) stand() stand {
	n := len(seen.parts)
	out := stand{make([]string, n), make([]uint64, n), make([]uint64, n)}
	for i, c := range seen.parts {
		if c != nil {
			out.origins[i], out.settings[i], out.sequences[i] = c.Origin, maphash.Bytes(settingsSeed, c.Config.Payload), c.Sequence
		}
	}
	return out
}

// note takes note of what was seen. An answer that took long takes nothing back.
func (s *stands) note(name string, seen stand) {
	now := seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.byName == nil || len(s.mu.byName) >= keptMost {
		s.mu.byName = map[string]stand{}
	}
	if was, ok := s.mu.byName[name]; ok && slices.Equal(was.origins, now.origins) {
		now.sequences = slices.Clone(now.sequences)
		for i, n := range was.sequences {
			now.sequences[i] = max(now.sequences[i], n)
		}
	}
	s.mu.byName[name] = now
}

// of returns what was noted of a collection.
func (s *stands) of(name string) stand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.byName[name]
}

// moment says what must be the same for an answer about a collection to be kept.
func (b *Backend) moment(collection string) string {
	return momentOf(b.writes.Load(), b.stands.of(collection))
}

func momentOf(writes uint64, s stand) string { return fmt.Sprint(writes, s) }

// settings says what must be the same for the settings of a collection to be kept.
func (b *Backend) settings(collection string) string {
	return settingsOf(b.changed.Load(), b.stands.of(collection))
}

func settingsOf(changed uint64, s stand) string { return fmt.Sprint(changed, s.origins, s.settings) }
