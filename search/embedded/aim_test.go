package embedded

import (
	"encoding/json"
	"testing"

	"example.com/searchd/search/backend"
)

// TestTargetRecall changes the beam width of a collection in every way while it serves: the indexes
// stay open, and what was found is kept.
func TestTargetRecall(t *testing.T) {
	l := newLibrary(t, backend.QuantizeNone, 1500)
	var b *Backend
	open := func() *collection {
		t.Helper()
		var err error
		b, err = Open(l.dir, Options{})
		must(t, err)
		return b.mu.byName["docs"]
	}
	c := open()
	defer func() { b.Close() }()
	width := func() int { return c.graph.EfFor(10) }
	change := func(f func(*backend.Config)) {
		t.Helper()
		config := *c.config.Load()
		f(&config)
		must(t, on(b).Update(t.Context(), "docs", config))
		if b.mu.byName["docs"] != c {
			t.Fatal("the collection was opened again")
		}
		l.exact(t, b, "after a change")
		c.graph.Wait()
	}
	began := width()
	change(func(c *backend.Config) { c.TargetRecall = 0.5 })
	low := width()
	change(func(c *backend.Config) { c.TargetRecall = 0.999 })
	high := width()
	if low > began || began > high || low == high {
		t.Errorf("the width is %d for 0.98, %d for 0.5, %d for 0.999", began, low, high)
	}
	change(func(c *backend.Config) { c.EfSearch, c.TargetRecall = 77, 0 })
	if width() != 77 {
		t.Errorf("the width is %d, want 77", width())
	}
	change(func(c *backend.Config) { c.EfSearch, c.TargetRecall = 0, 0.5 })
	for _, when := range []string{"opened again", "and again"} {
		if width() != low {
			t.Errorf("the width is %d, want %d", width(), low)
		}
		must(t, b.Close())
		c = open()
		if c.graph.Busy() || width() != low {
			t.Errorf("%s: the width is %d, want %d, without looking for it", when, width(), low)
		}
	}

	// A data folder whose snapshot has the widths for another recall, as a crash leaves it: they
	// are found at the start.
	config := *c.config.Load()
	config.TargetRecall = 0.999
	settings, err := json.Marshal(config)
	must(t, err)
	if _, err := b.store.UpdateCollection(t.Context(), c.id, settings); err != nil {
		t.Fatal(err)
	}
	must(t, b.Close())
	c = open()
	if c.graph.Wait(); width() != high {
		t.Errorf("opened for another recall: the width is %d, want %d", width(), high)
	}
	sound(t, b)
}
