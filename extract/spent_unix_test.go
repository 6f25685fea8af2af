//go:build unix

package extract

import (
	"syscall"
	"time"
)

// spent is the processor time that this process has taken: what a test takes by it does not depend
// on what else the machine does.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
