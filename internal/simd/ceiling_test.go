package simd

import (
	"testing"
	"time"
)

// race times f, and in turn with it the loop that reaches the back end's ceiling, in slices of some
// tens of microseconds, and reports the best of each: on a shared machine the mean says how busy
// the others are. work is the number of operations of one f, ceiling does a known number of them,
// or 0 where there is no such loop.
func race(b *testing.B, work float64, ceiling func() float64, f func()) {
	const slice = 50 * time.Microsecond
	f()
	start, calls := time.Now(), 0
	for time.Since(start) < slice || calls == 0 {
		f()
		calls++
	}
	best, peak := time.Hour, 0.0
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		for range calls {
			f()
		}
		best = min(best, time.Since(start)/time.Duration(calls))
		start = time.Now()
		if n := ceiling(); n > 0 {
			peak = max(peak, n/time.Since(start).Seconds())
		}
	}
	rate := work / best.Seconds()
	b.ReportMetric(float64(best.Nanoseconds()), "ns/op")
	b.ReportMetric(rate/1e9, "Gop/s")
	if peak > 0 {
		b.ReportMetric(100*rate/peak, "%peak")
	}
}
