//go:build unix

package extract

import (
	"os"
	"syscall"
)

// openFlags avoid blocking on a pipe that has replaced a file.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
