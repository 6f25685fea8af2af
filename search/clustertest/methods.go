package clustertest

import (
	"context"

	"searchd/index/filter"
	"searchd/search/backend"
)

// The methods of backend.Cluster that ask shards are those of the shard, after the hook.

func (c *Cluster) Create(ctx context.Context, name string, config backend.Config) error {
	return hooked0(ctx, c, "Create", func() error { return c.shard.Create(ctx, name, config) })
}

func (c *Cluster) Update(ctx context.Context, name string, config backend.Config) error {
	return hooked0(ctx, c, "Update", func() error { return c.shard.Update(ctx, name, config) })
}

func (c *Cluster) Drop(ctx context.Context, name string) error {
	return hooked0(ctx, c, "Drop", func() error { return c.shard.Drop(ctx, name) })
}

func (c *Cluster) Collections(ctx context.Context) ([]backend.Collection, error) {
	return hooked(ctx, c, "Collections", func() ([]backend.Collection, error) { return c.shard.Collections(ctx) })
}

func (c *Cluster) Collection(ctx context.Context, name string) (backend.Collection, error) {
	return hooked(ctx, c, "Collection", func() (backend.Collection, error) { return c.shard.Collection(ctx, name) })
}

func (c *Cluster) Apply(ctx context.Context, collection string, writes []backend.Write) ([]backend.Outcome, error) {
	return hooked(ctx, c, "Apply", func() ([]backend.Outcome, error) { return c.shard.Apply(ctx, collection, writes) })
}

func (c *Cluster) Lookup(ctx context.Context, collection string, ids []string) ([]*backend.Document, error) {
	return hooked(ctx, c, "Lookup", func() ([]*backend.Document, error) { return c.shard.Lookup(ctx, collection, ids) })
}

func (c *Cluster) Fetch(ctx context.Context, collection string, refs []backend.Ref) ([]*backend.Document, error) {
	return hooked(ctx, c, "Fetch", func() ([]*backend.Document, error) { return c.shard.Fetch(ctx, collection, refs) })
}

func (c *Cluster) SetValues(ctx context.Context, values map[string][]byte) error {
	return hooked0(ctx, c, "SetValues", func() error { return c.shard.SetValues(ctx, values) })
}

func (c *Cluster) Nearest(ctx context.Context, collection string, q []float32, k int, sel backend.Selection) ([]backend.PassageMatch, error) {
	return hooked(ctx, c, "Nearest", func() ([]backend.PassageMatch, error) { return c.shard.Nearest(ctx, collection, q, k, sel) })
}

func (c *Cluster) Cosines(ctx context.Context, collection string, q []float32, refs []backend.Ref) ([][]float64, error) {
	return hooked(ctx, c, "Cosines", func() ([][]float64, error) { return c.shard.Cosines(ctx, collection, q, refs) })
}

func (c *Cluster) Vectors(ctx context.Context, collection string, passages []backend.PassageRef) ([][]float32, error) {
	return hooked(ctx, c, "Vectors", func() ([][]float32, error) { return c.shard.Vectors(ctx, collection, passages) })
}

func (c *Cluster) Names(ctx context.Context, collection string, passages []backend.PassageRef) ([]uint64, error) {
	return hooked(ctx, c, "Names", func() ([]uint64, error) { return c.shard.Names(ctx, collection, passages) })
}

func (c *Cluster) Sample(ctx context.Context, collection string, n int) ([]backend.PassageVector, error) {
	return hooked(ctx, c, "Sample", func() ([]backend.PassageVector, error) { return c.shard.Sample(ctx, collection, n) })
}

func (c *Cluster) Select(ctx context.Context, collection string, s backend.Subset) (backend.Selection, error) {
	return hooked(ctx, c, "Select", func() (backend.Selection, error) { return c.shard.Select(ctx, collection, s) })
}

func (c *Cluster) Words(ctx context.Context, collection string, q backend.Words, k int, sel backend.Selection) (backend.WordMatches, error) {
	return hooked(ctx, c, "Words", func() (backend.WordMatches, error) { return c.shard.Words(ctx, collection, q, k, sel) })
}

