package backendtest

import (
	"context"

	"searchd/index/filter"
	"searchd/search/backend"
)

// Calls makes calls of a backend with a part of a request each, as tests do.
type Calls struct{ backend.Backend }

// Create makes a collection.
func (c Calls) Create(ctx context.Context, collection string, config backend.Config) error {
	return c.Configure(ctx, backend.ConfigureRequest{Collection: collection, Create: true, Config: config})
}

// Update gives a collection another config.
func (c Calls) Update(ctx context.Context, collection string, config backend.Config) error {
	return c.Configure(ctx, backend.ConfigureRequest{Collection: collection, Config: config})
}

// Collection describes a collection.
func (c Calls) Collection(ctx context.Context, collection string) (backend.Collection, error) {
	out, err := c.Open(ctx, backend.OpenRequest{Collection: collection})
	return out.Collection, err
}

// Statistics returns what a collection knows of the words of a query.
func (c Calls) Statistics(ctx context.Context, collection string, q backend.Words) (*backend.Statistics, error) {
	out, err := c.Open(ctx, backend.OpenRequest{Collection: collection, Words: &q})
	return out.Statistics, err
}

// Apply writes.
func (c Calls) Apply(ctx context.Context, collection string, writes []backend.Write) ([]backend.Outcome, error) {
	return c.Backend.Apply(ctx, backend.ApplyRequest{Collection: collection, Writes: writes})
}

// Lookup returns documents by id.
func (c Calls) Lookup(ctx context.Context, collection string, ids []string) ([]*backend.Document, error) {
	return c.Backend.Lookup(ctx, backend.LookupRequest{Collection: collection, IDs: ids})
}

// Encoded returns a document with its vectors, and without its fields.
func (c Calls) Encoded(ctx context.Context, collection, id string) (*backend.Document, error) {
	docs, err := c.Backend.Lookup(ctx, backend.LookupRequest{Collection: collection, IDs: []string{id}, NoFields: true, Vectors: true})
	if err != nil {
		return nil, err
	}
	return docs[0], nil
}

// List returns a page of documents.
func (c Calls) List(ctx context.Context, collection, cursor string, limit int) ([]*backend.Document, string, error) {
	out, err := c.Backend.List(ctx, backend.ListRequest{Collection: collection, Cursor: cursor, Limit: limit})
	return out.Documents, out.Next, err
}

// Position returns the sequence number of the last change of a collection.
func (c Calls) Position(ctx context.Context, collection string) (uint64, error) {
	out, err := c.Changes(ctx, backend.ChangesRequest{Collection: collection})
	return out.End, err
}

// Changed returns ids of changed documents, and the sequence number to go on with.
func (c Calls) Changed(ctx context.Context, collection string, after uint64, limit int) ([]string, uint64, error) {
	out, err := c.Changes(ctx, backend.ChangesRequest{Collection: collection, After: after, Limit: limit})
	return out.IDs, out.Next, err
}

// Keep keeps the change log after a sequence number.
func (c Calls) Keep(ctx context.Context, collection string, after uint64) error {
	_, err := c.Changes(ctx, backend.ChangesRequest{Collection: collection, After: after, Keep: true})
	return err
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

// Sample returns n passages spread over a collection.
func (c Calls) Sample(ctx context.Context, collection string, n int) ([]backend.PassageVector, error) {
	out, err := c.RetrieveVectors(ctx, backend.VectorsRequest{Collection: collection, Limit: n})
	return out.Sample, err
}

// Fetch returns a page of documents.
func (c Calls) Fetch(ctx context.Context, collection string, refs []backend.Ref) ([]*backend.Document, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Documents: true})
	return out.Documents, err
}

// Cosines returns the cosines of the passages of documents.
func (c Calls) Cosines(ctx context.Context, collection string, q []float32, refs []backend.Ref) ([][]float64, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Vector: q})
	return out.Cosines, err
}

// WordScores returns the BM25 of documents.
func (c Calls) WordScores(ctx context.Context, collection string, q backend.Words, refs []backend.Ref) ([]float64, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Words: &q, Scores: true})
	return out.Scores, err
}

