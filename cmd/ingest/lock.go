package main

import (
	"os"

	"searchd/internal/disk"
)

// lockShared takes a lock that other runs may have at the same time. Where there are no locks
// nobody gets one alone, so that the journal and errors.jsonl keep their history.
func lockShared(f *os.File) { _ = disk.ShareLock(f) }

// lockAlone makes the lock one of this run alone, and reports false where another has it, too.
func lockAlone(f *os.File) bool {
	alone, _ := disk.TryLock(f)
	return alone
}
