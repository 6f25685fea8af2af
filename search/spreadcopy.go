package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"

	"searchd/search/backend"
	"searchd/search/mapping"
)

// Bounds of what is copied at once.
const (
	spreadHeads    = 4096    // documents that are compared
	spreadPage     = 128     // documents that are read
	spreadPassages = 4096    // of some documents, whose vectors are in memory
	spreadBytes    = 8 << 20 // of their fields
	spreadReaders  = 8       // documents whose vectors are read side by side
)

// spreadRoom is how many changes of a collection there may be between the first pass and the last, so that no revision of the copy is one that a document had
// in the source meanwhile.
const spreadRoom = 1 << 32

// copy brings all collections up to date.
func (s *spread) copy(ctx context.Context) error {
	for _, c := range s.list {
		err := s.collection(ctx, c)
		if s.More && errors.Is(err, backend.ErrCollectionNotFound) {
			if _, gone := s.from.Collection(ctx, c.Name); errors.Is(gone, backend.ErrCollectionNotFound) {
				continue // dropped, or re-embedded, meanwhile
			}
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", c.name, err)
		}
	}
	return nil
}

// collection brings a collection of the copy up to date.
func (s *spread) collection(ctx context.Context, c *named) error {
	fresh, err := s.settings(ctx, c)
	if err != nil {
		return err
	}
	seen := 0
	for cursor, more := "", true; more; more = cursor != "" {
		var heads []backend.Head
		if heads, cursor, err = s.from.Heads(ctx, c.Name, cursor, spreadHeads); err != nil {
			return err
		}
		if err := s.documents(ctx, c, heads, fresh); err != nil {
			return err
		}
		seen += len(heads)
	}
	there, err := s.to.Collection(ctx, c.name)
	if err == nil && there.Documents != seen { // all that were seen are in the copy
		if err = s.remove(ctx, c); err == nil {
			there, err = s.to.Collection(ctx, c.name)
		}
	}
	c.documents, c.passages = there.Documents, there.Passages
	return err
}

// settings gives the copy a collection with the settings of the source, and reports whether it is a new one. One whose documents were made otherwise is made
// anew.
func (s *spread) settings(ctx context.Context, c *named) (fresh bool, err error) {
	config := c.Config
	there, err := s.to.Collection(ctx, c.name)
	switch {
	case errors.Is(err, backend.ErrCollectionNotFound):
	case err != nil:
		return false, err
	default:
		r, err := readRecord(there.Config)
		if err != nil {
			return false, err
		}
		if there.Config.FirstSequence >= c.Sequence && reflect.DeepEqual(r.making(), c.record.making()) {
			if bytes.Equal(there.Config.Payload, config.Payload) {
				return false, nil
			}
			config.FirstSequence = there.Config.FirstSequence
			return false, s.to.Update(ctx, c.name, config)
		}
		if err := s.to.Drop(ctx, c.name); err != nil {
			return false, err
		}
	}
	config.FirstSequence = c.Sequence // so that no revision is one that a document had before
	if s.More {
		config.FirstSequence += spreadRoom
	}
	return true, s.to.Create(ctx, c.name, config)
}

// making is a record without what may change while the collection keeps the documents, passages and vectors that it has: what acts on queries alone.
func (r record) making() record {
	r.Settings.Synonyms = nil
	r.Settings.Index.EfSearch, r.Settings.Index.TargetRecall, r.Settings.Index.Quantize = 0, 0, ""
	fields := make(mapping.Mapping, len(r.Settings.Fields))
	maps.Copy(fields, r.Settings.Fields)
	for name, f := range fields {
		f.Weight = 0
		fields[name] = f
	}
	r.Settings.Fields = fields
	r.Created = r.Created.UTC() // as it was read
	return r
}

// documents writes those of some documents that the copy does not have, or has otherwise.
func (s *spread) documents(ctx context.Context, c *named, heads []backend.Head, fresh bool) error {
	there := make([]backend.Head, len(heads))
	if !fresh {
		ids := make([]string, len(heads))
		for i, h := range heads {
			ids[i] = h.ID
		}
		var err error
		if there, err = s.to.LookupHeads(ctx, c.name, ids); err != nil {
			return err
		}
	}
	var ids []string
	passages, same := 0, int64(0)
	recut := map[string]bool{} // whose content is the same, and would not be written
	for i, h := range heads {
		if h == there[i] {
			same++
			continue
		}
		ids, passages = append(ids, h.ID), passages+h.Passages
		recut[h.ID] = there[i].ID != "" && h.Hash == there[i].Hash
		if len(ids) == spreadPage || passages >= spreadPassages {
			if err := s.write(ctx, c, ids, recut); err != nil {
				return err
			}
			ids, passages = nil, 0
		}
	}
	s.told(c, same, SpreadCounts{Same: same})
	return s.write(ctx, c, ids, recut)
}

