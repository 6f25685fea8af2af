package embedded

import (
	"context"
	"errors"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// Values returns the values whose keys begin with a prefix.
func (b *Backend) Values(_ context.Context, prefix string) (map[string][]byte, error) {
	return Vault{b.store}.Values(prefix)
}

// SetValues sets values in one transaction; nil removes a key.
func (b *Backend) SetValues(ctx context.Context, values map[string][]byte) error {
	return Vault{b.store}.SetValues(ctx, values)
}

// Vault gives access to the small values of a data folder alone.
type Vault struct{ store *store.Store }

// OpenVault opens the small values of a data folder and reads nothing else of it. It creates a
// missing folder unless mustExist.
func OpenVault(dir string, mustExist bool) (Vault, error) {
	s, err := store.Open(dir, storeOptions(mustExist))
	return Vault{s}, translate(err)
}

// Values returns the values whose keys begin with a prefix.
func (v Vault) Values(prefix string) (map[string][]byte, error) {
	values, err := v.store.Values(prefix)
	var damaged *store.ValuesError
	if errors.As(err, &damaged) {
		return values, &backend.ValuesError{Keys: damaged.Keys, Err: err}
	}
	return values, translate(err)
}

// SetValues sets values in one transaction; nil removes a key.
func (v Vault) SetValues(ctx context.Context, values map[string][]byte) error {
	return translate(v.store.SetValues(ctx, values))
}

// Close releases the folder.
func (v Vault) Close() error { return v.store.Close() }
