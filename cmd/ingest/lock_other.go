//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import "os"

// lockShared does nothing where flock is missing.
func lockShared(*os.File) {}

// lockAlone is never sure of it there: the journal and errors.jsonl keep their history.
func lockAlone(*os.File) bool { return false }
