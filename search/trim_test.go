package search

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestNothingIsKeptOfWhatIsGone makes collections, writes to them and drops them: the engine does
// not grow.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	e := trimmed(t)
	for i := range 20 {
		name := fmt.Sprintf("c%d", i)
		if _, err := e.CreateCollection(t.Context(), name, Settings{}); err != nil {
			t.Fatal(err)
		}
		if r, err := e.Ingest(t.Context(), name, []Document{{ID: "a", Fields: json.RawMessage(`{"text":"flip"}`)}}); err != nil || r[0].Err != nil {
			t.Fatal(r, err)
		}
		if i == 0 {
			continue
		}
		if err := e.DropCollection(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.mu.records) != 1 || len(e.mu.writers) != 1 {
		t.Errorf("%d records and %d locks are kept of one collection", len(e.mu.records), len(e.mu.writers))
	}
}

// TestWritersAreKeptOut forgets the lock of a collection that is gone, for which somebody waits: he
// is not there beside who has got the next one.
func TestWritersAreKeptOut(t *testing.T) {
	e := trimmed(t)
	stop := func() (start func()) {
		start, err := e.stopWriters(t.Context(), "gone")
		if err != nil {
			t.Error(err)
		}
		return start
	}
	first, second := stop(), make(chan func())
	go func() { second <- stop() }()
	time.Sleep(50 * time.Millisecond) // until it waits
	e.mu.Lock()
	delete(e.mu.writers, "gone") // as trim does in the moment between two of them
	e.mu.Unlock()
	third := stop()
	first()
	select {
	case <-second:
		t.Error("two are there at once")
	case <-time.After(100 * time.Millisecond):
		third()
		(<-second)()
	}
}

func trimmed(t *testing.T) *Engine {
	t.Helper()
	e, err := Open(t.TempDir(), Options{Embedder: &slowEmbedder{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}
