package search

import (
	"fmt"
	"sync"
)

// together makes calls of the backend and returns the first error in their order. Over shards, where each is a round trip, they run side by side, the first in
// the caller's goroutine, and a panic in another is an error: there it would end the process. In one process they run one after another up to the first
// error: side by side they would only take the cores from other requests.
func (e *Engine) together(calls ...func() error) error {
	if e.cluster == nil {
		for _, call := range calls {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	}
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
