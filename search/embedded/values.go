package embedded

import (
	"context"
	"errors"
	"strings"

	"searchd/search/backend"
	"searchd/store"
)

// Values implements backend.Values.
func (b *Backend) Values(prefix string) (map[string][]byte, error) {
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

// SetValues implements backend.Values.
func (b *Backend) SetValues(ctx context.Context, values map[string][]byte) error {
	if err := localOnly(b.Marker(), values); err != nil {
		return err
	}
	return translate(b.store.SetValues(ctx, values))
}

// localOnly refuses values that a replica has of its primary.
func localOnly(m *backend.Marker, values map[string][]byte) error {
	for key := range values {
		if !strings.HasPrefix(key, localPrefix) {
			return ownOf(m)
		}
	}
	return nil
}
