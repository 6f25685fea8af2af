package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"searchd/search/backend"
)

// Errors of [Spread].
var (
	ErrNotEmpty   = errors.New("not empty")         // what is to be filled holds something already
	ErrUnfinished = errors.New("copy not complete") // what is to be served was not filled to the end
)

// Whole is what [Spread] copies from and to: all documents of one data folder, or of the shards of a cluster.
type Whole interface {
	backend.Backend
	backend.Values
	backend.VectorKeeper
	backend.HeadReader
	// Origin names what is stored, whatever there is of it. A restored backup of a folder has another.
	Origin() string
}

// SpreadOptions of [Spread]. The zero value is the documented default.
type SpreadOptions struct {
	// More says that another pass follows: what is copied from may be written to meanwhile, and the copy stays marked as not complete.
	More bool
	// To is where the copy is, as shards that were copied say to whoever wants to write to them; default: a copy.
	To string
	// Report, where not nil, is told how far the pass is, from the goroutine of the caller.
	Report func(done, total int64, counts SpreadCounts)
}

// SpreadCounts says what a pass has found, in documents: those that the copy did not have, those that it had otherwise, those that it had and the source does
// not, and those that are the same.
type SpreadCounts struct{ New, Changed, Deleted, Same int64 }

func (c *SpreadCounts) add(o SpreadCounts) {
	c.New, c.Changed, c.Deleted, c.Same = c.New+o.New, c.Changed+o.Changed, c.Deleted+o.Deleted, c.Same+o.Same
}

// SpreadCollection is a collection after a pass, with the documents and passages of the copy.
type SpreadCollection struct {
	Name                string
	Documents, Passages int
	SpreadCounts
	Dropped bool // it was in the copy, and is not in the source
}

// spreadKey is the value that says of what a copy is being made, until it is complete.
const spreadKey = "spread"

// Spread makes what to holds the same as what from holds: collections with documents, passages, vectors and settings, aliases and API keys. Nothing is encoded.
// Replaced generations and tasks are not copied, and the revision of each document is a new one, larger than all before.
//
//  1. to holds nothing, or an unfinished copy of from, of an earlier state of it, or of a later one: a replica, a standby, a restored backup. It is marked as not
//     complete before anything is written, so that [Open] refuses it.
//  2. What both hold is compared, document by document, by the hashes of contents. What is new or changed is written, in the order in which it came; what is
//     gone is deleted. So a copy that was interrupted goes on when it is asked for again, and one that was made before is brought up to date.
//  3. With More that is all. What changed while it was read is for the next pass.
//  4. Else nobody may write to from: a cluster must have been claimed by from, and a claim by anybody else is an error. Where all counts are the same, its shards
//     take note that they have moved, and no claim any more. Then aliases and keys are written and the mark removed, in one transaction.
//
// A damaged value in from is an error that matches [ErrDamaged], and a from that is itself an unfinished copy [ErrUnfinished]: a copy that lacks something would
// not show it. The error matches [ErrNotEmpty] where to holds anything but an unfinished copy of from. What is in memory at a time does not depend on how much
// there is.
func Spread(ctx context.Context, from, to Whole, o SpreadOptions) ([]SpreadCollection, error) {
	s := &spread{from: from, to: to, SpreadOptions: o}
	steps := []func(context.Context) error{s.read, s.begin, s.copy, s.drop}
	if !o.More {
		steps = append([]func(context.Context) error{s.claimed}, append(steps, s.compare, s.move, s.end)...)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s.report(), nil
}

// spread is one call of Spread.
type spread struct {
	SpreadOptions
	from, to    Whole
	list        []*named          // what is copied
	gone        []string          // what was dropped
	values      map[string][]byte // copied too, in the end: an unfinished copy has none
	done, total int64
	counts      SpreadCounts
}

// named is a collection with the name that clients know it by, which is the one that it is stored by in the copy.
type named struct {
	backend.Collection
	name   string
	record record

	counts              SpreadCounts
	documents, passages int // of the copy, after the pass
}

// claimed returns an error where somebody else than from may write to the shards that are copied.
func (s *spread) claimed(ctx context.Context) error {
	c, ok := s.from.(backend.Cluster)
	if !ok {
		return nil
	}
	if c.Reader() {
		return fmt.Errorf("%w: only a pass that others follow copies from what somebody else writes to", backend.ErrReader)
	}
	for _, state := range c.States(ctx, false) {
		if state.Err != nil {
			return &ShardError{Shard: state.Name, Err: state.Err}
		}
	}
	return nil
}

// read finds out what is to be copied.
func (s *spread) read(ctx context.Context) error {
	if err := Complete(s.from); err != nil {
		return err
	}
	stored, err := s.from.Collections(ctx)
	if err != nil {
		return err
	}
	names, err := openCatalog(s.from, stored, func(string) {})
	if err != nil {
		return err
	}
	if len(names.mu.lost) > 0 {
		return fmt.Errorf("%w: what these names lead to cannot be read: %s", ErrDamaged, strings.Join(slices.Sorted(maps.Keys(names.mu.lost)), ", "))
	}
	if stored, err = s.from.Collections(ctx); err != nil { // again: those that the names lead to are there before these
		return err
	}
	for _, c := range stored {
		name, visible := names.nameOf(c.Name)
		switch {
		case !visible:
			continue
		case c.Damaged != "":
			return &DamagedError{Collection: name, Damage: c.Damaged}
		case c.DamagedDocuments > 0:
			return fmt.Errorf("%w: %q has %d documents with a damaged value", ErrDamaged, name, c.DamagedDocuments)
		}
		r, err := readRecord(c.Config)
		if err != nil {
			return fmt.Errorf("collection %s: %w", name, err)
		}
		s.total += int64(c.Documents)
		s.list = append(s.list, &named{Collection: c, name: name, record: r})
	}
	s.values = map[string][]byte{}
	for _, prefix := range []string{aliasKey, accessKey} {
		values, err := s.from.Values(prefix)
		if err != nil {
			return err
		}
		maps.Copy(s.values, values)
	}
	return nil
}

// begin marks the copy as not complete.
func (s *spread) begin(ctx context.Context) error {
	own := "of " + s.from.Origin()
	values, err := s.to.Values(spreadKey)
	if err != nil {
		return err
	}
	there, err := s.to.Collections(ctx)
	if err != nil {
		return err
	}
	if origin, ok := values[spreadKey]; ok {
		switch {
		case string(origin) == own:
			return nil
		case len(there) > 0 && !s.related(there):
			return fmt.Errorf("%w: it holds the unfinished copy of something else; name new ones, or delete these", ErrNotEmpty)
		}
	} else if err := s.empty(there); err != nil {
		return err
	}
	return s.to.SetValues(ctx, map[string][]byte{spreadKey: []byte(own)})
}

// related reports whether a copy holds a collection that was made with one that is copied: it is of an earlier or a later state of the same, as a backup has
// another origin after it was restored.
func (s *spread) related(there []backend.Collection) bool {
	made := map[string]time.Time{}
	for _, c := range s.list {
		made[c.name] = c.record.Created
	}
	return slices.ContainsFunc(there, func(c backend.Collection) bool {
		r, err := readRecord(c.Config)
		at, ok := made[c.Name]
		return err == nil && ok && at.Equal(r.Created)
	})
}

// empty returns [ErrNotEmpty] where what is to be filled holds anything.
func (s *spread) empty(there []backend.Collection) error {
	if len(there) > 0 {
		return fmt.Errorf("%w: it holds %d collections, and is no copy that another pass may follow; name new ones", ErrNotEmpty, len(there))
	}
	for _, prefix := range []string{aliasKey, accessKey, currentKey, taskKey} {
		values, err := s.to.Values(prefix)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			return fmt.Errorf("%w: it holds names, keys or tasks; name new ones", ErrNotEmpty)
		}
	}
	return nil
}

