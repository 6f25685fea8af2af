package embedded

import (
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
)

// TestBackend runs the conformance suite.
func TestBackend(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		b, err := Open(t.TempDir(), Options{})
		must(t, err)
		return b
	})
}

// TestChangesAreSupported keeps the conformance suite from skipping its test of the change log.
func TestChangesAreSupported(t *testing.T) {
	_, err := openDocs(t, Options{}).Changes(t.Context(), backend.ChangesRequest{Collection: "docs"})
	must(t, err)
}

// on makes calls of a backend with a part of a request each.
func on(b *Backend) backendtest.Calls { return backendtest.Calls{Backend: b} }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
