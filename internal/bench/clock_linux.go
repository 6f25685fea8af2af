package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that the calling thread has had, so that a piece of work does
// not look slow because others had their turn.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return wallTime()
	}
	return time.Duration(ts.Nano())
}
