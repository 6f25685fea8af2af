package embedded

import (
	"testing"

	"searchd/search/backend"
	"searchd/search/backend/backendtest"
)

// TestBackend holds the backend to what the seam says.
func TestBackend(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		b, err := Open(t.TempDir(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}
