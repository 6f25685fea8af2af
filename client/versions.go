package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Versions are the former versions of the documents of a collection, kept where its
// [Settings.Versions] say so.
type Versions struct {
	c    *Client
	path string
}

// VersionsOf returns the former versions of a collection's documents.
func VersionsOf(c *Client, collection string) *Versions {
	return &Versions{c, collectionPath(collection) + "/versions/"}
}

// Version is a document as it was before it was replaced or deleted.
type Version struct {
	Revision uint64          `json:"revision"`
	Until    time.Time       `json:"until"`              // when it was replaced or deleted
	Deleted  bool            `json:"deleted,omitempty"`  // it was deleted, not replaced
	Bytes    int             `json:"bytes"`              // of its document
	Fields   json.RawMessage `json:"document,omitempty"` // not in lists
}

// VersionList are the former versions of a document, newest first.
type VersionList struct {
	ID       string    `json:"id"`
	Revision uint64    `json:"revision,omitempty"` // of the document as it is; 0: it was deleted
	Keep     int       `json:"keep"`               // how many the collection keeps of a document
	Versions []Version `json:"versions"`
}

func (v *Versions) of(id string) string {
	if id == "." || id == ".." {
		return v.path + strings.ReplaceAll(id, ".", "%2E")
	}
	return v.path + url.PathEscape(id)
}

// List returns the versions of a document, which may have been deleted, without their fields;
// ErrNotFound.
func (v *Versions) List(ctx context.Context, id string) (*VersionList, error) {
	out := &VersionList{}
	return out, v.c.do(ctx, call{method: http.MethodGet, path: v.of(id)}, out)
}

// Get returns a version with its fields; ErrNotFound.
func (v *Versions) Get(ctx context.Context, id string, revision uint64) (*Version, error) {
	out := &Version{}
	return out, v.c.do(ctx, call{method: http.MethodGet, path: v.of(id), query: url.Values{"revision": {strconv.FormatUint(revision, 10)}}}, out)
}

// Restore writes a version again, as PutDocument would; ErrNotFound, ErrConflict, and with a
// condition ErrOutcomeUnknown.
func (v *Versions) Restore(ctx context.Context, id string, revision uint64, w Condition) (*Result, error) {
	out := &Result{}
	return out, v.c.send(ctx, call{method: http.MethodPost, path: v.of(id), header: w.header(), effect: w.effect()}, map[string]uint64{"revision": revision}, out)
}

// Delete removes all former versions of a document. The document stays as it is.
func (v *Versions) Delete(ctx context.Context, id string) error {
	return v.c.do(ctx, call{method: http.MethodDelete, path: v.of(id), effect: repeats}, nil)
}
