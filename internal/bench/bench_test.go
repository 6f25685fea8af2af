package bench

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"searchd/internal/simd"
)

func TestMeasureKernels(t *testing.T) {
	k := MeasureKernels(32, 64, []int{3})
	if len(k.Products) != 4 {
		t.Fatalf("%d products, want 4", len(k.Products))
	}
	for _, p := range k.Products {
		if !(p.Floats > 0 && p.Bytes > 0 && p.Gonum > 0 && p.VsGonum > 0) {
			t.Errorf("%+v, want rates above 0", p)
		}
		if (simd.Active() == simd.Go) != (p.Share == 0) || p.Share > 1.5 {
			t.Errorf("%+v has the share %v of %v", p, p.Share, k.Floats)
		}
	}
}

func TestBest(t *testing.T) {
	calls := 0
	slow := func() error { calls++; time.Sleep(time.Duration(3-calls) * time.Millisecond); return nil }
	best, err := Best(2, slow, func() error { return nil })
	if err != nil || best[0] < time.Millisecond || best[0] > best[1]+time.Second || best[1] > best[0] {
		t.Errorf("Best = %v, %v, want the second, shorter run", best, err)
	}
	broken := errors.New("broken")
	if _, err := Best(2, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Best returns %v, want %v", err, broken)
	}
}

// TestThreadTime sleeps and then computes: the first takes no processor time where there is a clock of it, the second does.
func TestThreadTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	time.Sleep(200 * time.Millisecond)
	if took := threadTime() - began; runtime.GOOS == "linux" && took > 100*time.Millisecond {
		t.Errorf("200 ms of sleep took %v of processor time", took)
	}
	began = threadTime()
	for x := 0.0; threadTime()-began < 20*time.Millisecond; x++ { // ends only if the clock moves
		_ = x
	}
}
