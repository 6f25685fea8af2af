package backendtest

import (
	"context"

	"example.com/searchd/search/backend"
)

// Calls adds short forms of the calls that tests make most often.
type Calls struct{ backend.Backend }

// Create makes a collection.
func (c Calls) Create(ctx context.Context, collection string, config backend.Config) error {
	return c.Configure(ctx, backend.ConfigureRequest{Collection: collection, Create: true, Config: config})
}

// Update replaces the config of a collection.
func (c Calls) Update(ctx context.Context, collection string, config backend.Config) error {
	return c.Configure(ctx, backend.ConfigureRequest{Collection: collection, Config: config})
}

// Collection describes a collection.
func (c Calls) Collection(ctx context.Context, collection string) (backend.Collection, error) {
	out, err := c.Open(ctx, backend.OpenRequest{Collection: collection})
	return out.Collection, err
}

// Apply writes documents.
func (c Calls) Apply(ctx context.Context, collection string, writes []backend.Write) ([]backend.Outcome, error) {
	return c.Backend.Apply(ctx, backend.ApplyRequest{Collection: collection, Writes: writes})
}

// Lookup returns documents by id.
func (c Calls) Lookup(ctx context.Context, collection string, ids []string) ([]*backend.Document, error) {
	return c.Backend.Lookup(ctx, backend.LookupRequest{Collection: collection, IDs: ids})
}

// Documents returns documents by ref.
func (c Calls) Documents(ctx context.Context, collection string, refs []backend.Ref) ([]*backend.Document, error) {
	out, err := c.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Documents: true})
	return out.Documents, err
}

// Words returns the k best documents by words.
func (c Calls) Words(ctx context.Context, collection string, q backend.Words, k int, sel *backend.Selection) (backend.WordsResponse, error) {
	return c.RetrieveWords(ctx, backend.WordsRequest{Collection: collection, Words: q, Limit: k, Selection: sel})
}

// Nearest returns the k nearest passages.
func (c Calls) Nearest(ctx context.Context, collection string, q []float32, k int, sel *backend.Selection) ([]backend.PassageMatch, error) {
	out, err := c.RetrieveVectors(ctx, backend.VectorsRequest{Collection: collection, Vector: q, Limit: k, Selection: sel})
	return out.Matches, err
}

// Problems returns what a check finds.
func (c Calls) Problems(ctx context.Context, deep bool) ([]backend.Problem, error) {
	out, err := c.Check(ctx, backend.CheckRequest{Deep: deep})
	return out.Problems, err
}
