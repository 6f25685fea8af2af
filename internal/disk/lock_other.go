//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package disk

import (
	"errors"
	"os"
)

// TryLock returns [errors.ErrUnsupported].
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// ShareLock returns [errors.ErrUnsupported].
func ShareLock(*os.File) error { return errors.ErrUnsupported }
