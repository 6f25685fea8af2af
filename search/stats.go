package search

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync/atomic"

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

// EncoderStats say what the encoder of requests does. Passages of documents do not count: they take another way.
type EncoderStats struct {
	Running       int // calls under way
	Waiting       int // requests, or parts of large ones
	WaitingTokens int // of them, estimated
	BatchTexts    Histogram
	BatchTokens   Histogram // estimated
}

// CacheStats say what became of the lookups of a cache.
type CacheStats struct {
	Hits, Misses uint64
	Entries      int
}

// CollectionStats are the gauges of a collection. Those of the indexes are there where the backend keeps them.
type CollectionStats struct {
	Name  string // as stored: a generation that is being built, or was replaced, has a '~' in it
	Index *backend.IndexStats
}

// Histogram counts values by powers of two. Adding is safe for concurrent use.
type Histogram struct {
	counts [histogramBuckets]atomic.Uint64 // values up to 1, 2, 4, ...; the last takes all that are larger
	sum    atomic.Uint64
}

const histogramBuckets = 20

func (h *Histogram) add(n int) {
	i := min(bits.Len(uint(max(n, 1)-1)), histogramBuckets-1)
	h.counts[i].Add(1)
	h.sum.Add(uint64(max(n, 0)))
}

// Cumulative returns how many values there were, their sum, and how many were at most each power of two.
func (h *Histogram) Cumulative() (count, sum uint64, atMost map[float64]uint64) {
	atMost = make(map[float64]uint64, histogramBuckets-1)
	for i := range h.counts {
		count += h.counts[i].Load()
		if i < histogramBuckets-1 {
			atMost[float64(uint64(1)<<i)] = count
		}
	}
	return count, h.sum.Load(), atMost
}

// maxCollectionStats bounds the collections that Stats describes: each becomes several time series.
const maxCollectionStats = 100

// Stats returns the engine's gauges; of the collections those with the most passages, at most 100. It may take as long as some searches.
func (e *Engine) Stats(ctx context.Context) (*Stats, error) {
	s := &Stats{}
	e.collector.stats(&s.Encoder)
	s.Queries = e.encodings.own.queries.stats()
	now, err := e.backend.Stats(ctx, backend.StatsRequest{})
	if err != nil {
		return nil, err
	}
	s.StoreBytes = now.StoreBytes
	return s, e.collectionStats(ctx, s)
}

// collectionStats sets the gauges of the visible collections, of many those with the most passages, and counts those that cannot be opened.
func (e *Engine) collectionStats(ctx context.Context, s *Stats) error {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	n := len(list)
	list = slices.DeleteFunc(list, func(c backend.Collection) bool { return c.Damaged != "" })
	s.Damaged = n - len(list) + len(e.catalog.lostNames())
	slices.SortFunc(list, func(a, b backend.Collection) int {
		return cmp.Or(cmp.Compare(b.Passages, a.Passages), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range list[:min(len(list), maxCollectionStats)] {
		shown, visible := e.catalog.nameOf(c.Name)
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

// stats describes what the collector does.
func (c *collector) stats(s *EncoderStats) {
	c.mu.Lock()
	s.Running, s.Waiting, s.WaitingTokens = c.mu.running+c.mu.urgent, len(c.mu.queue), c.mu.queued
	c.mu.Unlock()
	s.BatchTexts.addAll(&c.batchTexts)
	s.BatchTokens.addAll(&c.batchTokens)
}

func (h *Histogram) addAll(other *Histogram) {
	for i := range h.counts {
		h.counts[i].Add(other.counts[i].Load())
	}
	h.sum.Add(other.sum.Load())
}

// stats describes the cache.
func (c *queryCache) stats() CacheStats {
	return CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Entries: c.len()}
}
