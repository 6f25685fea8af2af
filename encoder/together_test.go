package encoder

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// TestTogether encodes single texts with a team that divides the output channels, and with one
// goroutine.
func TestTogether(t *testing.T) {
	for _, dir := range []string{"testdata/bert-mean", "testdata/modernbert", "testdata/qwen3-lasttoken"} {
		for _, p := range []Precision{Float32, Int8} {
			alone := load(t, dir, Options{Threads: 1, Precision: p})
			for _, threads := range []int{2, 5, 16} {
				m := load(t, dir, Options{Threads: threads, Precision: p})
				for _, text := range []string{"one", "a query of a few words, as people type them", "", "ünï 東京"} {
					want, err := alone.Encode(context.Background(), []string{text}, EncodeOptions{})
					if err != nil {
						t.Fatal(err)
					}
					got, err := m.Encode(context.Background(), []string{text}, EncodeOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if d := difference(got.Vectors[0], want.Vectors[0]); d > tolerance {
						t.Errorf("%s %v, %d goroutines, %q: differs by %.2g", dir, p, threads, text, d)
					}
				}
			}
		}
	}
}

func TestTogetherCancel(t *testing.T) {
	m := load(t, "testdata/modernbert", Options{Threads: 3})
	for n := range int64(8) {
		ctx := &countdown{Context: context.Background()}
		ctx.left.Store(n)
		if _, err := m.Encode(ctx, []string{"a query"}, EncodeOptions{}); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v, want %v", n, err, context.Canceled)
		}
		if len(m.slots) != 0 {
			t.Fatalf("after %d looks: %d slots taken", n, len(m.slots))
		}
	}
}

// TestMeeting counts rounds: nobody may be a round ahead of another.
func TestMeeting(t *testing.T) {
	const size, rounds = 4, 500
	var at [rounds]atomic.Int32
	team(size).together(func(_ int, m *barrier) {
		for i := range at {
			at[i].Add(1)
			m.wait()
			if n := at[i].Load(); n != size {
				t.Errorf("round %d: %d were here, want %d", i, n, size)
				m.leave()
			}
		}
	})
}

func TestTogetherPanics(t *testing.T) {
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v, want broken", got)
		}
	}()
	team(3).together(func(worker int, m *barrier) {
		m.wait()
		if worker == 1 {
			panic("broken")
		}
		m.wait()
	})
}
