package embedded

import (
	"context"

	"searchd/store"
)

// Vault is the small values of a data folder that is opened for them alone.
type Vault struct{ store *store.Store }

// OpenVault opens the small values of a data folder; nothing else of it is read. The folder is made
// if it is missing, unless mustExist.
func OpenVault(dir string, mustExist bool) (Vault, error) {
	s, err := store.Open(dir, storeOptions(mustExist))
	return Vault{s}, translate(err)
}

// Values returns the values whose keys begin with a prefix.
func (v Vault) Values(prefix string) (map[string][]byte, error) {
	return readValues(v.store, prefix)
}

// SetValues sets values in one transaction; nil removes a key.
func (v Vault) SetValues(ctx context.Context, values map[string][]byte) error {
	return translate(v.store.SetValues(ctx, values))
}

// Close releases the folder.
func (v Vault) Close() error { return v.store.Close() }
