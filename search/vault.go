package search

import (
	"io"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// Vault returns where the engine keeps small values of the whole data folder, such as API keys. It lives as long as the engine.
func (e *Engine) Vault() backend.Values { return e.backend }

// OpenVault opens the small values of a data folder that no process uses, without its indexes and without a checkpoint. The folder is
// made if it is missing, unless mustExist. The caller closes what it gets.
func OpenVault(dir string, mustExist bool) (interface {
	backend.Values
	io.Closer
}, error) {
	return embedded.OpenVault(dir, mustExist)
}
