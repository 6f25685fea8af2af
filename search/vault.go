package search

import (
	"errors"
	"io"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// ErrNoVault is returned by [Engine.Vault] over a backend that keeps documents only.
var ErrNoVault = errors.New("this backend keeps no values besides documents")

// Vault returns where the engine keeps small values of the whole data folder, such as API keys. It lives as long as the engine.
func (e *Engine) Vault() (backend.Values, error) {
	if v, ok := e.backend.(backend.Values); ok {
		return v, nil
	}
	return nil, ErrNoVault
}

// OpenVault opens the small values of a data folder that no process uses, without its indexes and without a checkpoint. The folder is
// made if it is missing, unless mustExist. The caller closes what it gets.
func OpenVault(dir string, mustExist bool) (interface {
	backend.Values
	io.Closer
}, error) {
	return embedded.OpenVault(dir, mustExist)
}
