package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/searchd/internal/disk"
)

// lockName is the file in the data folder whose lock says that the folder is in use. It stays when
// the lock goes: removing it would let two processes hold locks on two files of the same name.
const lockName = "searchd.lock"

// takeLock locks dir or fails at once with ErrLocked. The file holds the pid of the last holder.
// Where there are no locks bbolt's own on the database keeps a second opener out.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: cannot open the lock file: %w", err)
	}
	if taken, err := disk.TryLock(f); !taken && !errors.Is(err, errors.ErrUnsupported) {
		holder := readPID(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("store: cannot lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("%w: %s is held by process %s (lock file %s)", ErrLocked, dir, holder, path)
	}
	// The pid only serves the message above; a disk too full for it must not keep the store from
	// being read.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// readPID returns the pid in a lock file, or "unknown".
func readPID(f *os.File) string {
	b := make([]byte, 20)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return "unknown"
	}
	s := strings.TrimSpace(string(b[:n]))
	if _, err := strconv.Atoi(s); err != nil {
		return "unknown"
	}
	return s
}