// drop removes the collections that are in the copy alone.
func (s *spread) drop(ctx context.Context) error {
	there, err := s.to.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range there {
		if slices.ContainsFunc(s.list, func(n *named) bool { return n.name == c.Name }) {
			continue
		}
		if err := s.to.Drop(ctx, c.Name); err != nil {
			return fmt.Errorf("collection %s: %w", c.Name, err)
		}
		s.gone = append(s.gone, c.Name)
	}
	return nil
}

// compare holds the copy's counts against those of what is copied.
func (s *spread) compare(context.Context) error {
	for _, c := range s.list {
		if c.documents != c.Documents || c.passages != c.Passages {
			return fmt.Errorf("collection %s: the copy has %d documents and %d passages of %d and %d: something has written to what is copied, or to the copy; run it again",
				c.name, c.documents, c.passages, c.Documents, c.Passages)
		}
	}
	return nil
}

// mover is what is copied where it takes note of that: somebody may start a server over it again.
type mover interface {
	Move(ctx context.Context, to string) error
}

// move has what is copied take no writes any more, unless somebody else has claimed it.
func (s *spread) move(ctx context.Context) error {
	if m, ok := s.from.(mover); ok {
		return m.Move(ctx, cmp.Or(s.To, "a copy"))
	}
	return nil
}

// end makes the copy complete.
func (s *spread) end(ctx context.Context) error {
	s.values[spreadKey] = nil
	return s.to.SetValues(ctx, s.values)
}

// report says what became of each collection.
func (s *spread) report() (list []SpreadCollection) {
	for _, c := range s.list {
		list = append(list, SpreadCollection{Name: c.name, Documents: c.documents, Passages: c.passages, SpreadCounts: c.counts})
	}
	for _, name := range s.gone {
		list = append(list, SpreadCollection{Name: name, Dropped: true})
	}
	return list
}

// Complete returns [ErrUnfinished] where a backend holds a copy that [Spread] has not completed.
func Complete(v backend.Values) error {
	values, err := v.Values(spreadKey)
	if _, unfinished := values[spreadKey]; unfinished {
		return fmt.Errorf("%w: `searchd spread` has not filled this to the end; run it again, without --more, or delete what it has made", ErrUnfinished)
	}
	return err
}

// complete is Complete of a backend that may keep no values.
func complete(b backend.Backend) error {
	if v, ok := b.(backend.Values); ok {
		return Complete(v)
	}
	return nil
}
