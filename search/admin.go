package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/projection"
)

// Backup writes a backup of this moment to w and returns its size. Reads and writes continue
// meanwhile. [embedded.Restore] reads it.
func (e *Engine) Backup(ctx context.Context, w io.Writer) (int64, error) {
	if err := e.alone("a backup in one file; `searchd migrate --from URL --to DIR` copies all collections to a folder, under writes, too"); err != nil {
		return 0, err
	}
	return e.backend.Backup(ctx, w)
}

// Check reports differences between what is stored and what is indexed; with deep also damaged
// bytes.
func (e *Engine) Check(ctx context.Context, deep bool) ([]backend.Problem, error) {
	found, err := e.backend.Check(ctx, backend.CheckRequest{Deep: deep})
	return found.Problems, err
}

// ReadOnly returns nil while writes are accepted. After a failed commit it returns [ErrReadOnly]
// with its cause; searches continue.
func (e *Engine) ReadOnly() error {
	s, err := e.backend.Stats(context.Background(), backend.StatsRequest{})
	if err != nil || s.ReadOnly == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrReadOnly, s.ReadOnly)
}

// Vault stores small values such as API keys in the backend.
type Vault struct{ backend backend.Admin }

// Vault returns the small values of the backend. They live as long as the engine.
func (e *Engine) Vault() Vault { return Vault{e.backend} }

// Values returns the values whose keys begin with a prefix.
func (v Vault) Values(prefix string) (map[string][]byte, error) {
	return v.backend.Values(context.Background(), prefix)
}

// SetValues sets values in one transaction; nil removes a key.
func (v Vault) SetValues(ctx context.Context, values map[string][]byte) error {
	return v.backend.SetValues(ctx, values)
}

// Gauges are the gauges of a collection's indexes.
type Gauges struct {
	Documents int           `json:"documents"`
	Passages  int           `json:"passages"`
	Vectors   VectorGauges  `json:"vectors"`
	Keyword   KeywordGauges `json:"keyword"`
}

// VectorGauges are the gauges of the graph, which is in memory.
type VectorGauges struct {
	Bytes        int64 `json:"bytes"`
	Float32Bytes int64 `json:"float32_bytes"` // 0 where the graph holds codes
	CodeBytes    int64 `json:"code_bytes"`
	LinkBytes    int64 `json:"link_bytes"`
	TableBytes   int64 `json:"table_bytes"`
	Nodes        int   `json:"nodes"` // equal vectors share one
	Dead         int   `json:"dead"`  // deleted ones that a compaction will remove
	Layers       int   `json:"layers"`
	EfSearch     int   `json:"ef_search"` // beam width of a search for ten
	Rebuilding   bool  `json:"rebuilding"`
}

// KeywordGauges are the gauges of the postings, which are on disk.
type KeywordGauges struct {
	Bytes      int64 `json:"bytes"`
	Rebuilding bool  `json:"rebuilding"`
}

// Gauges returns the gauges of a collection.
func (e *Engine) Gauges(ctx context.Context, name string) (*Gauges, error) {
	c, _, err := e.open(ctx, name)
	if err != nil {
		return nil, err
	}
	stats, err := e.backend.Stats(ctx, backend.StatsRequest{Collection: c.Name})
	if err != nil {
		return nil, err
	}
	s, g := stats.Index, stats.Index.Graph
	return &Gauges{
		Documents: c.Documents, Passages: c.Passages,
		Vectors: VectorGauges{
			Bytes: g.Bytes(), Float32Bytes: g.VectorBytes, CodeBytes: g.CodeBytes, LinkBytes: g.LinkBytes, TableBytes: g.TableBytes,
			Nodes: g.Nodes, Dead: g.Dead, Layers: g.Layers, EfSearch: g.EfSearch, Rebuilding: s.GraphRebuild,
		},
		Keyword: KeywordGauges{Bytes: s.KeywordBytes, Rebuilding: s.KeywordRebuild},
	}, nil
}

// Stats are the engine's gauges and counters.
type Stats struct {
	Encoder     EncoderStats
	Queries     CacheStats
	StoreBytes  int64 // of the file; 0: unknown
	Collections []CollectionStats
	Damaged     int // collections that cannot be opened
}

// CollectionStats are the gauges of a collection's indexes.
type CollectionStats struct {
	Name  string
	Index *backend.IndexStats
}

// maxCollectionStats bounds the collections in Stats: each becomes several time series.
const maxCollectionStats = 100

// Stats returns the engine's gauges, and those of the 100 collections with the most passages. It
// may take as long as several searches.
func (e *Engine) Stats(ctx context.Context) (*Stats, error) {
	s := &Stats{}
	e.inference.Stats(&s.Encoder, &s.Queries)
	now, err := e.backend.Stats(ctx, backend.StatsRequest{})
	if err != nil {
		return nil, err
	}
	s.StoreBytes = now.StoreBytes
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return nil, err
	}
	n := len(list)
	list = slices.DeleteFunc(list, func(c backend.Collection) bool { return c.Damaged != "" })
	s.Damaged = n - len(list) + len(e.catalog.LostNames())
	slices.SortFunc(list, func(a, b backend.Collection) int {
		return cmp.Or(cmp.Compare(b.Passages, a.Passages), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range list[:min(len(list), maxCollectionStats)] {
		name, visible := e.catalog.NameOf(c.Name)
		if !visible {
			continue
		}
		now, err := e.backend.Stats(ctx, backend.StatsRequest{Collection: c.Name})
		if errors.Is(err, backend.ErrCollectionNotFound) {
			continue // dropped since
		}
		if err != nil {
			return nil, err
		}
		s.Collections = append(s.Collections, CollectionStats{name, now.Index})
	}
	return s, nil
}

// Map shows the passages of a collection as points.
type Map = projection.Map

// MapOptions are the options of a map.
type MapOptions = projection.Options

// Map draws the passages of a collection. It returns a [FieldError] for a wrong option and, with a
// query, [ErrModelMismatch] as Search does.
func (e *Engine) Map(ctx context.Context, collection string, o MapOptions) (*Map, error) {
	if err := o.Validate(MaxQueryBytes); err != nil {
		return nil, err
	}
	c, r, err := e.open(ctx, collection)
	if err != nil {
		return nil, err
	}
	of := projection.Collection{Collection: c, Created: r.Created, Fields: r.Settings.Fields}
	return e.maps.Draw(ctx, e.backend, of, o, func(ctx context.Context, q string) ([]float32, error) {
		enc, err := e.encodings.Of(collection, r.made())
		if err != nil {
			return nil, err
		}
		v, _, err := enc.QueryVector(ctx, q)
		return v, err
	})
}
