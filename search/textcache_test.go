package search

import (
	"fmt"
	"testing"
)

// TestTextCacheBudget keeps more texts than the budget holds: the bytes stay within it, and what was used last stays.
func TestTextCacheBudget(t *testing.T) {
	c := newTextCache(10_000)
	for i := range 500 {
		c.keep(&cachedText{fmt.Sprintf("text %03d", i), make([]float32, 10)})
		if c.mu.bytes > c.budget || len(c.mu.byText) != c.mu.order.Len() {
			t.Fatalf("%d bytes of %d, %d entries by text, %d in order", c.mu.bytes, c.budget, len(c.mu.byText), c.mu.order.Len())
		}
	}
	if c.mu.byText["text 499"] == nil || c.mu.byText["text 000"] != nil || len(c.mu.byText) < 20 {
		t.Errorf("%d texts are kept: %t %t", len(c.mu.byText), c.mu.byText["text 499"] != nil, c.mu.byText["text 000"] != nil)
	}
	c.keep(&cachedText{"too large", make([]float32, 10_000)})
	if c.mu.bytes > c.budget {
		t.Errorf("%d bytes of %d", c.mu.bytes, c.budget)
	}
}
