package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.com/searchd/search"
)

const (
	// maxWarmUps is how many collections are warmed up, since each then holds memory that an unused
	// one does not need.
	maxWarmUps = 16
	// warmUpLimit is how long a server waits for the searches before it becomes ready.
	warmUpLimit = 2 * time.Second
	// warmUpQuery has a word that no document has, so that near ones are looked for, too.
	warmUpQuery = "how does the first search find its answer warmupqx"
)

// searcher is what warming up needs of the engine.
type searcher interface {
	Collections(ctx context.Context) ([]search.CollectionInfo, error)
	Search(ctx context.Context, collection string, q search.Query) (*search.Response, error)
}

// warmUp searches the largest collections in every mode that needs nothing but this server, so that
// what is made when it is first needed is there before the first request: the table of token
// vectors, the lengths and numbers of the documents of each segment, the automata of misspelled
// words. It returns when that is done, or after warmUpLimit; stop ends the searches that are left
// and waits for the last.
func warmUp(ctx context.Context, e searcher) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		searchAll(ctx, e)
	}()
	limit := time.NewTimer(warmUpLimit)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
	return func() {
		cancel()
		<-done
	}
}

// searchAll leaves errors to the requests that meet them.
func searchAll(ctx context.Context, e searcher) {
	list, err := e.Collections(ctx)
	if err != nil {
		return
	}
	for _, c := range toWarmUp(list) {
		modes := []search.Mode{search.Semantic, search.Hybrid, search.Keyword}
		if c.Settings.Embedder != nil {
			modes = modes[2:] // another server would encode the query, or nothing can
		}
		for _, mode := range modes {
			if ctx.Err() != nil {
				return
			}
			_, _ = e.Search(ctx, c.Name, search.Query{Q: warmUpQuery, Mode: mode})
		}
	}
}

// toWarmUp returns the collections to warm up, the largest first.
func toWarmUp(list []search.CollectionInfo) []search.CollectionInfo {
	list = slices.DeleteFunc(slices.Clone(list), func(c search.CollectionInfo) bool { return c.Damaged != "" || c.Documents == 0 })
	slices.SortStableFunc(list, func(a, b search.CollectionInfo) int { return cmp.Compare(b.Documents, a.Documents) })
	return list[:min(maxWarmUps, len(list))]
}
