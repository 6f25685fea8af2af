package cluster

import (
	"os"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
)

// TestBackend runs the conformance suite on a cluster of one node with several partitions.
func TestBackend(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		dir, err := os.MkdirTemp("", "cluster")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		b, err := Open(t.Context(), dir, Options{Cluster: "test", Partitions: 3})
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}
