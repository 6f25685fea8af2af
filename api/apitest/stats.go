package apitest

import (
	"context"

	"searchd/search"
)

// Stats implements api.Engine.
func (e *Engine) Stats(ctx context.Context) (*search.Stats, error) {
	if err := e.enter(ctx, "Stats"); err != nil {
		return nil, err
	}
	return &search.Stats{}, nil
}