func (c *Cluster) WordScores(ctx context.Context, collection string, q backend.Words, refs []backend.Ref) ([]float64, error) {
	return hooked(ctx, c, "WordScores", func() ([]float64, error) { return c.shard.WordScores(ctx, collection, q, refs) })
}

func (c *Cluster) WordTerms(ctx context.Context, collection string, q backend.Words, refs []backend.Ref) ([][]backend.TermScore, error) {
	return hooked(ctx, c, "WordTerms", func() ([][]backend.TermScore, error) { return c.shard.WordTerms(ctx, collection, q, refs) })
}

func (c *Cluster) Legs(ctx context.Context, collection string, q backend.Legs, sel backend.Selection) (backend.LegMatches, error) {
	return hooked(ctx, c, "Legs", func() (backend.LegMatches, error) { return backend.FindLegs(ctx, c.shard, collection, q, sel) })
}

func (c *Cluster) Texts(ctx context.Context, collection string, passages []backend.PassageRef) ([]backend.PassageText, error) {
	return hooked(ctx, c, "Texts", func() ([]backend.PassageText, error) { return backend.ReadTexts(ctx, c.shard, collection, passages) })
}

func (c *Cluster) Shown(ctx context.Context, collection string, refs []backend.Ref, q backend.Show) ([]backend.Shown, error) {
	return hooked(ctx, c, "Shown", func() ([]backend.Shown, error) { return backend.ShowDocuments(ctx, c.shard, collection, refs, q) })
}

func (c *Cluster) Opened(ctx context.Context, name string, _ backend.Words) (backend.Collection, error) {
	return c.Collection(ctx, name)
}

func (c *Cluster) Near(ctx context.Context, collection, word string, edits int, sel backend.Selection) (backend.NearTerms, error) {
	return hooked(ctx, c, "Near", func() (backend.NearTerms, error) { return c.shard.Near(ctx, collection, word, edits, sel) })
}

func (c *Cluster) Beginning(ctx context.Context, collection, word string, sel backend.Selection) (backend.NearTerms, error) {
	return hooked(ctx, c, "Beginning", func() (backend.NearTerms, error) { return c.shard.Beginning(ctx, collection, word, sel) })
}

func (c *Cluster) Set(ctx context.Context, collection string, sel backend.Selection, refs []backend.Ref) (backend.Selection, error) {
	return hooked(ctx, c, "Set", func() (backend.Selection, error) { return c.shard.Set(ctx, collection, sel, refs) })
}

func (c *Cluster) Refs(ctx context.Context, collection string, set backend.Selection, from backend.Ref, n int) ([]backend.Ref, error) {
	return hooked(ctx, c, "Refs", func() ([]backend.Ref, error) { return c.shard.Refs(ctx, collection, set, from, n) })
}

func (c *Cluster) Facets(ctx context.Context, collection string, facets []backend.Facet, set backend.Selection) ([]backend.FacetCounts, error) {
	return hooked(ctx, c, "Facets", func() ([]backend.FacetCounts, error) { return c.shard.Facets(ctx, collection, facets, set) })
}

func (c *Cluster) Firsts(ctx context.Context, collection, field string, refs []backend.Ref) ([]*filter.Value, error) {
	return hooked(ctx, c, "Firsts", func() ([]*filter.Value, error) { return c.shard.Firsts(ctx, collection, field, refs) })
}

func (c *Cluster) Passing(ctx context.Context, collection string, e filter.Expr, refs []backend.Ref) ([]bool, error) {
	return hooked(ctx, c, "Passing", func() ([]bool, error) { return c.shard.Passing(ctx, collection, e, refs) })
}

func (c *Cluster) Numbers(ctx context.Context, collection, field string, dates bool, refs []backend.Ref) ([]backend.Number, error) {
	return hooked(ctx, c, "Numbers", func() ([]backend.Number, error) { return c.shard.Numbers(ctx, collection, field, dates, refs) })
}

