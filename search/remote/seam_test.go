package remote

import (
	"testing"

	"searchd/search/backend"
	"searchd/search/backend/backendtest"
	"searchd/search/shards"
)

// TestSeam holds a shard behind HTTP to what every backend must do.
func TestSeam(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		return dial(t, openNode(t))
	})
}

// TestSeamOfShards holds shards behind HTTP, as one backend, to it.
func TestSeamOfShards(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		var list []backend.Shard
		for range 3 {
			list = append(list, dial(t, openNode(t)))
		}
		b, err := shards.Open(t.Context(), list, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}
