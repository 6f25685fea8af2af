package backend

import (
	"errors"
	"sync"
	"testing"
)

// TestOnce asks once for each key of a query, and again after an error, for another query and
// without one.
func TestOnce(t *testing.T) {
	calls := 0
	ask := func() (*int, error) {
		if calls++; calls == 1 {
			return nil, errors.New("first")
		}
		n := calls
		return &n, nil
	}
	q := WithQuery(t.Context())
	if _, err := Once(q, "a", ask); err == nil {
		t.Error("the first answer is no error")
	}
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			if n, err := Once(q, "a", ask); err != nil || *n != 2 {
				t.Errorf("the answer is %v, %v, want the second", n, err)
			}
		})
	}
	users.Wait()
	if n, _ := Once(q, "b", ask); *n != 3 {
		t.Errorf("another key has the answer %d, want 3", *n)
	}
	if n, _ := Once(WithQuery(q), "a", ask); *n != 4 {
		t.Errorf("another query has the answer %d, want 4", *n)
	}
	if n, _ := Once(t.Context(), "a", ask); *n != 5 {
		t.Errorf("without a query the answer is %d, want 5", *n)
	}
}