func (c *Cluster) Order(ctx context.Context, collection string, keys []backend.SortKey, set backend.Selection, k int, by backend.Scorer) ([]backend.Ordered, error) {
	return hooked(ctx, c, "Order", func() ([]backend.Ordered, error) { return c.shard.Order(ctx, collection, keys, set, k, by) })
}

func (c *Cluster) Version(ctx context.Context) (string, error) {
	return hooked(ctx, c, "Version", func() (string, error) { return c.shard.Version(ctx) })
}

func (c *Cluster) Position(ctx context.Context, collection string) (backend.Position, error) {
	return hooked(ctx, c, "Position", func() (backend.Position, error) { return c.shard.Position(ctx, collection) })
}

func (c *Cluster) Hold(ctx context.Context, collection string, after backend.Position) (func(), error) {
	return hooked(ctx, c, "Hold", func() (func(), error) { return c.shard.Hold(ctx, collection, after) })
}

func (c *Cluster) DamagedVectors(ctx context.Context) (map[string][]string, error) {
	return hooked(ctx, c, "DamagedVectors", func() (map[string][]string, error) { return c.shard.DamagedVectors(ctx) })
}

func (c *Cluster) IndexStats(ctx context.Context, collection string) (backend.IndexStats, error) {
	return hooked(ctx, c, "IndexStats", func() (backend.IndexStats, error) { return c.shard.IndexStats(ctx, collection) })
}

func (c *Cluster) Check(ctx context.Context, deep bool) ([]backend.Problem, error) {
	return hooked(ctx, c, "Check", func() ([]backend.Problem, error) { return c.shard.Check(ctx, deep) })
}

func (c *Cluster) List(ctx context.Context, collection, cursor string, limit int) (docs []*backend.Document, next string, err error) {
	err = hooked0(ctx, c, "List", func() error {
		docs, next, err = c.shard.List(ctx, collection, cursor, limit)
		return err
	})
	return docs, next, err
}

func (c *Cluster) Lacking(ctx context.Context, collection string, f backend.FieldNames) (lacking backend.FieldNames, partial bool, err error) {
	err = hooked0(ctx, c, "Lacking", func() error {
		lacking, partial, err = c.shard.Lacking(ctx, collection, f)
		return err
	})
	return lacking, partial, err
}

func (c *Cluster) Changed(ctx context.Context, collection string, after backend.Position, limit int) (ids []string, next backend.Position, err error) {
	next = after
	err = hooked0(ctx, c, "Changed", func() error {
		ids, next, err = c.shard.Changed(ctx, collection, after, limit)
		return err
	})
	return ids, next, err
}

func (c *Cluster) Encoded(ctx context.Context, collection, id string) (d *backend.Document, vectors [][]float32, err error) {
	err = hooked0(ctx, c, "Encoded", func() error {
		d, vectors, err = c.shard.Encoded(ctx, collection, id)
		return err
	})
	return d, vectors, err
}

func (c *Cluster) Heads(ctx context.Context, collection, cursor string, limit int) (heads []backend.Head, next string, err error) {
	err = hooked0(ctx, c, "Heads", func() error {
		heads, next, err = c.shard.Heads(ctx, collection, cursor, limit)
		return err
	})
	return heads, next, err
}

func (c *Cluster) LookupHeads(ctx context.Context, collection string, ids []string) ([]backend.Head, error) {
	return hooked(ctx, c, "LookupHeads", func() ([]backend.Head, error) { return c.shard.LookupHeads(ctx, collection, ids) })
}

func (c *Cluster) Values(prefix string) (map[string][]byte, error) {
	return hooked(context.Background(), c, "Values", func() (map[string][]byte, error) { return c.shard.Values(prefix) })
}

func (c *Cluster) StoreSize() (int64, error) {
	return hooked(context.Background(), c, "StoreSize", c.shard.StoreSize)
}

func (c *Cluster) ReadOnly() error {
	return hooked0(context.Background(), c, "ReadOnly", c.shard.ReadOnly)
}

func (c *Cluster) Rebuilds() []backend.Rebuild { return c.shard.Rebuilds() }
