// Package heap paces the garbage collector of a process whose memory is mostly vectors.
//
// By default garbage may grow to the size of the live heap before it is collected, as a collection
// scans the live heap for pointers. Vectors have no pointers, so with a million of them, 1.8 GB,
// half of the process' memory would be garbage that is cheap to collect.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// least is the garbage, in bytes, that is always allowed, up to the size of the live heap.
const least = 256 << 20

// Pace adjusts GOGC after each collection so that collecting costs about as much processor time as
// by default: garbage may reach the size of the memory that has pointers, at least 256 MiB and at
// most the live heap. It does nothing where GOGC is set. A program calls it once, when it starts.
func Pace() {
	if os.Getenv("GOGC") != "" {
		return
	}
	type sentinel struct{ _ *int } // a pointer keeps it from being allocated together with others
	last := 100
	var look func(*sentinel)
	look = func(s *sentinel) { // called after each collection, as nothing refers to s
		if p := percent(use()); p != last {
			debug.SetGCPercent(p)
			last = p
		}
		runtime.SetFinalizer(s, look)
	}
	runtime.SetFinalizer(&sentinel{}, look)
}

// use returns the bytes of the live heap, and those of them in objects with pointers.
func use() (live, scan uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// percent is the allowed garbage, in hundredths of the live bytes, of which scan are in objects
// with pointers.
func percent(live, scan uint64) int {
	garbage := max(least, scan)
	if garbage >= live {
		return 100
	}
	return max(1, int(garbage*100/live))
}
