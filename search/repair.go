package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
)

// EncodeDamaged reads every stored byte, encodes each document with a damaged vector again, and
// reports it, or a collection without its checkpoint. Documents with damaged fields stay as they
// are.
func EncodeDamaged(ctx context.Context, e *Engine, report func(text string)) error {
	missing := map[string]bool{}     // collections without their checkpoint
	for encoded := 1; encoded > 0; { // a check lists a limited number of faults
		have, err := e.backend.Check(ctx, backend.CheckRequest{Vectors: true})
		if err != nil {
			return err
		}
		encoded = 0
		for _, stored := range slices.Sorted(maps.Keys(have.Vectors)) {
			name, visible := e.catalog.NameOf(stored)
			if !visible || missing[stored] {
				continue
			}
			n, err := e.encodeAgain(ctx, name, have.Vectors[stored], report)
			if errors.Is(err, ErrModelMismatch) || errors.Is(err, ErrUnsupported) {
				missing[stored] = true
				report(fmt.Sprintf("not encoded again: %v", err))
			} else if err != nil {
				return err
			}
			encoded += n
		}
	}
	return nil
}

// encodeAgain encodes stored documents again and returns how many it could read.
func (e *Engine) encodeAgain(ctx context.Context, name string, ids []string, report func(text string)) (n int, err error) {
	c, r, release, err := e.openToWrite(ctx, name)
	if err != nil {
		return 0, err
	}
	defer release()
	if r.Settings.GivenVectors() {
		return 0, fmt.Errorf("%w: the vectors of collection %s are given; write these documents again with them: %s", ErrUnsupported, fault.Quote(name), fault.Short(strings.Join(ids, ", ")))
	}
	enc, err := e.encodings.Of(name, r.made())
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		docs, err := e.backend.Lookup(ctx, backend.LookupRequest{Collection: c.Name, IDs: []string{id}})
		if errors.Is(err, backend.ErrDamaged) || err == nil && docs[0] == nil {
			continue
		}
		if err == nil {
			in := &ingest{engine: e, collection: c, record: r, encoding: enc, pace: e.many, background: true, seen: map[string]bool{}}
			err = in.putStored(ctx, docs)
		}
		if err != nil {
			return n, err
		}
		n++
		report(fmt.Sprintf("encoded again: collection %q: document %q", name, id))
	}
	return n, nil
}

// putStored writes documents as they are stored, encoded again. What is there with the same content
// is passed over.
func (in *ingest) putStored(ctx context.Context, docs []*backend.Document) error {
	batch := make([]Document, len(docs))
	for i, d := range docs {
		batch[i] = Document{ID: d.ID, Fields: d.Fields, Blocks: d.Blocks, KeepVectors: true}
	}
	for len(batch) > 0 {
		n := in.take(batch)
		results := make([]ItemResult, n)
		items, err := in.prepare(ctx, batch[:n], results)
		if err == nil {
			err = in.apply(ctx, items, results)
		}
		if err != nil {
			return err
		}
		for _, res := range results {
			if res.Err != nil {
				return fmt.Errorf("document %s: %w", fault.Quote(res.ID), res.Err)
			}
		}
		batch = batch[n:]
	}
	return nil
}
