package shards

import (
	"context"
	"fmt"
	"sync"

	"searchd/search/backend"
)

// states says how each of some shards is, asked side by side: names are theirs, and epoch is that with which they were claimed. Err of those that have not
// answered when ctx ends matches [backend.ErrUnavailable].
func states(ctx context.Context, parts []backend.Shard, names []string, epoch uint64, counted bool) []backend.ShardState {
	out := make([]backend.ShardState, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			out[i].Name = names[i]
			defer func() {
				if v := recover(); v != nil {
					out[i].Err = fmt.Errorf("panic: %v", v)
				}
			}()
			if err := ask(ctx, part, epoch, counted, &out[i]); err != nil {
				if ctx.Err() != nil {
					err = fmt.Errorf("%w: it has not answered in time", backend.ErrUnavailable)
				}
				out[i].Err = err
			}
		})
	}
	wg.Wait()
	return out
}

// ask sets what a shard says of itself.
func ask(ctx context.Context, part backend.Shard, epoch uint64, counted bool, s *backend.ShardState) (err error) {
	id, err := part.Identity(ctx)
	if err != nil {
		return err
	}
	if s.StoreBytes, err = part.StoreSize(); err != nil {
		return err
	}
	s.ReadOnly = part.ReadOnly()
	if counted {
		list, err := part.Collections(ctx)
		if err != nil {
			return err
		}
		for _, c := range list {
			s.Documents += c.Documents
		}
	}
	if id.Epoch > epoch && id.Moved != "" {
		return id.MovedError()
	}
	if id.Epoch > epoch {
		return fmt.Errorf("%w: by another server, with claim %d; this one's is %d", backend.ErrClaimed, id.Epoch, epoch)
	}
	return nil
}
