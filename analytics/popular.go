package analytics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// LeastSeen is how many searches have a query that is suggested.
const LeastSeen = 5

// popularAge is how old the counts of popular queries may be.
const popularAge = 5 * time.Minute

// popular caches how often queries were searched with results.
type popular struct {
	forgotten atomic.Uint64 // deletions
	mu        struct {
		sync.Mutex
		version uint64
		counts  map[scope]map[string]int
	}
}

// scope is what a query may be suggested in: to those who see the same documents.
type scope struct{ collection, tenant string }

// PopularVersion changes when [Log.Popular] may return something else.
func (l *Log) PopularVersion() uint64 {
	return l.popular.forgotten.Load()<<32 + uint64(l.o.Now().Unix())/uint64(popularAge/time.Second) + 1
}

// Popular returns the queries, in lower case, that at least [LeastSeen] searches of a collection by
// a tenant had, and found something, with their numbers. The map is shared and must not change. It
// may be some minutes old.
func (l *Log) Popular(ctx context.Context, collection, tenant string) (map[string]int, error) {
	p := &l.popular
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := l.PopularVersion(); p.mu.version != v {
		if err := l.Flush(ctx); err != nil {
			return nil, err
		}
		all, err := l.count(ctx)
		if err != nil {
			return nil, err
		}
		p.mu.counts, p.mu.version = all, v
	}
	return p.mu.counts[scope{collection, tenant}], nil
}

// count counts the queries of all scopes.
func (l *Log) count(ctx context.Context) (map[scope]map[string]int, error) {
	all, different := map[scope]map[string]int{}, 0
	since := l.Since(0)
	_, err := Read(ctx, l.dir, func(e Event) error {
		if e.Kind != Search || e.Hits == 0 || e.weak() || e.Time.Before(since) {
			return nil
		}
		in, q := scope{e.Collection, e.Tenant}, keyOf(e.Query)
		if all[in] == nil {
			all[in] = map[string]int{}
		}
		if all[in][q] > 0 || different < maxQueries {
			if all[in][q]++; all[in][q] == 1 {
				different++
			}
		}
		return nil
	})
	for in, counts := range all {
		for q, n := range counts {
			if n < LeastSeen {
				delete(counts, q)
			}
		}
		if len(counts) == 0 {
			delete(all, in)
		}
	}
	return all, err
}
