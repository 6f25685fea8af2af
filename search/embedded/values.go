package embedded

import (
	"context"
	"errors"

	"searchd/search/backend"
	"searchd/store"
)

// Values returns the values whose keys begin with a prefix.
func (b *Backend) Values(_ context.Context, prefix string) (map[string][]byte, error) {
	return readValues(b.store, prefix)
}

func readValues(s *store.Store, prefix string) (map[string][]byte, error) {
	values, err := s.Values(prefix)
	var damaged *store.ValuesError
	if errors.As(err, &damaged) {
		return values, &backend.ValuesError{Keys: damaged.Keys, Err: err}
	}
	return values, translate(err)
}

// SetValues sets values in one transaction; nil removes a key.
func (b *Backend) SetValues(ctx context.Context, values map[string][]byte) error {
	return translate(b.store.SetValues(ctx, values))
}
