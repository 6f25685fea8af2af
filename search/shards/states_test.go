package shards

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// told is a shard whose identity is told by a function.
type told struct {
	backend.Shard
	identity func(ctx context.Context) (backend.Identity, error)
}

func (s told) Identity(ctx context.Context) (backend.Identity, error) { return s.identity(ctx) }

// TestStates asks shards that answer, that refuse, that panic, that hang and that somebody else has claimed.
func TestStates(t *testing.T) {
	var parts []backend.Shard
	var names []string
	for _, kind := range []string{"up", "refused", "panics", "hangs", "claimed"} {
		b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		if err := b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		writes := []backend.Write{{ID: "a", Fields: []byte(`{"n":1}`)}, {ID: "b", Fields: []byte(`{"n":2}`)}}
		if _, err := b.Apply(t.Context(), "docs", writes); err != nil {
			t.Fatal(err)
		}
		parts, names = append(parts, told{b, func(ctx context.Context) (backend.Identity, error) {
			switch kind {
			case "refused":
				return backend.Identity{}, fmt.Errorf("%w: refused", backend.ErrUnavailable)
			case "panics":
				panic("at once")
			case "hangs":
				<-ctx.Done()
				return backend.Identity{}, ctx.Err()
			case "claimed":
				return backend.Identity{Epoch: 4}, nil
			}
			return backend.Identity{Epoch: 3}, nil
		}}), append(names, kind)
	}
	for _, counted := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		got := states(ctx, parts, names, 3, counted)
		cancel()
		documents := map[bool]int{true: 2}[counted]
		for i, s := range got {
			if s.Name != names[i] || s.ReadOnly != nil {
				t.Errorf("%s: %+v", names[i], s)
			}
		}
		for _, i := range []int{0, 4} {
			if s := got[i]; s.StoreBytes == 0 || s.Documents != documents {
				t.Errorf("%s: %+v, want %d documents", s.Name, s, documents)
			}
		}
		if got[0].Err != nil || !errors.Is(got[1].Err, backend.ErrUnavailable) || got[2].Err == nil || !errors.Is(got[3].Err, backend.ErrUnavailable) || !errors.Is(got[4].Err, backend.ErrClaimed) {
			t.Errorf("errors: %v, %v, %v, %v, %v", got[0].Err, got[1].Err, got[2].Err, got[3].Err, got[4].Err)
		}
	}
}
