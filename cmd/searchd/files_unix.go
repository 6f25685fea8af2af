//go:build unix

package main

import "syscall"

// openFiles returns how many files the process may have open; 0 if unknown.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // int64 on FreeBSD
}
