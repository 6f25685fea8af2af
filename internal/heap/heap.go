// Package heap paces the garbage collector of a process whose memory is mostly vectors.
//
// By default a Go process may fill as much again as is in use with garbage before that is
// collected, as the work of a collection grows with what is in use: it has to look for pointers
// there. Vectors hold none, so that with a million of them, 1.8 GB, half of the memory of the
// process would be garbage that is cheap to collect.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// least is the garbage, in bytes, that is always let be, as long as as much is in use.
const least = 256 << 20

// Pace sets the percentage of garbage after each collection, from now on, so that collecting costs
// about as much processor time as it does by default: garbage may be as much as holds pointers, 256
// MiB at least and what is in use at most. Where GOGC is set, that holds instead. The limit of
// GOMEMLIMIT holds in any case. A program calls it once, when it begins.
func Pace() {
	if os.Getenv("GOGC") != "" {
		return
	}
	type sentinel struct{ _ *int } // a pointer keeps it from being allocated together with others
	last := 100
	var look func(*sentinel)
	look = func(s *sentinel) { // which nothing refers to: it is called after each collection
		if p := percent(use()); p != last {
			debug.SetGCPercent(p)
			last = p
		}
		runtime.SetFinalizer(s, look)
	}
	runtime.SetFinalizer(&sentinel{}, look)
}

// use returns the bytes that are in use, and those of them in objects with pointers.
func use() (live, scan uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// percent is the garbage that may be there beside live bytes, of which scan are in objects with
// pointers, in hundredths of live.
func percent(live, scan uint64) int {
	garbage := max(least, scan)
	if garbage >= live {
		return 100
	}
	return max(1, int(garbage*100/live))
}
