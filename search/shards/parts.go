package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"searchd/search/backend"
)

// part is a shard in its place.
type part struct {
	backend.Shard
	index int
	name  string // in messages
}

// failed is an error of the part with its name, where that says more than the error: what is wrong with the request is the same on all. A part that turns
// out to be another one than it was does not answer for the one that is meant.
func (p *part) failed(err error) error {
	if errors.Is(err, backend.ErrPlacement) && !errors.Is(err, backend.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	for _, same := range [...]error{nil, backend.ErrInvalid, backend.ErrCollectionNotFound, backend.ErrCollectionExists, backend.ErrDocumentNotFound,
		backend.ErrClosed, errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, same) && !errors.Is(err, backend.ErrUnavailable) {
			return err
		}
	}
	if strings.Contains(err.Error(), p.name) { // it tells already
		return err
	}
	return &backend.ShardError{Shard: p.name, Err: err}
}

// settle asks parts side by side, waits for all of them, and returns what each says. A panic becomes an error.
func settle[T any](parts []*part, ask func(p *part) (T, error)) ([]T, []error) {
	answers, errs := make([]T, len(parts)), make([]error, len(parts))
	one := func(i int) {
		defer func() {
			if v := recover(); v != nil {
				errs[i] = fmt.Errorf("%s: panic: %v", parts[i].name, v)
			}
		}()
		answer, err := ask(parts[i])
		answers[i], errs[i] = answer, parts[i].failed(err)
	}
	var others sync.WaitGroup
	for i := 1; i < len(parts); i++ {
		others.Go(func() { one(i) })
	}
	if len(parts) > 0 {
		one(0)
	}
	others.Wait()
	return answers, errs
}

// some asks parts about a collection, side by side, and returns what they say, in their order. An error ends the others.
func some[T any](ctx context.Context, b *Backend, collection string, parts []*part, ask func(ctx context.Context, p *part) (T, error)) ([]T, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers, errs := settle(parts, func(p *part) (T, error) {
		answer, err := ask(within, p)
		if err != nil {
			cancel(p.failed(err))
		}
		return answer, err
	})
	if errors.Join(errs...) == nil {
		return answers, nil
	}
	err := context.Cause(within) // the first: what came after it may have come of it
	if err == nil {              // a panic
		err = errors.Join(errs...)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
		silent := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, backend.ErrUnavailable) })
		if silent >= 0 && errors.Is(err, context.DeadlineExceeded) { // the time was up because that one did not answer
			err = errs[silent]
		}
	}
	return nil, b.explained(ctx, collection, err)
}

// all is some of all parts, once they have the same settings of the collection.
func all[T any](ctx context.Context, b *Backend, collection string, ask func(ctx context.Context, p *part) (T, error)) ([]T, error) {
	if err := b.agreed(ctx, collection); err != nil {
		return nil, err
	}
	return some(ctx, b, collection, b.parts, ask)
}

// one is some of one part.
func one[T any](ctx context.Context, b *Backend, collection string, p *part, ask func(ctx context.Context, p *part) (T, error)) (answer T, err error) {
	answers, err := some(ctx, b, collection, []*part{p}, ask)
	if err != nil {
		return answer, err
	}
	return answers[0], nil
}

// share divides keys among the parts that they belong to, as these know them: own by part, at their places in keys. asked are the parts that have some, or the
// first part where none has: it knows whether there is such a collection. A key of no part is left out.
func share[K any](b *Backend, keys []K, place func(K) (int, K)) (own [][]K, at [][]int, asked []*part) {
	own, at = make([][]K, len(b.parts)), make([][]int, len(b.parts))
	for i, key := range keys {
		if p, k := place(key); p < len(b.parts) {
			own[p], at[p] = append(own[p], k), append(at[p], i)
		}
	}
	for _, p := range b.parts {
		if len(own[p.index]) > 0 {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		asked = b.parts[:1]
	}
	return own, at, asked
}

// join puts the answers of the parts that were asked about n keys in the order of these.
func join[V any](n int, asked []*part, at [][]int, answers [][]V) []V {
	out := make([]V, n)
	for i, p := range asked {
		for j, to := range at[p.index] {
			out[to] = answers[i][j]
		}
	}
	return out
}

// gather asks the parts that keys belong to for their own, and returns the answers in the order of keys; nothing for a key of no part.
func gather[K, V any](ctx context.Context, b *Backend, collection string, keys []K, place func(K) (int, K), ask func(ctx context.Context, p *part, own []K) ([]V, error)) ([]V, error) {
	own, at, asked := share(b, keys, place)
	answers, err := some(ctx, b, collection, asked, func(ctx context.Context, p *part) ([]V, error) {
		answers, err := ask(ctx, p, own[p.index])
		if err == nil && len(answers) != len(own[p.index]) {
			err = fmt.Errorf("%d answers, asked for %d", len(answers), len(own[p.index]))
		}
		return answers, err
	})
	if err != nil {
		return nil, err
	}
	return join(len(keys), asked, at, answers), nil
}

// gatherPage is gather of documents, of which each part may answer the first alone: it returns those of the first keys, up to one that was not answered. As each
// part answers one, so does it.
func gatherPage[K any](ctx context.Context, b *Backend, collection string, keys []K, place func(K) (int, K), ask func(ctx context.Context, p *part, own []K) ([]*backend.Document, error)) ([]*backend.Document, error) {
	own, at, asked := share(b, keys, place)
	answers, err := some(ctx, b, collection, asked, func(ctx context.Context, p *part) ([]*backend.Document, error) {
		docs, err := ask(ctx, p, own[p.index])
		if err == nil {
			err = backend.CheckPage(len(docs), len(own[p.index]))
		}
		return docs, err
	})
	if err != nil {
		return nil, err
	}
	end := len(keys)
	for i, p := range asked {
		if n := len(answers[i]); n < len(own[p.index]) {
			end = min(end, at[p.index][n])
		}
	}
	out := make([]*backend.Document, end)
	for i, p := range asked {
		for j, d := range answers[i] {
			if to := at[p.index][j]; to < end {
				out[to] = d
			}
		}
	}
	return out, nil
}

// placeID is where a document lives, as gather asks for it.
func (b *Backend) placeID(id string) (int, string) { return Place(id, len(b.parts)), id }
