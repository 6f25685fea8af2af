//go:build unix

package extract

import (
	"os"
	"syscall"
)

// openFlags are for reading without waiting: a pipe that has taken the place of a file since it was
// looked at would block for ever.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
