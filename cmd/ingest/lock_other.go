//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import "os"

// lockShared does nothing where flock is missing.
func lockShared(*os.File) {}

// lockAlone is never sure of it there: the journal keeps its history.
func lockAlone(*os.File) bool { return false }
