package pdf

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// limit gives this process so many seconds of the processor and so many bytes of addresses beyond those that it has. Go reserves addresses
// in advance, so that the limit has to leave room for more than the heap.
func limit(seconds, memory uint64) error {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(b, []byte(" "))
	pages, err := strconv.ParseUint(string(first), 10, 63)
	if err != nil {
		return fmt.Errorf("/proc/self/statm: %w", err)
	}
	space := pages*uint64(os.Getpagesize()) + memory
	for resource, max := range map[int]uint64{syscall.RLIMIT_AS: space, syscall.RLIMIT_CPU: seconds, syscall.RLIMIT_CORE: 0, syscall.RLIMIT_FSIZE: 0} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		max = min(max, now.Max)
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: max, Max: max}); err != nil {
			return err
		}
	}
	return nil
}
