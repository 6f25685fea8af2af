//go:build !unix

package extract

import "time"

var began = time.Now()

// spent is the time since this process began.
func spent() time.Duration { return time.Since(began) }
