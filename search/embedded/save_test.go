package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGraphIsSavedInProportion counts how often the graph is saved while documents come in one
// commit after another: what is written is a few times its last size, and not more of it the larger
// it is. What a kill leaves unsaved is replayed.
func TestGraphIsSavedInProportion(t *testing.T) {
	defer func(every int) { snapshotEvery = every }(snapshotEvery)
	snapshotEvery = 20
	l := newLibrary(t, "", 0)
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer func() { b.Close() }()
	c := b.mu.byName["docs"]
	const documents, commit = 1500, 10
	saves, written, most := 0, int64(0), 0
	for range documents / commit {
		before := c.write.unsaved
		l.add(t, b, commit)
		if c.write.unsaved > before {
			most = max(most, c.write.unsaved)
			continue
		}
		saves++
		info, err := os.Stat(filepath.Join(c.dir, graphFile))
		must(t, err)
		written += info.Size()
	}
	info, err := os.Stat(filepath.Join(c.dir, graphFile))
	must(t, err)
	if saves < 10 || written > 12*info.Size() || most > documents/snapshotShare+commit {
		t.Errorf("%d saves wrote %d bytes for a graph of %d, and left up to %d passages unsaved", saves, written, info.Size(), most)
	}
	c.write.unsaved = 0 // as a kill would: nothing is saved any more
	l.add(t, b, commit)
	c.write.unsaved = 0
	must(t, b.Close())
	b, err = Open(l.dir, Options{})
	must(t, err)
	l.exact(t, b, "after what was not saved was replayed")
	sound(t, b)
}

// TestOpeningIsTold waits for what is told while a collection is being opened.
func TestOpeningIsTold(t *testing.T) {
	defer func(often time.Duration) { openingInterval = often }(openingInterval)
	openingInterval = time.Millisecond
	told := make(chan string, 1)
	b := &Backend{notice: func(text string) {
		select {
		case told <- text:
		default:
		}
	}}
	defer b.reportOpening("docs")()
	if text := <-told; !strings.HasPrefix(text, "collection docs: being opened for ") {
		t.Errorf("told %q", text)
	}
}
