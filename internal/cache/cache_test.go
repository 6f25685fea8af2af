package cache

import "testing"

func TestCache(t *testing.T) {
	const budget = 64 * (overhead + 100)
	c := New[int, int](budget)
	c.Put(-1, 7, 100)
	for i := range 1000 {
		c.Put(i, i, 100)
		if v, ok := c.Get(-1); !ok || v != 7 {
			t.Fatalf("after %d values the one that is read is %d, %v, want 7", i, v, ok)
		}
		if n := c.Bytes(); n > budget {
			t.Fatalf("%d bytes after %d values, want at most %d", n, i, budget)
		}
	}
	if _, ok := c.Get(0); ok {
		t.Error("the first of 1000 values is kept")
	}
	if v, ok := c.Get(999); !ok || v != 999 {
		t.Errorf("the last value is %d, %v", v, ok)
	}
	if n := c.Len(); n < 32 || n > 64 {
		t.Errorf("%d values are kept, want 32 to 64", n)
	}
	c.Put(1000, 7, budget)
	if _, ok := c.Get(1000); ok || c.Bytes() > budget {
		t.Errorf("a value larger than the cache is kept: %t, %d bytes", ok, c.Bytes())
	}
}
