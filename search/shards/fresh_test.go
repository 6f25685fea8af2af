package shards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What is kept is good until something is written or a second has passed.
func TestFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fresh[int]
		asked := 0
		get := func(key string, writes int) int {
			v, err := f.get(t.Context(), key, fmt.Sprint(writes), func() (int, error) { asked++; return asked, nil })
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		for i, tt := range []struct {
			key    string
			writes int
			wait   time.Duration
			want   int
		}{{"a", 0, 0, 1}, {"a", 0, keptFor / 2, 1}, {"b", 0, 0, 2}, {"a", 1, 0, 3}, {"a", 1, 0, 3}, {"a", 1, keptFor, 4}, {"b", 1, 0, 5}} {
			time.Sleep(tt.wait)
			if got := get(tt.key, tt.writes); got != tt.want {
				t.Errorf("%d: %s after %d writes is %d, want %d", i, tt.key, tt.writes, got, tt.want)
			}
		}
		for i := range 10 * keptMost {
			get(fmt.Sprint(i), 1)
		}
		if n := len(f.mu.answers); n > keptMost {
			t.Errorf("%d answers are kept, at most %d are allowed", n, keptMost)
		}
	})
}

// Who asks at the same time gets one answer, unless whoever asked first had no time left: then another asks. An error is not kept.
func TestFreshTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fresh[int]
		var asked atomic.Int64
		fault := errors.New("fault")
		together := func(first context.Context, answer func() (int, error)) (values, faults, ended int) {
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 8 {
				ctx := t.Context()
				if i == 0 {
					ctx = first
				}
				wg.Go(func() {
					time.Sleep(time.Duration(i)) // the first one first
					_, err := f.get(ctx, "key", "", func() (int, error) {
						asked.Add(1)
						time.Sleep(time.Millisecond)
						if ctx.Err() != nil {
							return 0, ctx.Err()
						}
						return answer()
					})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						values++
					case errors.Is(err, fault):
						faults++
					default:
						ended++
					}
				})
			}
			wg.Wait()
			return values, faults, ended
		}
		if v, e, c := together(t.Context(), func() (int, error) { return 0, fault }); v != 0 || e != 8 || c != 0 || asked.Load() != 1 {
			t.Errorf("with a fault: %d values, %d faults, %d ended, asked %d times", v, e, c, asked.Load())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if v, e, c := together(ended, func() (int, error) { return 1, nil }); v != 7 || e != 0 || c != 1 || asked.Load() != 3 {
			t.Errorf("with one that has no time: %d values, %d faults, %d ended, asked %d times", v, e, c, asked.Load())
		}
		if v, e, c := together(t.Context(), func() (int, error) { return 1, fault }); v != 8 || e != 0 || c != 0 || asked.Load() != 3 {
			t.Errorf("with what is kept: %d values, %d faults, %d ended, asked %d times", v, e, c, asked.Load())
		}
	})
}
