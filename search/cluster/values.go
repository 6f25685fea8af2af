package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// Values returns the values whose keys begin with a prefix.
func (n *Backend) Values(_ context.Context, prefix string) (map[string][]byte, error) {
	if n.closed() {
		return nil, backend.ErrClosed
	}
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	out := map[string][]byte{}
	for key, v := range n.catalogue.mu.values {
		if strings.HasPrefix(key, prefix) {
			out[key] = slices.Clone(v)
		}
	}
	return out, nil
}

// maxTries bounds how often a change of the values is tried while others change them.
const maxTries = 50

// SetValues sets values at once; nil removes a key.
func (n *Backend) SetValues(ctx context.Context, values map[string][]byte) error {
	if n.closed() {
		return backend.ErrClosed
	}
	for range maxTries {
		now, revision := map[string][]byte{}, uint64(0)
		var entry jetstream.KeyValueEntry
		err := n.steady(ctx, "reading the values of the catalogue", func(ctx context.Context) (err error) {
			entry, err = n.kv.Get(ctx, valuesKey)
			return err
		})
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
		case err != nil:
			return cmpContext(ctx, unavailable(err))
		default:
			if err := json.Unmarshal(entry.Value(), &now); err != nil {
				return fmt.Errorf("%w: the values of the catalogue: %w", backend.ErrDamaged, err)
			}
			revision = entry.Revision()
		}
		for key, v := range values {
			if v == nil {
				delete(now, key)
			} else {
				now[key] = v
			}
		}
		b, err := json.Marshal(now)
		if err != nil {
			return err
		}
		revision, err = n.updateKey(ctx, "changing the values of the catalogue", valuesKey, b, revision)
		if err == nil {
			return n.spread(ctx, revision)
		}
		if !isConflict(err) || ctx.Err() != nil {
			return cmpContext(ctx, unavailable(err))
		}
		pause(ctx, 20*time.Millisecond)
	}
	return fmt.Errorf("%w: the values of the catalogue are changed by others all the time", backend.ErrUnavailable)
}

// cmpContext returns the error of ctx, or else err.
func cmpContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
