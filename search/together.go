package search

import (
	"fmt"
	"sync"
)

// together runs calls side by side, the first in the caller's goroutine, and returns the first error in their order. Over shards each call is a round trip.
// A panic in another goroutine is an error: there it would end the process.
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	defer wg.Wait() // also where the first panics
	for i, call := range calls[1:] {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i+1] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i+1] = call()
		})
	}
	errs[0] = calls[0]()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
