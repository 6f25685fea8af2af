package shards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"searchd/search/backend"
)

// maxRounds bounds how often the parts are asked for their statistics: more than ever are needed.
const maxRounds = 4

// withGlobal asks with what all parts know of the words of a query, so that each scores and reads it as one with all documents would. A search asks for
// that several times, and it is kept, see [fresh]. Where it does not fit, as the settings of the collection were changed in the moment between, it is asked
// for anew, once.
func withGlobal[T any](ctx context.Context, b *Backend, collection string, q backend.Words, ask func(q backend.Words) (T, error)) (T, error) {
	if len(b.parts) == 1 {
		return ask(q)
	}
	for again := false; ; again = true {
		var err error
		if q.Global, err = b.global(ctx, collection, q); err != nil {
			var nothing T
			return nothing, err
		}
		out, err := ask(q)
		if again || !errors.Is(err, backend.ErrStatistics) {
			return out, err
		}
		b.writes.Add(1)
		b.changed.Add(1)
	}
}

// statisticsKey returns by what the statistics of the words of q are kept, and the words that they are asked for with: they are the same with any weights, for
// either operator and for a set of all that is found.
func statisticsKey(collection string, q backend.Words) (string, backend.Words, error) {
	q.And, q.All, q.Global = false, false, nil
	words := [][]string{{collection, q.Text}, q.Exact, nil}
	for _, f := range q.Fields {
		words[2] = append(words[2], f.Name)
	}
	key, err := json.Marshal(words)
	return string(key), q, err
}

// global returns what all parts know of the words of q.
func (b *Backend) global(ctx context.Context, collection string, q backend.Words) (*backend.Statistics, error) {
	key, q, err := statisticsKey(collection, q)
	if err != nil {
		return nil, err
	}
	return b.statistics.get(ctx, key, b.moment(collection), func() (*backend.Statistics, error) { return b.ask(ctx, collection, q) })
}

// ask asks all parts for their statistics, and again with the sum, until that is complete.
func (b *Backend) ask(ctx context.Context, collection string, q backend.Words) (*backend.Statistics, error) {
	for range maxRounds {
		known, err := all(ctx, b, collection, func(ctx context.Context, p *part) (backend.Statistics, error) {
			return p.Statistics(ctx, collection, q)
		})
		if err != nil {
			return nil, err
		}
		var sum backend.Statistics
		for _, one := range known {
			sum.Add(one)
		}
		if q.Global = &sum; sum.Complete {
			return &sum, nil
		}
	}
	return nil, fmt.Errorf("what the shards know of the words of %.100q is not complete after %d rounds", q.Text, maxRounds)
}

// complete is ask where all parts have been asked once.
func (b *Backend) complete(ctx context.Context, collection string, q backend.Words, known []*backend.Statistics) (*backend.Statistics, error) {
	var sum backend.Statistics
	for i, one := range known {
		if one == nil {
			return nil, fmt.Errorf("%s knows nothing of the words of %.100q", b.parts[i].name, q.Text)
		}
		sum.Add(*one)
	}
	if sum.Complete {
		return &sum, nil
	}
	q.Global = &sum
	return b.ask(ctx, collection, q)
}
