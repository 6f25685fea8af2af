package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxAliases bounds what is kept in memory.
const maxAliases = 4096

// Alias is a second name of a collection.
type Alias struct {
	Alias      string `json:"alias"`
	Collection string `json:"collection"`
}

// Aliases lists the aliases, by name.
func (e *Engine) Aliases(ctx context.Context) ([]Alias, error) {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return nil, err
	}
	c := e.catalog
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]Alias, 0, len(c.mu.aliases))
	for _, alias := range slices.Sorted(maps.Keys(c.mu.aliases)) {
		list = append(list, Alias{alias, c.mu.aliases[alias]})
	}
	return list, nil
}

// Alias returns one alias, or [ErrAliasNotFound].
func (e *Engine) Alias(ctx context.Context, alias string) (Alias, error) {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return Alias{}, err
	}
	to, ok := e.catalog.target(alias)
	if !ok {
		return Alias{}, fmt.Errorf("%w: %s", ErrAliasNotFound, quoteShort(alias))
	}
	return Alias{alias, to}, nil
}

// SetAlias makes alias lead to a collection, which must exist; created is false where it led elsewhere before. The change is one
// transaction: each request sees either the old collection or the new. It returns [ErrCollectionExists] if a collection has this name.
func (e *Engine) SetAlias(ctx context.Context, alias, collection string) (created bool, err error) {
	if err := CheckCollectionName(alias); err != nil {
		err.(*FieldError).Field = "alias"
		return false, err
	}
	c := e.catalog
	done, err := c.begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	to, isAlias := c.target(collection)
	if isAlias {
		return false, &FieldError{"collection", collection, fmt.Sprintf("a collection; this is an alias of %s", to)}
	}
	if _, err := e.Collection(ctx, collection); err != nil {
		return false, err
	}
	_, replaced := c.target(alias)
	replaced = replaced || c.lostAlias(alias)
	if !replaced {
		switch taken, err := e.taken(ctx, alias); {
		case taken || errors.Is(err, ErrDamaged):
			return false, fmt.Errorf("%w: %s is a collection; an alias needs a name of its own", ErrCollectionExists, alias)
		case err != nil:
			return false, err
		}
		c.mu.RLock()
		n := len(c.mu.aliases)
		c.mu.RUnlock()
		if n >= maxAliases {
			return false, &FieldError{"alias", alias, fmt.Sprintf("at most %d aliases; delete one first", maxAliases)}
		}
	}
	if err := c.values.SetValues(ctx, map[string][]byte{aliasKey + alias: []byte(collection)}); err != nil {
		return false, err
	}
	c.mu.Lock()
	c.mu.aliases[alias] = collection
	delete(c.mu.lost, alias)
	c.mu.Unlock()
	return !replaced, nil
}

// DeleteAlias removes an alias; the collection stays. It returns [ErrAliasNotFound] if there is none of this name.
func (e *Engine) DeleteAlias(ctx context.Context, alias string) error {
	c := e.catalog
	done, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := e.Alias(ctx, alias); err != nil && !c.lostAlias(alias) {
		return err
	}
	if err := c.values.SetValues(ctx, map[string][]byte{aliasKey + alias: nil}); err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.mu.aliases, alias)
	delete(c.mu.lost, alias)
	c.mu.Unlock()
	return nil
}
