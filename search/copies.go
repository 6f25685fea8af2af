package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/settings"
	"example.com/searchd/search/wire"
)

// Copies makes copies of collections, of this engine or another, with their passages and vectors as
// they are stored. A collection that is a copy takes no other writes until the copy has ended.
type Copies struct{ engine *Engine }

// CopiesOf returns what makes copies in an engine, and of its collections.
func CopiesOf(e *Engine) *Copies { return &Copies{e} }

// Original is what a copy has in common with its collection, beside the documents.
type Original struct {
	Of        string    `json:"of"` // its incarnation
	Settings  Settings  `json:"settings"`
	Model     ModelInfo `json:"model"`
	Created   time.Time `json:"created"`
	Source    string    `json:"source"`    // where its checkpoint is, if that is not the server's own
	Precision string    `json:"precision"` // that the checkpoint runs with; empty: the server's
}

// Limits on one call.
const (
	MaxCopied     = commitDocuments // documents of a call
	maxCopiedPage = 8 << 20         // bytes that Read answers with at about
)

// Original describes a collection for [Copies.Begin].
func (c *Copies) Original(ctx context.Context, name string) (Original, error) {
	opened, r, err := c.engine.open(ctx, name)
	return Original{incarnation(opened.Origin, r.Created), r.Settings, r.Model, r.Created, r.Source, r.Precision}, err
}

// Begin makes a collection that is a copy, or goes on with one that has not ended. It returns
// [ErrCollectionExists] for any other collection of this name, and [ErrModelMismatch] where the
// engine does not have the checkpoint of the original.
func (c *Copies) Begin(ctx context.Context, name string, o Original) error {
	e := c.engine
	if err := CheckCollectionName(name); err != nil {
		return err
	}
	if o.Of == "" || len(o.Of) > 64 {
		return fault.Field("of", o.Of, "the incarnation of a collection")
	}
	if o.Model.Dimension < 1 || o.Model.Dimension > settings.MaxDimension {
		return fault.Field("model.dimension", o.Model.Dimension, fmt.Sprintf("1 to %d", settings.MaxDimension))
	}
	if err := o.Settings.Validate(o.Model.MaxTokens); err != nil {
		return err
	}
	if err := e.checkVersions(o.Settings); err != nil {
		return err
	}
	now := record{Settings: o.Settings.Canonical(), Model: o.Model, Created: o.Created, Source: o.Source, Precision: o.Precision, CopyOf: o.Of}
	if err := e.encodings.Require(name, now.made()); err != nil {
		return err
	}
	found, r, err := e.open(ctx, name)
	switch {
	case errors.Is(err, ErrCollectionNotFound):
		config, err := now.config()
		if err != nil {
			return err
		}
		return e.create(ctx, name, config)
	case err != nil:
		return err
	case r.CopyOf != o.Of:
		return fmt.Errorf("%w: %s, with %d documents; a copy needs a name that is not taken, or goes on with a copy of the same collection that has not ended", ErrCollectionExists, name, found.Documents)
	case !inference.Same(r.Model, o.Model):
		return fmt.Errorf("%w: %s, a copy from before its original was re-embedded; delete it", ErrCollectionExists, name)
	}
	_, err = e.ChangeSettings(ctx, name, func(Settings) (Settings, error) { return o.Settings, nil })
	return err
}

// End makes a copy a collection like others.
func (c *Copies) End(ctx context.Context, name, of string) error {
	opened, r, start, err := c.engine.openAlone(ctx, name)
	if err != nil {
		return err
	}
	defer start()
	if err := r.checkCopy(name, of); err != nil {
		return err
	}
	r.CopyOf = ""
	config, err := r.config()
	if err != nil {
		return err
	}
	config.FirstSequence = opened.Config.FirstSequence
	return c.engine.backend.Configure(ctx, backend.ConfigureRequest{Collection: opened.Name, Config: config})
}

// checkCopy returns an error unless the collection is a copy that has not ended.
func (r record) checkCopy(name, of string) error {
	if of == "" || r.CopyOf != of {
		return fault.Field("of", of, fmt.Sprintf("what collection %s is a copy of that has not ended: %s", name, fault.Quote(r.CopyOf)))
	}
	return nil
}

// checkCopied returns [ErrTaskRunning] while the collection is a copy that has not ended.
func (r record) checkCopied(name string) error {
	if r.CopyOf == "" {
		return nil
	}
	return fmt.Errorf("%w: collection %s is being copied from elsewhere, and takes other writes when that has ended; `searchd migrate` goes on with it", ErrTaskRunning, name)
}

// CopyDigest is the id of a document with a sum over everything that is stored of it but its
// revision. The digest is empty where there is no such document, or a value of it is damaged.
type CopyDigest struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

