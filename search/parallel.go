package search

import (
	"sync"

	"searchd/search/fault"
)

// sideBySide makes two calls at once, the first in the goroutine of the caller, waits for both, and
// returns the first error in their order. A panic of the second is an error: in a goroutine of its
// own it would end the process.
func sideBySide(first, second func() error) error {
	var secondErr error
	var wg sync.WaitGroup
	defer wg.Wait() // also where the first panics
	wg.Go(func() { secondErr = fault.Protect(second) })
	err := first()
	wg.Wait()
	if err == nil {
		err = secondErr
	}
	return err
}
