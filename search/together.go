package search

import (
	"fmt"

	"searchd/search/backend"
)

// together makes calls of the backend and returns the first error in their order. Over shards, where each is a round trip, they run side by side, see
// [backend.Together]. In one process they run one after another up to the first error: side by side they would only take the cores from other requests.
func (e *Engine) together(calls ...func() error) error {
	if e.cluster != nil {
		return backend.Together(calls...)
	}
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// protected makes a panic of f an error: in a goroutine of the engine it would end the process.
func protected(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f()
}
