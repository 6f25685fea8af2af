package search

import (
	"context"
	"errors"
	"math"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// TestComplete checks that Options.Complete leaves no rebuild to the background.
func TestComplete(t *testing.T) {
	defer func(open func(context.Context, string, embedded.Options) (backend.Backend, error)) {
		openBackend = open
	}(openBackend)
	stop := errors.New("stop")
	for complete, want := range map[bool]int{false: 0, true: math.MaxInt} {
		openBackend = func(_ context.Context, _ string, o embedded.Options) (backend.Backend, error) {
			if o.RebuildFrom != want {
				t.Errorf("Complete %t: RebuildFrom is %d, want %d", complete, o.RebuildFrom, want)
			}
			return nil, stop
		}
		if _, err := Open(t.TempDir(), Options{Complete: complete}); !errors.Is(err, stop) {
			t.Errorf("Open: %v", err)
		}
	}
}
