package inference

import (
	"fmt"
	"testing"
)

// TestLRUBudget keeps more than the budget holds: the cost stays within it, and what was used last
// stays.
func TestLRUBudget(t *testing.T) {
	c := newLRU(10_000, func(key string, v []int) int { return len(key) + 8*len(v) })
	for i := range 500 {
		c.put(fmt.Sprintf("text %03d", i), make([]int, 10))
		c.get("text 001")
		if c.mu.spent > c.budget || len(c.mu.byKey) != c.len() {
			t.Fatalf("%d of %d, %d entries by key, %d in order", c.mu.spent, c.budget, len(c.mu.byKey), c.len())
		}
	}
	for key, want := range map[string]bool{"text 499": true, "text 000": false, "text 001": true} {
		if _, ok := c.get(key); ok != want {
			t.Errorf("%s is kept: %t, want %t", key, ok, want)
		}
	}
	if c.len() < 100 {
		t.Errorf("%d entries are kept", c.len())
	}
	c.put("too large", make([]int, 10_000))
	if c.mu.spent > c.budget {
		t.Errorf("%d of %d", c.mu.spent, c.budget)
	}
}
