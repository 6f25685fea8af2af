package shards

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"searchd/search/backend"
)

// droppedKey begins the values that say which collections are being dropped.
const droppedKey = "shards/dropped/"

// begin takes the right to make, change or drop a collection, until done is called.
func (b *Backend) begin(ctx context.Context) (done func(), err error) {
	if err := b.mayWrite(); err != nil {
		return nil, err
	}
	select {
	case b.changes <- struct{}{}:
		return func() {
			b.writes.Add(1)
			b.changed.Add(1)
			<-b.changes
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Create makes a collection on all shards, on the first one last: only then it is there. What an interrupted call left on the others is made anew.
func (b *Backend) Create(ctx context.Context, name string, config backend.Config) error {
	done, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	seen, err := b.look(ctx, name)
	if err != nil {
		return err
	}
	if seen.there() {
		return fmt.Errorf("%w: %q", backend.ErrCollectionExists, name)
	}
	if _, err := some(ctx, b, "", b.parts[1:], func(ctx context.Context, p *part) (none, error) {
		if seen.parts[p.index] != nil {
			if err := ignore(p.Drop(ctx, name), backend.ErrCollectionNotFound); err != nil {
				return none{}, err
			}
		}
		return none{}, p.Create(ctx, name, config)
	}); err != nil {
		return err
	}
	first := b.parts[0]
	if err := first.failed(first.Create(ctx, name, config)); err != nil {
		return err
	}
	b.unmark(ctx, name)
	return nil
}

// Update replaces the config of a collection on all shards, on the first one last. Where one fails, the others are given back what the first one has, as
// far as they answer; the next call that asks all of them about the collection, or the next opening, does the rest.
func (b *Backend) Update(ctx context.Context, name string, config backend.Config) error {
	done, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	seen, err := b.look(ctx, name)
	if err != nil {
		return err
	}
	if err := seen.found(); err != nil {
		return err
	}
	update := func(p *part) (none, error) { return none{}, p.Update(ctx, name, config) }
	if _, errs := settle(b.parts[1:], update); errors.Join(errs...) != nil {
		b.restore(ctx, name)
		return firstOf(errs)
	}
	if _, errs := settle(b.parts[:1], update); errors.Join(errs...) != nil {
		b.restore(ctx, name)
		return firstOf(errs)
	}
	b.differing.remove(name)
	return nil
}

// restore gives the shards the settings that the first one has of a collection. The caller has the right to change collections.
func (b *Backend) restore(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	b.differing.add(name)
	if err := b.agree(ctx, name); err != nil {
		b.alarm(fmt.Sprintf("collection %s has different settings on different shards, and is not searched until all of them answer: %v", name, err))
	}
}

// agree gives the shards the settings that the first one has of a collection, after which they differ no more.
func (b *Backend) agree(ctx context.Context, name string) error {
	seen, err := b.look(ctx, name)
	if err == nil {
		err = b.sameConfig(ctx, seen)
	}
	if err == nil {
		b.differing.remove(name)
	}
	return err
}

// agreed returns nil once the shards have the same settings of a collection: an answer is not of several settings. What a change that failed has left
// different is ended first.
func (b *Backend) agreed(ctx context.Context, name string) error {
	if !b.differing.has(name) {
		return nil
	}
	done, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !b.differing.has(name) { // another call did it meanwhile
		return nil
	}
	return b.agree(ctx, name)
}

// sameConfig gives those shards that have other settings of a collection than the first one the settings of that.
func (b *Backend) sameConfig(ctx context.Context, seen *sighting) error {
	if !seen.whole() {
		return nil
	}
	want := seen.parts[0].Config
	_, err := some(ctx, b, "", b.parts[1:], func(ctx context.Context, p *part) (none, error) {
		if seen.parts[p.index].Damaged != "" || equalConfigs(want, seen.parts[p.index].Config) {
			return none{}, nil
		}
		b.notice(fmt.Sprintf("collection %s: %s takes the settings that %s has", seen.name, p.name, b.parts[0].name))
		return none{}, p.Update(ctx, seen.name, want)
	})
	return err
}

func equalConfigs(a, b backend.Config) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Drop removes a collection from all shards, from the first one first: then it is gone. A value says so until it is gone from all; where one fails, the
// error tells, and Drop, Create or the next opening goes on.
func (b *Backend) Drop(ctx context.Context, name string) error {
	done, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	seen, err := b.look(ctx, name)
	if err != nil {
		return err
	}
	there := seen.there() || b.dropping.has(name) && seen.somewhere()
	if err := b.drop(ctx, seen); err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	return nil
}

// drop removes a collection from the shards that have it.
func (b *Backend) drop(ctx context.Context, seen *sighting) error {
	if len(b.parts) > 1 && seen.somewhere() {
		if err := b.parts[0].SetValues(ctx, map[string][]byte{droppedKey + seen.name: {}}); err != nil {
			return b.parts[0].failed(err)
		}
		b.dropping.add(seen.name)
	}
	remove := func(p *part) (none, error) {
		if seen.parts[p.index] == nil {
			return none{}, nil
		}
		return none{}, ignore(p.Drop(ctx, seen.name), backend.ErrCollectionNotFound)
	}
	for _, parts := range [][]*part{b.parts[:1], b.parts[1:]} {
		if _, errs := settle(parts, remove); errors.Join(errs...) != nil {
			return firstOf(errs)
		}
	}
	b.unmark(ctx, seen.name)
	return nil
}

// unmark removes the value that says that a collection is being dropped, if there is one. Where that fails, the next change of the name or the next opening
// does it.
func (b *Backend) unmark(ctx context.Context, name string) {
	if !b.dropping.has(name) {
		return
	}
	if err := b.parts[0].SetValues(ctx, map[string][]byte{droppedKey + name: nil}); err != nil {
		b.notice(fmt.Sprintf("value %s%s is removed later: %v", droppedKey, name, err))
		return
	}
	b.dropping.remove(name)
}

// Collections describes all collections, by name; those that cannot be opened come last.
func (b *Backend) Collections(ctx context.Context) ([]backend.Collection, error) {
	seen, err := b.lookAll(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]backend.Collection, 0, len(seen))
	for _, s := range seen {
		if s.there() {
			out = append(out, s.describe())
		}
	}
	slices.SortFunc(out, func(a, b backend.Collection) int {
		return cmp.Or(cmp.Compare(min(len(a.Damaged), 1), min(len(b.Damaged), 1)), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Collection describes a collection.
func (b *Backend) Collection(ctx context.Context, name string) (c backend.Collection, err error) {
	seen, err := b.look(ctx, name)
	if err == nil {
		err = seen.found()
	}
	if err != nil {
		return c, err
	}
	return seen.describe(), nil
}

// Opened describes a collection for a search by q. What the parts know of its words comes with it and is kept, see [withGlobal], unless it is known.
func (b *Backend) Opened(ctx context.Context, name string, q backend.Words) (c backend.Collection, err error) {
	key, q, err := statisticsKey(name, q)
	if err != nil || len(b.parts) == 1 || b.differing.has(name) || b.statistics.has(key, b.moment(name)) {
		return b.Collection(ctx, name)
	}
	known := make([]*backend.Statistics, len(b.parts))
	seen, err := b.lookWith(ctx, name, func(ctx context.Context, p *part) (c backend.Collection, err error) {
		c, known[p.index], err = backend.OpenFor(ctx, p.Shard, name, q)
		return c, err
	})
	if err == nil {
		err = seen.found()
	}
	if err != nil {
		return c, err
	}
	if sum, err := b.complete(ctx, name, q, known); err == nil { // else who needs them asks again, and is told why there are none
		b.statistics.keep(key, seen.moment, seen.began, sum)
	}
	return seen.describe(), nil
}

// explained is an error about a collection: that a shard has none of the name is another thing where the first one has one.
func (b *Backend) explained(ctx context.Context, name string, err error) error {
	if name == "" || len(b.parts) == 1 || !errors.Is(err, backend.ErrCollectionNotFound) {
		return err
	}
	if _, found := b.Collection(ctx, name); found != nil {
		return found
	}
	return err
}

// sighting is what the parts have of a collection.
type sighting struct {
	b     *Backend
	name  string
	parts []*backend.Collection // nil where it is not; Damaged where it cannot be opened

	began  time.Time // when look asked
	moment string    // of what was seen, see Backend.moment
}

// looks bounds how often parts are asked that do not all have a collection: it may be made or dropped meanwhile, which is done part by part, the first one last
// or first. What is dropped says so. What does not, and is like that while the first part stays as it is from before that was read to after the parts were
// asked, is like that.
const looks = 20

// looking is what was found out before the parts are asked again.
type looking struct {
	times   int
	version string // of the first part
}

// look asks all parts for a collection.
func (b *Backend) look(ctx context.Context, name string) (*sighting, error) {
	return b.lookWith(ctx, name, func(ctx context.Context, p *part) (backend.Collection, error) { return p.Collection(ctx, name) })
}

// lookWith is look by another call.
func (b *Backend) lookWith(ctx context.Context, name string, ask func(ctx context.Context, p *part) (backend.Collection, error)) (*sighting, error) {
	writes, changed, began := b.writes.Load(), b.changed.Load(), time.Now()
	for l := (looking{}); ; {
		seen, err := b.lookOnce(ctx, name, ask)
		if err != nil {
			return seen, err
		}
		own := seen.stand()
		b.stands.note(name, own)
		again := false
		if !seen.sure() {
			if again, err = b.lookAgain(ctx, &l); err != nil {
				return seen, err
			}
		}
		if !again {
			seen.began, seen.moment = began, momentOf(writes, own)
			if seen.found() == nil {
				b.configs.keep(name, settingsOf(changed, own), began, seen.parts[0].Config)
			}
			return seen, nil
		}
	}
}

// lookAgain reports whether the parts must be asked again, and reads what must be known before.
func (b *Backend) lookAgain(ctx context.Context, l *looking) (bool, error) {
	version, err := b.Version(ctx)
	if err != nil {
		return false, err
	}
	if l.times++; l.times == looks || version == l.version {
		return false, nil
	}
	l.version = version
	if !b.reader { // it knows what it drops
		return true, nil
	}
	return true, b.readMarks()
}

func (b *Backend) lookOnce(ctx context.Context, name string, ask func(ctx context.Context, p *part) (backend.Collection, error)) (*sighting, error) {
	parts, err := all(ctx, b, "", func(ctx context.Context, p *part) (*backend.Collection, error) {
		c, err := ask(ctx, p)
		var damaged *backend.DamagedError
		switch {
		case errors.Is(err, backend.ErrCollectionNotFound):
			return nil, nil
		case errors.As(err, &damaged):
			return &backend.Collection{Name: name, Damaged: damaged.Damage}, nil
		}
		return &c, err
	})
	return &sighting{b: b, name: name, parts: parts}, err
}

// lookAll asks all parts for all collections, and returns them by name.
func (b *Backend) lookAll(ctx context.Context) (list []*sighting, err error) {
	for l := (looking{}); ; {
		if list, err = b.lookAllOnce(ctx); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(s *sighting) bool { return !s.sure() }) {
			return list, nil
		}
		if again, err := b.lookAgain(ctx, &l); err != nil || !again {
			return list, err
		}
	}
}

func (b *Backend) lookAllOnce(ctx context.Context) ([]*sighting, error) {
	lists, err := all(ctx, b, "", func(ctx context.Context, p *part) ([]backend.Collection, error) { return p.Collections(ctx) })
	if err != nil {
		return nil, err
	}
	byName := map[string]*sighting{}
	for i, list := range lists {
		for _, c := range list {
			s := byName[c.Name]
			if s == nil {
				s = &sighting{b: b, name: c.Name, parts: make([]*backend.Collection, len(b.parts))}
				byName[c.Name] = s
			}
			s.parts[i] = &c
		}
	}
	out := make([]*sighting, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out, nil
}

// somewhere reports whether any part has it.
func (s *sighting) somewhere() bool {
	return slices.ContainsFunc(s.parts, func(c *backend.Collection) bool { return c != nil })
}

// whole reports whether all parts have it.
func (s *sighting) whole() bool { return !slices.Contains(s.parts, nil) }

// there reports whether it is to be seen: the first part has it, or another has documents of it that nobody dropped.
func (s *sighting) there() bool {
	if s.parts[0] != nil {
		return true
	}
	return !s.b.dropping.has(s.name) && slices.ContainsFunc(s.parts, func(c *backend.Collection) bool {
		return c != nil && (c.Documents > 0 || c.Damaged != "")
	})
}

// sure reports whether all parts have it, or it is not to be seen.
func (s *sighting) sure() bool { return s.whole() || !s.there() }

// damage says why the collection cannot be used; empty: it can.
func (s *sighting) damage() string {
	var said []string
	for i, c := range s.parts {
		switch name := s.b.parts[i].name; {
		case c == nil:
			said = append(said, name+" does not have it")
		case c.Damaged != "":
			said = append(said, name+": "+c.Damaged)
		}
	}
	return strings.Join(said, "; ")
}

// found returns nil where the collection can be used.
func (s *sighting) found() error {
	if !s.there() {
		return fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, s.name)
	}
	if damage := s.damage(); damage != "" {
		return &backend.DamagedError{Collection: s.name, Damage: damage}
	}
	return nil
}

// describe describes the collection: its sequence number is the first one and one more for each change on any part.
func (s *sighting) describe() backend.Collection {
	out := backend.Collection{Name: s.name, Damaged: s.damage()}
	var origins []string
	for _, c := range s.parts {
		if c == nil {
			continue
		}
		if len(origins) == 0 {
			out.Config, out.Sequence = c.Config, c.Config.FirstSequence
		}
		origins = append(origins, c.Origin)
		out.Documents, out.Passages, out.DamagedDocuments = out.Documents+c.Documents, out.Passages+c.Passages, out.DamagedDocuments+c.DamagedDocuments
		out.Sequence += c.Sequence - min(c.Sequence, c.Config.FirstSequence)
	}
	if out.Damaged != "" {
		out = backend.Collection{Name: s.name, Config: out.Config, Damaged: out.Damaged}
	}
	out.Origin = origins[0]
	if len(origins) > 1 {
		sum := sha256.Sum256([]byte(strings.Join(origins, " ")))
		out.Origin = hex.EncodeToString(sum[:16])
	}
	return out
}
