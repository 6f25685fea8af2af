package search

import (
	"context"
	"io"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// values keeps small values of the whole backend.
type values interface {
	Values(ctx context.Context, prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error
}

// Vault keeps small values of a whole data folder, such as API keys.
type Vault interface {
	Values(prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error
}

// vault is the values of a backend.
type vault struct{ b backend.Admin }

func (v vault) Values(prefix string) (map[string][]byte, error) {
	return v.b.Values(context.Background(), prefix)
}

func (v vault) SetValues(ctx context.Context, values map[string][]byte) error {
	return v.b.SetValues(ctx, values)
}

// Vault returns the small values of the backend. They live as long as the engine.
func (e *Engine) Vault() Vault { return vault{e.backend} }

// OpenVault opens the small values of a data folder that no process uses, without its indexes and
// without a checkpoint. The folder is made if it is missing, unless mustExist. The caller closes
// what it gets.
func OpenVault(dir string, mustExist bool) (interface {
	Vault
	io.Closer
}, error) {
	return embedded.OpenVault(dir, mustExist)
}
