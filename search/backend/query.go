package backend

import (
	"context"
	"sync"
)

// WithQuery returns a context for the calls of one query, which see the collection as it is at
// about the same time: what a backend finds out for one of them it may use for the others (see
// [Once]).
func WithQuery(ctx context.Context) context.Context {
	return context.WithValue(ctx, queryKey{}, &found{answers: map[string]*answer{}})
}

type queryKey struct{}

// found are the answers that calls of one query share.
type found struct {
	sync.Mutex
	answers map[string]*answer
}

type answer struct {
	sync.Mutex
	value any // nil: not known yet
}

// Once returns the value that f returned earlier for this key and the query of ctx, or calls f.
// Calls at the same time wait for the first. An error is not kept, nor anything without a query.
func Once[T any](ctx context.Context, key string, f func() (*T, error)) (*T, error) {
	q, ok := ctx.Value(queryKey{}).(*found)
	if !ok {
		return f()
	}
	q.Lock()
	a := q.answers[key]
	if a == nil {
		a = &answer{}
		q.answers[key] = a
	}
	q.Unlock()
	a.Lock()
	defer a.Unlock()
	if v, ok := a.value.(*T); ok {
		return v, nil
	}
	v, err := f()
	if err == nil {
		a.value = v
	}
	return v, err
}
