package shards

import (
	"context"
	"slices"
	"sync"

	"searchd/index/keyword"
	"searchd/search/backend"
)

// reading is how the keyword indexes of a collection read words.
type reading struct {
	language string
	rules    []string

	analysis *keyword.Analysis
	synonyms *keyword.Synonyms // nil: none
}

// reading returns that of a collection.
func (b *Backend) reading(ctx context.Context, collection string) (*reading, error) {
	config, err := b.configs.get(ctx, collection, b.settings(collection), func() (backend.Config, error) {
		c, err := b.Collection(ctx, collection)
		return c.Config, err
	})
	if err != nil {
		return nil, err
	}
	return b.readings.of(collection, config)
}

// readings has those of the collections that were asked for last. The zero value is empty.
type readings struct {
	mu struct {
		sync.Mutex
		byCollection map[string]*reading
	}
}

func (l *readings) of(collection string, config backend.Config) (*reading, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.mu.byCollection[collection]; r != nil && r.language == config.Language && slices.Equal(r.rules, config.Synonyms) {
		return r, nil
	}
	a, err := keyword.NewAnalysis(config.Language)
	if err != nil {
		return nil, err
	}
	r := &reading{language: config.Language, rules: config.Synonyms, analysis: a}
	if len(config.Synonyms) > 0 {
		if r.synonyms, err = keyword.NewSynonyms(config.Language, config.Synonyms); err != nil { // of a program that takes others: the shards do without them, too
			r.synonyms = nil
		}
	}
	if l.mu.byCollection == nil || len(l.mu.byCollection) >= keptMost {
		l.mu.byCollection = map[string]*reading{}
	}
	l.mu.byCollection[collection] = r
	return r, nil
}
