//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"errors"
	"os"
	"syscall"
)

// lockShared takes an flock that other runs may have at the same time; it goes with the file, so that a killed run holds nobody up. Where the
// file system has no locks nobody gets one alone.
func lockShared(f *os.File) { flock(f, syscall.LOCK_SH) }

// lockAlone makes the lock one of this run alone, and reports false where another has it, too.
func lockAlone(f *os.File) bool { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

func flock(f *os.File, how int) bool {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err == nil
		}
	}
}
