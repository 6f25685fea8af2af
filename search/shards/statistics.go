package shards

import (
	"context"
	"encoding/json"
	"fmt"

	"searchd/search/backend"
)

// maxRounds bounds how often the parts are asked for their statistics: more than ever are needed.
const maxRounds = 8

// global returns a query with what all parts know of its words, so that each scores and reads it as one with all documents would. A search asks for it
// several times, and it is kept for that, see [fresh].
func (b *Backend) global(ctx context.Context, collection string, q backend.Words) (backend.Words, error) {
	if len(b.parts) == 1 {
		return q, nil
	}
	asked := q
	asked.All, asked.Global = false, nil // they change nothing
	key, err := json.Marshal([]any{collection, asked})
	if err != nil { // a weight that is no number
		return q, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	q.Global, err = b.statistics.get(ctx, string(key), b.writes.Load(), func() (*backend.Statistics, error) { return b.ask(ctx, collection, asked) })
	return q, err
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
		sum := known[0]
		for _, one := range known[1:] {
			sum.Add(one)
		}
		if q.Global = &sum; sum.Complete {
			return &sum, nil
		}
	}
	return nil, fmt.Errorf("what the shards know of the words of %.100q is not complete after %d rounds", q.Text, maxRounds)
}
