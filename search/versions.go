package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/settings"
)

// VersionSettings say which former versions of documents a collection keeps.
type VersionSettings = settings.Versions

// Versions reads former versions of documents, and brings them back. They are not searched.
type Versions struct{ engine *Engine }

// VersionsOf returns what reads the versions of an engine's documents.
func VersionsOf(e *Engine) *Versions { return &Versions{e} }

// Version is a document as it was before it was replaced or deleted.
type Version struct {
	Revision uint64          `json:"revision"`
	Until    time.Time       `json:"until"`              // when it was replaced or deleted
	Deleted  bool            `json:"deleted,omitempty"`  // what followed was a deletion
	Bytes    int             `json:"bytes"`              // of its fields
	Fields   json.RawMessage `json:"document,omitempty"` // not in lists
}

// VersionList are the versions of one document.
type VersionList struct {
	ID       string    `json:"id"`
	Revision uint64    `json:"revision,omitempty"` // of the document as it is; 0: it was deleted
	Keep     int       `json:"keep"`               // versions that the collection keeps of a document
	Versions []Version `json:"versions"`           // newest first
}

// ErrVersionNotFound is returned for a version that is not kept.
var ErrVersionNotFound = fmt.Errorf("%w in this version", ErrDocumentNotFound)

// checkVersions refuses settings that ask for versions which the backend does not keep.
func (e *Engine) checkVersions(s Settings) error {
	if _, ok := e.backend.(backend.Versioned); !ok && s.Versions != nil {
		return fmt.Errorf("%w in a cluster: settings.versions; leave it out, and documents have no former versions", ErrUnsupported)
	}
	return nil
}

// keep returns which versions a write keeps; nil without the setting.
func (r record) keep() *backend.Keep {
	v := r.Settings.Versions
	if v == nil {
		return nil
	}
	span, _ := v.Span() // checked with the settings
	now := time.Now()
	return &backend.Keep{Most: v.Keep, At: now, Since: now.Add(-span)}
}

// keep returns which versions a commit keeps. What a background ingest writes is no new version.
func (in *ingest) keep() *backend.Keep {
	if in.background {
		return nil
	}
	return in.record.keep()
}

// of returns what is kept of a document, newest first, without what is due to be removed.
func (v *Versions) of(ctx context.Context, c backend.Collection, r record, id string, revision uint64) ([]backend.Version, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	b, ok := v.engine.backend.(backend.Versioned)
	k := r.keep()
	if !ok || k == nil {
		return nil, nil
	}
	list, err := b.Versions(ctx, backend.VersionsRequest{Collection: c.Name, ID: id, Revision: revision})
	if err != nil {
		return nil, err
	}
	for i, one := range list {
		if i == k.Most || one.Until.Before(k.Since) {
			return list[:i], nil
		}
	}
	return list, nil
}

// List returns the versions of a document without their content. It returns [ErrDocumentNotFound]
// if there is no document of this id and no version either.
func (v *Versions) List(ctx context.Context, collection, id string) (*VersionList, error) {
	c, r, err := v.engine.open(ctx, collection)
	if err != nil {
		return nil, err
	}
	list, err := v.of(ctx, c, r, id, 0)
	if err != nil {
		return nil, err
	}
	now, err := v.engine.backend.Lookup(ctx, backend.LookupRequest{Collection: c.Name, IDs: []string{id}, NoFields: true})
	if err != nil && !errors.Is(err, backend.ErrDamaged) { // a version can replace a damaged document
		return nil, err
	}
	out := &VersionList{ID: id, Versions: []Version{}}
	if k := r.keep(); k != nil {
		out.Keep = k.Most
	}
	for _, one := range list {
		out.Versions = append(out.Versions, Version{Revision: one.Revision, Until: one.Until, Deleted: one.Deleted, Bytes: one.Size})
	}
	switch {
	case err == nil && now[0] != nil:
		out.Revision = now[0].Revision
	case err == nil && len(list) == 0:
		return nil, fmt.Errorf("%w: %s in collection %s, nor a former version of it", ErrDocumentNotFound, id, collection)
	}
	return out, nil
}

// Get returns a version with its fields, or [ErrVersionNotFound].
func (v *Versions) Get(ctx context.Context, collection, id string, revision uint64) (*Version, error) {
	c, r, err := v.engine.open(ctx, collection)
	if err != nil {
		return nil, err
	}
	one, err := v.get(ctx, c, r, id, revision)
	if err != nil {
		return nil, err
	}
	return &Version{Revision: one.Revision, Until: one.Until, Deleted: one.Deleted, Bytes: one.Size, Fields: one.Fields}, nil
}

func (v *Versions) get(ctx context.Context, c backend.Collection, r record, id string, revision uint64) (backend.Version, error) {
	if revision == 0 {
		return backend.Version{}, fmt.Errorf("%w: %s, revision 0", ErrVersionNotFound, id)
	}
	list, err := v.of(ctx, c, r, id, revision)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s, revision %d; list its versions to see which there are", ErrVersionNotFound, id, revision)
	}
	if err != nil {
		return backend.Version{}, err
	}
	return list[0], nil
}

// Document returns a version as a document for [Engine.Ingest], which brings it back. Where the
// vectors of the collection are given, those of the document as it is stay.
func (v *Versions) Document(ctx context.Context, collection, id string, revision uint64) (Document, error) {
	c, r, err := v.engine.open(ctx, collection)
	if err != nil {
		return Document{}, err
	}
	one, err := v.get(ctx, c, r, id, revision)
	return Document{ID: id, Fields: one.Fields, Blocks: one.Blocks, KeepVectors: true}, err
}

// Forget removes the versions of a document, which stays as it is.
func (v *Versions) Forget(ctx context.Context, collection, id string) error {
	c, _, release, err := v.engine.openToWrite(ctx, collection)
	if err != nil {
		return err
	}
	defer release()
	if err := CheckID(id); err != nil {
		return err
	}
	b, ok := v.engine.backend.(backend.Versioned)
	if !ok {
		return nil
	}
	_, err = b.TrimVersions(ctx, backend.TrimRequest{Collection: c.Name, ID: id})
	return err
}

// trimVersions removes the versions that are too old, and those of collections that keep none.
func (e *Engine) trimVersions(ctx context.Context, now time.Time) error {
	b, ok := e.backend.(backend.Versioned)
	if !ok {
		return nil
	}
	list, err := e.Collections(ctx)
	if err != nil {
		return err
	}
	for _, info := range list {
		if _, r, err := e.open(ctx, info.Name); err != nil || r.CopyOf != "" { // damaged, gone or not complete yet
			continue
		}
		c, r, release, one := e.openToWrite(ctx, info.Name)
		if one == nil {
			before := time.Time{}
			if v := r.Settings.Versions; v != nil {
				span, _ := v.Span()
				before = now.Add(-span)
			}
			_, one = b.TrimVersions(ctx, backend.TrimRequest{Collection: c.Name, Before: before})
			release()
		}
		if one != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("collection %s: %w", info.Name, one))
		}
	}
	return err
}

// copyVersions copies the versions of the old generation to the next.
func (r *reembedding) copyVersions(ctx context.Context) error {
	if b, ok := r.engine.backend.(backend.Versioned); ok && r.record.Settings.Versions != nil {
		return b.CopyVersions(ctx, r.old.Name, r.q.Next)
	}
	return nil
}
