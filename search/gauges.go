package search

import (
	"context"

	"searchd/search/backend"
)

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
	Dead         int   `json:"dead"`  // deleted ones that a compaction will take out
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
