package bench

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"searchd/internal/simd"
)

func TestMeasureKernels(t *testing.T) {
	active := simd.Active()
	k := MeasureKernels(32, 64, []int{3}, 0)
	if len(k.Products) != 4 {
		t.Fatalf("%d products, want 4", len(k.Products))
	}
	if simd.Active() != active {
		t.Errorf("the back end is %v afterwards, want %v", simd.Active(), active)
	}
	for _, p := range k.Products {
		if len(p.Bytes) != len(k.Bytes) || !(p.Gonum > 0 && p.VsGonum > 0) {
			t.Fatalf("%+v, want rates above 0 and one of bytes for each of %d ceilings", p, len(k.Bytes))
		}
		for _, r := range append(p.Bytes, p.Floats) {
			if !(r.Gops > 0) || (active == simd.Go) != (r.Share == 0) || r.Share > 1.5 {
				t.Errorf("%+v of %+v, want a rate and a share of the ceiling", r, p)
			}
		}
		if last := p.Bytes[len(p.Bytes)-1]; last.Backend != active.String() || p.Floats.Backend != active.String() {
			t.Errorf("%+v was measured with %s, want %v", p, last.Backend, active)
		}
	}
}

// TestResult has turns in which somebody else slowed the probe and the kernel, and in one kind the
// loop too; and a few without.
func TestResult(t *testing.T) {
	c := &contest{backend: simd.Go}
	for range 3 {
		for range 4 {
			c.turns = append(c.turns, turn{40e9, 50e9, 10e9}, turn{50e9, 100e9, 20e9})
		}
		c.turns = append(c.turns, turn{80e9, 100e9, 60e9}, turn{90e9, 100e9, 59e9})
	}
	r, peak := c.result()
	if r.Gops != 80 || r.Share != 0.8 || peak != 100 || r.Backend != "go" {
		t.Errorf("result = %+v, %v, want 80 Gop/s, 0.8 of 100", r, peak)
	}
	c.turns = []turn{{30e9, 0, 1}}
	if r, peak := c.result(); r.Gops != 30 || r.Share != 0 || peak != 0 {
		t.Errorf("without a ceiling result = %+v, %v, want 30 Gop/s and no share", r, peak)
	}
}

func TestRateCountsEveryCall(t *testing.T) {
	calls := 0
	clock := func() time.Duration { return time.Duration(calls) * 7 * time.Microsecond }
	got := work(func() float64 { calls++; return 3 }).rate(slice, clock)
	if want := 3 / 7e-6; got < want*0.999 || got > want*1.001 {
		t.Errorf("rate = %v for 3 operations in 7 µs, want %v", got, want)
	}
}

func TestBest(t *testing.T) {
	calls := 0
	slow := func() error { calls++; time.Sleep(time.Duration(3-calls) * time.Millisecond); return nil }
	best, err := Best(2, slow)
	if err != nil || best < time.Millisecond || best > time.Second {
		t.Errorf("Best = %v, %v, want the second, shorter run", best, err)
	}
	broken := errors.New("broken")
	if _, err := Best(2, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Best returns %v, want %v", err, broken)
	}
}

// TestThreadTime sleeps and then computes: the first takes no processor time where there is a clock
// of it, the second does.
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
