//go:build unix

package extract

import (
	"os"
	"syscall"
)

// openRegular opens path for reading without waiting: a pipe that has taken the place of a file since it was looked at would block for ever.
func openRegular(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
