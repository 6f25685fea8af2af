package search

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"searchd/search/backend"
)

// Stats are the engine's gauges and counters.
type Stats struct {
	Encoder     EncoderStats
	Queries     CacheStats
	StoreBytes  int64 // of the file; 0: the backend does not say
	Collections []CollectionStats
	Damaged     int // collections that cannot be opened
}

// CollectionStats are the gauges of a collection. Those of the indexes are there where the backend
// keeps them.
type CollectionStats struct {
	Name  string // as stored: a generation that is being built, or was replaced, has a '~' in it
	Index *backend.IndexStats
}

// maxCollectionStats bounds the collections that Stats describes: each becomes several time series.
const maxCollectionStats = 100

// Stats returns the engine's gauges; of the collections those with the most passages, at most 100.
// It may take as long as some searches.
func (e *Engine) Stats(ctx context.Context) (*Stats, error) {
	s := &Stats{}
	e.inference.Stats(&s.Encoder, &s.Queries)
	now, err := e.backend.Stats(ctx, backend.StatsRequest{})
	if err != nil {
		return nil, err
	}
	s.StoreBytes = now.StoreBytes
	return s, e.collectionStats(ctx, s)
}

// collectionStats sets the gauges of the visible collections, of many those with the most passages,
// and counts those that cannot be opened.
func (e *Engine) collectionStats(ctx context.Context, s *Stats) error {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	n := len(list)
	list = slices.DeleteFunc(list, func(c backend.Collection) bool { return c.Damaged != "" })
	s.Damaged = n - len(list) + len(e.catalog.LostNames())
	slices.SortFunc(list, func(a, b backend.Collection) int {
		return cmp.Or(cmp.Compare(b.Passages, a.Passages), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range list[:min(len(list), maxCollectionStats)] {
		shown, visible := e.catalog.NameOf(c.Name)
		if !visible {
			continue
		}
		now, err := e.backend.Stats(ctx, backend.StatsRequest{Collection: c.Name})
		if errors.Is(err, backend.ErrCollectionNotFound) {
			continue // dropped since
		}
		if err != nil {
			return err
		}
		s.Collections = append(s.Collections, CollectionStats{shown, now.Index})
	}
	return nil
}
