//go:build !linux

package bench

import "time"

// threadTime is the time of day here: there is no portable clock of a thread.
func threadTime() time.Duration { return wallTime() }
