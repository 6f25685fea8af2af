package shards_test

import (
	"fmt"
	"testing"

	"searchd/search/backend"
	"searchd/search/backend/backendtest"
)

// TestBackend holds backends of one shard and of three to what the seam says.
func TestBackend(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backend.Backend { return newData(t, n).mustOpen(t) })
		})
	}
}