// WordTerms returns the shares of terms in the BM25 of documents.
func (c Calls) WordTerms(ctx context.Context, collection string, q backend.Words, refs []backend.Ref) ([][]backend.TermScore, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Words: &q, Terms: backend.AllTerms})
	return out.Terms, err
}

// Firsts returns the first value of a field of documents.
func (c Calls) Firsts(ctx context.Context, collection, field string, refs []backend.Ref) ([]*filter.Value, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, First: field})
	return out.Firsts, err
}

// Numbers returns the numbers, or dates, of a field of documents.
func (c Calls) Numbers(ctx context.Context, collection, field string, dates bool, refs []backend.Ref) ([]backend.Number, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Numbers: []backend.NumberField{{Field: field, Dates: dates}}})
	if err != nil {
		return nil, err
	}
	return out.Numbers[0], nil
}

// Passing returns which documents pass a filter.
func (c Calls) Passing(ctx context.Context, collection string, e filter.Expr, refs []backend.Ref) ([]bool, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Refs: refs, Passing: []filter.Expr{e}})
	if err != nil {
		return nil, err
	}
	return out.Passing[0], nil
}

// Vectors returns the vectors of passages.
func (c Calls) Vectors(ctx context.Context, collection string, passages []backend.PassageRef) ([][]float32, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Passages: passages, Vectors: true})
	return out.Vectors, err
}

// Names returns the names of passages.
func (c Calls) Names(ctx context.Context, collection string, passages []backend.PassageRef) ([]uint64, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Passages: passages, Names: true})
	return out.Names, err
}

// Texts returns the texts of passages.
func (c Calls) Texts(ctx context.Context, collection string, passages []backend.PassageRef) ([]backend.PassageText, error) {
	out, err := c.Backend.Fetch(ctx, backend.FetchRequest{Collection: collection, Passages: passages, Texts: true})
	return out.Texts, err
}

// Near returns terms near a word.
func (c Calls) Near(ctx context.Context, collection, word string, edits int, sel *backend.Selection) (backend.SuggestResponse, error) {
	return c.Suggest(ctx, backend.SuggestRequest{Collection: collection, Word: word, Edits: edits, Selection: sel})
}

// Beginning returns terms that begin with a word.
func (c Calls) Beginning(ctx context.Context, collection, word string, sel *backend.Selection) (backend.SuggestResponse, error) {
	return c.Suggest(ctx, backend.SuggestRequest{Collection: collection, Word: word, Beginning: true, Selection: sel})
}

// Expand returns what a query is expanded to.
func (c Calls) Expand(ctx context.Context, collection string, q backend.Words) ([]backend.Expansion, error) {
	out, err := c.Suggest(ctx, backend.SuggestRequest{Collection: collection, Expand: &q})
	return out.Expansions, err
}

// Missing returns the fields that no document has.
func (c Calls) Missing(ctx context.Context, collection string, f backend.FieldNames) (backend.FieldNames, bool, error) {
	out, err := c.Aggregate(ctx, backend.AggregateRequest{Collection: collection, Fields: f})
	return out.Missing, out.Partial, err
}

// Facets counts values.
func (c Calls) Facets(ctx context.Context, collection string, facets []backend.Facet, set *backend.Selection) ([]backend.FacetCounts, error) {
	out, err := c.Aggregate(ctx, backend.AggregateRequest{Collection: collection, Facets: facets, Selection: set})
	return out.Facets, err
}

// Order returns the first documents of a set in an order.
func (c Calls) Order(ctx context.Context, collection string, set *backend.Selection, o backend.Order) ([]backend.Ordered, error) {
	out, err := c.Aggregate(ctx, backend.AggregateRequest{Collection: collection, Selection: set, Order: &o})
	return out.Order, err
}

// IndexStats measures the indexes of a collection.
func (c Calls) IndexStats(ctx context.Context, collection string) (*backend.IndexStats, error) {
	out, err := c.Stats(ctx, backend.StatsRequest{Collection: collection})
	return out.Index, err
}

// Problems looks for faults.
func (c Calls) Problems(ctx context.Context, deep bool) ([]backend.Problem, error) {
	out, err := c.Check(ctx, backend.CheckRequest{Deep: deep})
	return out.Problems, err
}
