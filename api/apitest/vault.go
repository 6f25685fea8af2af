package apitest

import (
	"context"
	"maps"
	"strings"
	"sync"
)

// Vault is an access.Vault in memory. The zero value is ready and empty.
type Vault struct {
	mu     sync.Mutex
	values map[string][]byte
}

// Values implements access.Vault.
func (v *Vault) Values(prefix string) (map[string][]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := maps.Clone(v.values)
	maps.DeleteFunc(found, func(key string, _ []byte) bool { return !strings.HasPrefix(key, prefix) })
	return found, nil
}

// SetValues implements access.Vault.
func (v *Vault) SetValues(_ context.Context, values map[string][]byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = map[string][]byte{}
	}
	for key, value := range values {
		if value == nil {
			delete(v.values, key)
		} else {
			v.values[key] = value
		}
	}
	return nil
}
