//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package store

import "os"

// lockFile does nothing where flock is missing: bbolt's own lock on the database keeps a second opener out.
func lockFile(*os.File) error { return nil }
