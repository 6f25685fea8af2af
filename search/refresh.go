package search

import (
	"context"
	"errors"
	"fmt"

	"searchd/search/backend"
)

// An engine over a backend that only reads, as another engine writes to the same shards, answers searches by itself. Names, checkpoints and API keys are as the
// other has them since the last Refresh; documents and settings are as they are.

// reads reports whether another engine writes to the shards.
func (e *Engine) reads() bool { return e.cluster != nil && e.cluster.Reader() }

// Refresh reads names again, and loads the checkpoints that they need, where another engine has changed what the shards hold. The version is another one when
// API keys may have changed, too. After an error it can be called again. Where no other engine writes it returns [ErrUnsupported].
func (e *Engine) Refresh(ctx context.Context) (version string, err error) {
	if !e.reads() {
		return "", fmt.Errorf("%w: no other engine changes names here", ErrUnsupported)
	}
	if err := e.running(); err != nil {
		return "", err
	}
	if err := e.refreshing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer e.refreshing.Release(1)
	if version, err = e.cluster.Version(ctx); err != nil { // before what it is of
		return "", err
	}
	e.cluster.forget()
	if version == e.version {
		return version, nil
	}
	if err := e.renew(ctx); err != nil {
		return "", err
	}
	e.trim(ctx)
	e.version = version
	return version, nil
}

// renew reads the names again, loads the checkpoints that they need, and then leads requests by them, all at once. It returns an error where asking again helps.
func (e *Engine) renew(ctx context.Context) error {
	names, err := e.catalog.reread(ctx)
	if err != nil {
		return err
	}
	err = e.openEncodings(ctx, names)
	switch {
	case errors.Is(err, backend.ErrUnavailable) || ctx.Err() != nil:
		return err
	case err != nil:
		e.alarm("checkpoints of collections: " + err.Error())
	}
	e.catalog.take(names)
	return nil
}

// renewed reports whether err may be of names that another engine has changed, and these have been read again.
func (e *Engine) renewed(ctx context.Context, err error) bool {
	if !e.reads() || !errors.Is(err, backend.ErrCollectionNotFound) {
		return false
	}
	_, failed := e.Refresh(ctx)
	return failed == nil
}

// answered has a search answered, and once more where the generation that it began with has gone meanwhile.
func answered[T any](ctx context.Context, e *Engine, collection string, q Query, answer func(s *search) (T, error)) (out T, err error) {
	for again := false; ; again = true {
		s, err := e.newSearch(ctx, collection, q)
		if err != nil {
			return out, err
		}
		if out, err = ended(s, answer); again || !e.renewed(ctx, err) {
			return out, err
		}
	}
}

// ended has a search answered, after which nothing of it is under way.
func ended[T any](s *search, answer func(s *search) (T, error)) (T, error) {
	defer s.guess.end()
	return answer(s)
}
