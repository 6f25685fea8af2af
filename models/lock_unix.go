//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package models

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an exclusive flock without waiting; it goes with the file's last descriptor, so that a killed pull holds nobody up.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}