// List returns the digests of a page of documents, as [Engine.Documents] lists them.
func (c *Copies) List(ctx context.Context, name, cursor string, limit int) (list []CopyDigest, next string, err error) {
	opened, r, err := c.engine.open(ctx, name)
	if err != nil {
		return nil, "", err
	}
	if limit < 1 || limit > maxList {
		return nil, "", fault.Field("limit", limit, fmt.Sprintf("1 to %d", maxList))
	}
	own := incarnation(opened.Origin, r.Created)
	from, rest, err := c.engine.listFrom(ctx, opened.Name, own, cursor)
	if err != nil {
		return nil, "", err
	}
	page, err := c.engine.backend.List(ctx, backend.ListRequest{Collection: from, Cursor: rest, Limit: limit, NoFields: true})
	if errors.Is(err, ErrInvalid) {
		return nil, "", fault.Field("cursor", cursor, cursorAllowed)
	}
	if err != nil {
		return nil, "", err
	}
	ids := make([]string, len(page.Documents))
	for i, d := range page.Documents {
		ids[i] = d.ID
	}
	list, err = c.digests(ctx, from, ids)
	return list, listNext(own, from, page.Next), err
}

// Digests returns the digests of documents.
func (c *Copies) Digests(ctx context.Context, name string, ids []string) ([]CopyDigest, error) {
	opened, _, err := c.engine.open(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := checkCopiedIDs(ids); err != nil {
		return nil, err
	}
	return c.digests(ctx, opened.Name, ids)
}

func (c *Copies) digests(ctx context.Context, stored string, ids []string) (list []CopyDigest, err error) {
	list = make([]CopyDigest, 0, len(ids))
	err = c.lookup(ctx, stored, ids, func(id string, d *backend.Document) bool {
		list = append(list, CopyDigest{ID: id, Digest: digestOf(d)})
		return true
	})
	return list, err
}

func digestOf(d *backend.Document) string {
	if d == nil || d.Hash == [32]byte{} {
		return ""
	}
	return wire.Digest(d)
}

// lookup calls take with documents and their vectors, nil where there is none, until it returns
// false.
func (c *Copies) lookup(ctx context.Context, stored string, ids []string, take func(id string, d *backend.Document) bool) error {
	const some = 64 // documents in memory at once: one may have many vectors
	for len(ids) > 0 {
		r := backend.LookupRequest{Collection: stored, IDs: ids[:min(some, len(ids))], Vectors: true}
		docs, err := c.engine.backend.Lookup(ctx, r)
		if err != nil {
			return err
		}
		for i, d := range docs {
			if !take(ids[i], d) {
				return nil
			}
		}
		ids = ids[len(docs):]
	}
	return nil
}

func checkCopiedIDs(ids []string) error {
	if len(ids) > MaxCopied {
		return fault.Field("ids", len(ids), fmt.Sprintf("at most %d", MaxCopied))
	}
	for _, id := range ids {
		if err := CheckID(id); err != nil {
			return err
		}
	}
	return nil
}

// Read returns the first n of the documents with these ids, at least one, in the form of package
// stored.
func (c *Copies) Read(ctx context.Context, name string, ids []string) (copies []byte, n int, err error) {
	opened, _, err := c.engine.open(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if err := checkCopiedIDs(ids); err != nil {
		return nil, 0, err
	}
	err = c.lookup(ctx, opened.Name, ids, func(id string, d *backend.Document) bool {
		w := backend.Write{ID: id, Delete: true}
		if d != nil {
			w = wire.Of(d)
		}
		copies, n = wire.AppendCopy(copies, w), n+1
		return len(copies) < maxCopiedPage
	})
	return copies, n, err
}

// Write puts documents that [Copies.Read] returned into a copy, and deletes those that are not in
// the original.
func (c *Copies) Write(ctx context.Context, name, of string, copies []byte) error {
	e := c.engine
	opened, r, release, err := e.openToCopy(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	if err := r.checkCopy(name, of); err != nil {
		return err
	}
	writes, err := wire.Copies(copies, MaxCopied)
	if err != nil {
		return fmt.Errorf("%w: body: %w", ErrInvalid, err)
	}
	for _, w := range writes {
		if err := r.checkCopiedDocument(w); err != nil {
			return err
		}
	}
	return e.throttle.Commit(ctx, e.many, func() error {
		_, err := e.backend.Apply(ctx, backend.ApplyRequest{Collection: opened.Name, Writes: writes})
		return err
	})
}

// unitWithin is how far the squared length of a stored vector is from 1 at most.
const unitWithin = 1e-3

// checkCopiedDocument refuses what the backend would take and an ingest cannot have made.
func (r record) checkCopiedDocument(w backend.Write) error {
	if err := CheckID(w.ID); err != nil || w.Delete {
		return err
	}
	if _, err := r.Settings.Fields.SplitStored(w.Fields); err != nil {
		return fmt.Errorf("%w: document %s: %w", ErrInvalid, fault.Quote(w.ID), err)
	}
	for i, v := range w.Vectors {
		length := 0.0
		for _, x := range v {
			length += float64(x) * float64(x)
		}
		if !(math.Abs(length-1) < unitWithin) {
			return fmt.Errorf("%w: document %s: the vector of passage %d has the squared length %g, allowed: 1", ErrInvalid, fault.Quote(w.ID), i, length)
		}
	}
	return nil
}
