// Package remote speaks to a shard on another machine: [Dial] returns it as a [backend.Shard], [Handler] serves one. Both are of the same version of this
// program, or say so and refuse.
package remote

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/search/backend"
)

// Node is a shard that can be served: one whose selections can be sent.
type Node interface {
	backend.Shard
	// Documents returns the numbers of the documents of a selection.
	Documents(sel backend.Selection) *roaring.Bitmap
	// Selected makes a selection of numbers of documents; with vectors it is for Nearest, too.
	Selected(ctx context.Context, collection string, docs *roaring.Bitmap, partial, vectors bool) (backend.Selection, error)
}

// Options of [Dial].
type Options struct {
	Key string         // sent as a bearer token; empty: none
	CAs *x509.CertPool // authorities of an https URL; nil: the system's
}

// Shard is a shard behind a URL. It is safe for concurrent use.
type Shard struct {
	backend.Shard
}

// Dial returns the shard at url, such as http://10.0.0.7:8090, once it has answered.
func Dial(ctx context.Context, url string, o Options) (*Shard, error) {
	return nil, errors.ErrUnsupported
}

// HandlerOptions of [Handler].
type HandlerOptions struct {
	Key string // that requests must have; empty: none
}

// Handler serves a shard.
func Handler(n Node, o HandlerOptions) http.Handler {
	return http.NotFoundHandler()
}
