package inference

import (
	"math/bits"
	"sync/atomic"
)

// EncoderStats say what the encoder of requests does. Passages of documents do not count: they take
// another way.
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

// Cumulative returns how many values there were, their sum, and how many were at most each power of
// two.
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
	return CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Entries: c.Len()}
}
