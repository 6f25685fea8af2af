package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
}

// spreadKey is the value that says of what a copy is being made, until it is complete.
const spreadKey = "spread"

// Bounds of what is copied at once.
const (
	spreadPage     = 128     // documents
	spreadPassages = 4096    // of some documents, whose vectors are in memory
	spreadBytes    = 8 << 20 // of their fields
)

// Spread copies the collections of one backend into another that is empty: documents with passages and vectors, settings, aliases and API keys. Nothing is
// encoded. Replaced generations and tasks are not copied, and the revision of each document is a new one, larger than all before.
//
//  1. What is to be filled is marked as not complete, so that [Open] refuses it.
//  2. Documents are written in the order in which they came. One that is there with the same content is passed over, so that a copy that was interrupted
//     goes on when it is asked for again.
//  3. Where all counts are the same, aliases and keys are written and the mark removed, in one transaction.
//
// report, which may be nil, is told how many documents are done, from the goroutine of the caller. A damaged value in from is an error that matches
// [ErrDamaged]: a copy that lacks something would not show it. to matches [ErrNotEmpty] where it holds anything but an unfinished copy of from.
func Spread(ctx context.Context, from, to Whole, report func(done, total int64)) (collections []CollectionInfo, err error) {
	s := &spread{from: from, to: to, report: report}
	if s.report == nil {
		s.report = func(int64, int64) {}
	}
	for _, step := range []func(context.Context) error{s.read, s.begin, s.copy, s.compare, s.end} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s.infos()
}

// spread is one call of Spread.
type spread struct {
	from, to    Whole
	report      func(done, total int64)
	list        []named           // what is copied
	values      map[string][]byte // too
	origin      string            // of from
	done, total int64
}

// named is a collection with the name that clients know it by, which is the one that it is stored by in the copy.
type named struct {
	backend.Collection
	name string
}

// read finds out what is to be copied.
func (s *spread) read(ctx context.Context) error {
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
		s.origin = "of " + c.Origin
		s.total += int64(c.Documents)
		s.list = append(s.list, named{c, name})
	}
	s.values = map[string][]byte{spreadKey: nil}
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
	values, err := s.to.Values(spreadKey)
	if err != nil {
		return err
	}
	if origin, ok := values[spreadKey]; ok {
		if string(origin) != s.origin {
			return fmt.Errorf("%w: it holds the unfinished copy of something else; name new folders, or delete these", ErrNotEmpty)
		}
		return nil
	}
	there, err := s.to.Collections(ctx)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("%w: it holds %d collections; name new folders", ErrNotEmpty, len(there))
	}
	for _, prefix := range []string{aliasKey, accessKey, currentKey, taskKey} {
		values, err := s.to.Values(prefix)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			return fmt.Errorf("%w: it holds names, keys or tasks; name new folders", ErrNotEmpty)
		}
	}
	return s.to.SetValues(ctx, map[string][]byte{spreadKey: []byte(s.origin)})
}

// copy makes the collections and fills them.
func (s *spread) copy(ctx context.Context) error {
	for _, c := range s.list {
		config := c.Config
		config.FirstSequence = c.Sequence // so that no revision is one that a document had before
		err := s.to.Create(ctx, c.name, config)
		if errors.Is(err, backend.ErrCollectionExists) {
			err = s.same(ctx, c)
		}
		if err == nil {
			err = s.documents(ctx, c)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", c.name, err)
		}
	}
	return nil
}

// same returns nil where a collection of an earlier run has the settings of now.
func (s *spread) same(ctx context.Context, c named) error {
	there, err := s.to.Collection(ctx, c.name)
	if err == nil && !bytes.Equal(there.Config.Payload, c.Config.Payload) {
		err = s.changed()
	}
	return err
}

func (s *spread) changed() error {
	return fmt.Errorf("%w: what is copied has changed since the copy was begun; delete the new folders and begin again", ErrNotEmpty)
}

// documents copies the documents of a collection.
func (s *spread) documents(ctx context.Context, c named) error {
	for cursor, first := "", true; first || cursor != ""; first = false {
		docs, next, err := s.from.List(ctx, c.Name, cursor, spreadPage)
		if err != nil {
			return err
		}
		if err := s.page(ctx, c, docs); err != nil {
			return err
		}
		cursor = next
		s.done += int64(len(docs))
		s.report(s.done, s.total)
	}
	return nil
}

// page copies some documents, those that are not there yet.
func (s *spread) page(ctx context.Context, c named, docs []*backend.Document) error {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	there, err := s.to.Lookup(ctx, c.name, ids)
	if err != nil {
		return err
	}
	var writes []backend.Write
	passages, size := 0, 0
	flush := func() error {
		outcomes, err := s.to.Apply(ctx, c.name, writes)
		for i, o := range outcomes {
			if o.Status != backend.Created && o.Status != backend.Updated && o.Status != backend.Unchanged {
				return fmt.Errorf("document %s: it was not written", quoteShort(writes[i].ID))
			}
		}
		writes, passages, size = nil, 0, 0
		return err
	}
	for i, d := range docs {
		if there[i] != nil && there[i].Hash == d.Hash {
			continue
		}
		encoded, vectors, err := s.from.Encoded(ctx, c.Name, d.ID)
		if err != nil {
			return err
		}
		if encoded == nil || encoded.Hash != d.Hash {
			return fmt.Errorf("%w: document %s has a vector that cannot be read", ErrDamaged, quoteShort(d.ID))
		}
		writes = append(writes, backend.Write{ID: d.ID, Fields: d.Fields, Hash: d.Hash, Passages: encoded.Passages, Vectors: vectors})
		if passages, size = passages+len(vectors), size+len(d.Fields); passages >= spreadPassages || size >= spreadBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return flush()
}

// compare holds the copy's counts against those of what is copied.
func (s *spread) compare(ctx context.Context) error {
	there, err := s.to.Collections(ctx)
	if err != nil {
		return err
	}
	if len(there) != len(s.list) {
		return s.changed()
	}
	for _, c := range s.list {
		copied, err := s.to.Collection(ctx, c.name)
		if err != nil {
			return err
		}
		if copied.Documents != c.Documents || copied.Passages != c.Passages {
			return fmt.Errorf("collection %s: the copy has %d documents and %d passages of %d and %d: %w", c.name, copied.Documents, copied.Passages, c.Documents, c.Passages, s.changed())
		}
	}
	return nil
}

// end makes the copy complete.
func (s *spread) end(ctx context.Context) error { return s.to.SetValues(ctx, s.values) }

// infos describes what was copied.
func (s *spread) infos() (list []CollectionInfo, err error) {
	for _, c := range s.list {
		r, err := readRecord(c.Config)
		if err != nil {
			return nil, err
		}
		list = append(list, CollectionInfo{Name: c.name, Settings: r.Settings, Model: r.Model, Documents: c.Documents, Passages: c.Passages, Created: r.Created})
	}
	return list, nil
}

// complete returns [ErrUnfinished] where a backend holds a copy that was interrupted.
func complete(b backend.Backend) error {
	v, ok := b.(backend.Values)
	if !ok {
		return nil
	}
	values, err := v.Values(spreadKey)
	if _, unfinished := values[spreadKey]; unfinished {
		return fmt.Errorf("%w: `searchd spread` was interrupted while it filled this; run it again, or delete what it has made", ErrUnfinished)
	}
	return err
}
