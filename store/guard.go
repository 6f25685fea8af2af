package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// errFault is wrapped by guard for a panic that it caught.
var errFault = errors.New("fault")

// guard runs fn and turns a panic into an error that wraps errFault. bbolt reads the file through a
// memory map and trusts its pages: a page that went bad after opening shows as a panic, or as
// SIGBUS, which kills the process unless the goroutine asked for a panic instead. Callers'
// functions must not run inside guard, so that their panics stay theirs.
func guard(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			if re, ok := p.(runtime.Error); ok {
				err = fmt.Errorf("%w while reading the file: %w", errFault, re)
				return
			}
			err = fmt.Errorf("%w while reading the file: %v", errFault, p)
		}
	}()
	return fn()
}

// damaged returns err, or a *DamagedError in its place where guard caught a panic.
func (s *Store) damaged(err error) error {
	if errors.Is(err, errFault) {
		return &DamagedError{Path: s.path, Detail: err.Error()}
	}
	return err
}