// told adds documents to what was done.
func (s *spread) told(c *named, done int64, counts SpreadCounts) {
	c.counts.add(counts)
	s.counts.add(counts)
	s.done += done
	if s.Report != nil {
		s.Report(s.done, max(s.total, s.done), s.counts)
	}
}

// write copies documents, in parts of which the vectors are in memory.
func (s *spread) write(ctx context.Context, c *named, ids []string, recut map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	return backend.LookupPages(ctx, s.from, c.Name, ids, func(ids []string, docs []*backend.Document) error {
		for from := 0; from < len(docs); {
			passages, size, to := 0, 0, from
			for ; to < len(docs) && passages < spreadPassages && size < spreadBytes; to++ {
				if d := docs[to]; d != nil {
					passages, size = passages+len(d.Passages), size+len(d.Fields)
				}
			}
			if err := s.writePart(ctx, c, ids[from:to], docs[from:to], recut); err != nil {
				return err
			}
			from = to
		}
		return nil
	})
}

func (s *spread) writePart(ctx context.Context, c *named, ids []string, docs []*backend.Document, recut map[string]bool) error {
	writes, err := s.writes(ctx, c, ids, docs)
	if err != nil {
		return err
	}
	var batch []backend.Write
	for _, w := range writes {
		if w == nil {
			continue
		}
		if recut[w.ID] {
			batch = append(batch, backend.Write{ID: w.ID, Delete: true})
		}
		batch = append(batch, *w)
	}
	counts := SpreadCounts{}
	if len(batch) > 0 {
		outcomes, err := s.to.Apply(ctx, c.name, batch)
		if err != nil {
			return err
		}
		for i, o := range outcomes {
			switch w := batch[i]; {
			case w.Delete:
			case o.Status == backend.Updated, o.Status == backend.Created && recut[w.ID]:
				counts.Changed++
			case o.Status == backend.Created:
				counts.New++
			case o.Status == backend.Unchanged:
				counts.Same++
			default:
				return fmt.Errorf("document %s: it was not written", quoteShort(w.ID))
			}
		}
	}
	s.told(c, int64(len(docs)), counts)
	return nil
}

// writes makes writes of documents with their vectors, which are read side by side; nil for one that is gone, or is another by now.
func (s *spread) writes(ctx context.Context, c *named, ids []string, docs []*backend.Document) ([]*backend.Write, error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]*backend.Write, len(docs))
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(spreadReaders, len(docs)) {
		readers.Go(func() {
			for i := range next {
				var err error
				if out[i], err = s.writeOf(within, c, ids[i], docs[i]); err != nil {
					cancel(err) // the first counts: the others may come of it
				}
			}
		})
	}
	for i := range docs {
		next <- i
	}
	close(next)
	readers.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, context.Cause(within)
}

// writeOf makes a write of a document.
func (s *spread) writeOf(ctx context.Context, c *named, id string, d *backend.Document) (*backend.Write, error) {
	if d == nil {
		return nil, s.passed(id)
	}
	encoded, vectors, err := s.from.Encoded(ctx, c.Name, id)
	switch {
	case err != nil:
		return nil, err
	case encoded != nil && encoded.Hash == d.Hash:
		return &backend.Write{ID: id, Fields: d.Fields, Hash: d.Hash, Passages: encoded.Passages, Vectors: vectors}, nil
	case encoded != nil:
		return nil, s.passed(id)
	}
	now, err := s.from.LookupHeads(ctx, c.Name, []string{id})
	if err == nil && now[0].ID == id && now[0].Hash == d.Hash {
		return nil, fmt.Errorf("%w: document %s has a vector that cannot be read", ErrDamaged, quoteShort(id))
	}
	if err != nil {
		return nil, err
	}
	return nil, s.passed(id)
}

// passed returns nil for a document that is gone, or another, since it was listed, where another pass follows.
func (s *spread) passed(id string) error {
	if s.More {
		return nil
	}
	return fmt.Errorf("document %s has changed while it was copied: something writes to what is copied; end that, and run it again", quoteShort(id))
}

// remove deletes the documents of the copy that the source does not have.
func (s *spread) remove(ctx context.Context, c *named) error {
	for cursor, more := "", true; more; more = cursor != "" {
		there, next, err := s.to.Heads(ctx, c.name, cursor, spreadHeads)
		if err != nil {
			return err
		}
		ids := make([]string, len(there))
		for i, h := range there {
			ids[i] = h.ID
		}
		heads, err := s.from.LookupHeads(ctx, c.Name, ids)
		if err != nil {
			return err
		}
		var batch []backend.Write
		for i, h := range heads {
			if h.ID == "" {
				batch = append(batch, backend.Write{ID: ids[i], Delete: true})
			}
		}
		if len(batch) > 0 {
			if _, err := s.to.Apply(ctx, c.name, batch); err != nil {
				return err
			}
			s.told(c, 0, SpreadCounts{Deleted: int64(len(batch))})
		}
		cursor = next
	}
	return nil
}
