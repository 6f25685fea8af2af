package search

import (
	"context"
	"errors"
	"strconv"

	"searchd/search/backend"
)

// nextGeneration returns a stored name that is not in use.
func (e *Engine) nextGeneration(ctx context.Context, name, stored string) (string, error) {
	for n := generationOf(stored) + 1; ; n++ {
		next := generation(name, n)
		if _, err := e.backend.Collection(ctx, next); errors.Is(err, backend.ErrCollectionNotFound) {
			return next, nil
		} else if err != nil {
			return "", err
		}
	}
}

// keptName returns the first name for the collection as it was that nothing has yet, or what may says of it.
func (e *Engine) keptName(ctx context.Context, name string, may func(string) error) (string, error) {
	for n := 1; ; n++ {
		suffix := "-old"
		if n > 1 {
			suffix += strconv.Itoa(n)
		}
		kept := name[:min(len(name), maxCollectionName-len(suffix))] + suffix
		taken, err := e.taken(ctx, kept)
		if !taken && err == nil && may != nil {
			err = may(kept)
		}
		if !taken || err != nil {
			return kept, err
		}
	}
}

// taken reports whether a name leads to a collection.
func (e *Engine) taken(ctx context.Context, name string) (bool, error) {
	_, err := e.Collection(ctx, name)
	if errors.Is(err, ErrCollectionNotFound) {
		return false, nil
	}
	return err == nil, err
}
