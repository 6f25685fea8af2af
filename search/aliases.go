package search

import (
	"context"
	"errors"
	"fmt"

	"example.com/searchd/search/catalog"
	"example.com/searchd/search/fault"
)

// maxAliases bounds what is kept in memory.
const maxAliases = 4096

// Alias is a second name of a collection.
type Alias = catalog.Alias

// Aliases lists the aliases, by name.
func (e *Engine) Aliases(ctx context.Context) ([]Alias, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return nil, err
	}
	return e.catalog.Aliases(), nil
}

// Alias returns one alias, or [ErrAliasNotFound].
func (e *Engine) Alias(ctx context.Context, alias string) (Alias, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return Alias{}, err
	}
	to, ok := e.catalog.Target(alias)
	if !ok {
		return Alias{}, fmt.Errorf("%w: %s", ErrAliasNotFound, fault.Quote(alias))
	}
	return Alias{Alias: alias, Collection: to}, nil
}

// SetAlias makes alias lead to a collection, which must exist; created is false where it led
// elsewhere before. The change is one transaction: each request sees either the old collection or
// the new. It returns [ErrCollectionExists] if a collection has this name.
func (e *Engine) SetAlias(ctx context.Context, alias, collection string) (created bool, err error) {
	if err := CheckCollectionName(alias); err != nil {
		err.(*FieldError).Field = "alias"
		return false, err
	}
	c := e.catalog
	done, err := c.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	to, isAlias := c.Target(collection)
	if isAlias {
		return false, fault.Field("collection", collection, fmt.Sprintf("a collection; this is an alias of %s", to))
	}
	if _, err := e.Collection(ctx, collection); err != nil {
		return false, err
	}
	_, replaced := c.Target(alias)
	replaced = replaced || c.LostAlias(alias)
	if !replaced {
		switch taken, err := e.taken(ctx, alias); {
		case taken || errors.Is(err, ErrDamaged):
			return false, fmt.Errorf("%w: %s is a collection; an alias needs a name of its own", ErrCollectionExists, alias)
		case err != nil:
			return false, err
		}
		if len(c.Aliases()) >= maxAliases {
			return false, fault.Field("alias", alias, fmt.Sprintf("at most %d aliases; delete one first", maxAliases))
		}
	}
	return !replaced, c.SetAlias(ctx, alias, collection)
}

// DeleteAlias removes an alias; the collection stays. It returns [ErrAliasNotFound] if there is
// none of this name.
func (e *Engine) DeleteAlias(ctx context.Context, alias string) error {
	c := e.catalog
	done, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := e.Alias(ctx, alias); err != nil && !c.LostAlias(alias) {
		return err
	}
	return c.DeleteAlias(ctx, alias)
}
