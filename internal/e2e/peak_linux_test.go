package e2e

import (
	"os"
	"syscall"
)

// peakMemory tells the most that was resident of a program that has ended, or of one of its
// children, in bytes.
func peakMemory(s *os.ProcessState) int64 { return int64(s.SysUsage().(*syscall.Rusage).Maxrss) << 10 }
