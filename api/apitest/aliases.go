package apitest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"searchd/search"
)

// Aliases implements api.Engine.
func (e *Engine) Aliases(ctx context.Context) ([]search.Alias, error) {
	if err := e.enter(ctx, "Aliases"); err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	list := []search.Alias{}
	for _, a := range slices.Sorted(maps.Keys(e.aliases)) {
		list = append(list, search.Alias{Alias: a, Collection: e.aliases[a]})
	}
	return list, nil
}

// Alias implements api.Engine.
func (e *Engine) Alias(ctx context.Context, alias string) (search.Alias, error) {
	if err := e.enter(ctx, "Alias"); err != nil {
		return search.Alias{}, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	to, ok := e.aliases[alias]
	if !ok {
		return search.Alias{}, fmt.Errorf("%w: %q", search.ErrAliasNotFound, alias)
	}
	return search.Alias{Alias: alias, Collection: to}, nil
}

// SetAlias implements api.Engine.
func (e *Engine) SetAlias(ctx context.Context, alias, collection string) (created bool, err error) {
	if err := e.enter(ctx, "SetAlias"); err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.collections[collection] == nil {
		return false, fmt.Errorf("%w: %q", search.ErrCollectionNotFound, collection)
	}
	if e.collections[alias] != nil {
		return false, fmt.Errorf("%w: %q", search.ErrCollectionExists, alias)
	}
	if e.aliases == nil {
		e.aliases = map[string]string{}
	}
	_, there := e.aliases[alias]
	e.aliases[alias] = collection
	return !there, nil
}

// DeleteAlias implements api.Engine.
func (e *Engine) DeleteAlias(ctx context.Context, alias string) error {
	if _, err := e.Alias(ctx, alias); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.aliases, alias)
	return nil
}
