package keyword

import (
	"sync"
	"sync/atomic"

	"example.com/searchd/index/keyword/analysis"
	"example.com/searchd/internal/cache"
)

// Budgets of Caches in bytes.
const (
	columnsBudget  = 64 << 20
	numbersBudget  = 64 << 20
	postingsBudget = 64 << 20
	placesBudget   = 32 << 20
)

// Caches hold what indexes derive from segments and texts, neither of which ever change, so that
// nothing in them can be stale. Indexes that share one share its budgets and analyzers.
// NewCaches makes one.
type Caches struct {
	columns  *cache.Cache[columnKey, *column]
	numbers  *cache.Cache[columnKey, numberList]
	postings *cache.Cache[postingsKey, *postings]
	places   *cache.Cache[placesKey, []place]

	segments atomic.Uint64 // the last segmentData.id
	building sync.Mutex    // held while a column or a numberList is built, which bounds the memory

	analyzers struct {
		sync.Mutex
		byLanguage map[string]*analysis.Analyzer
	}
}

// NewCaches returns empty caches.
func NewCaches() *Caches {
	c := &Caches{
		columns:  cache.New[columnKey, *column](columnsBudget),
		numbers:  cache.New[columnKey, numberList](numbersBudget),
		postings: cache.New[postingsKey, *postings](postingsBudget),
		places:   cache.New[placesKey, []place](placesBudget),
	}
	c.analyzers.byLanguage = map[string]*analysis.Analyzer{}
	return c
}

// analyzer returns the analyzer of a language.
func (c *Caches) analyzer(language string) (*analysis.Analyzer, error) {
	c.analyzers.Lock()
	defer c.analyzers.Unlock()
	if a := c.analyzers.byLanguage[language]; a != nil {
		return a, nil
	}
	a, err := analysis.New(language)
	if err == nil {
		c.analyzers.byLanguage[language] = a
	}
	return a, err
}
