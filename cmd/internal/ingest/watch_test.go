package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/searchd/extract"
)

// restorable is a sink whose collection can be put back to what it once was, while somebody else
// writes to it, too.
type restorable struct {
	mu    sync.Mutex
	ids   map[string]bool
	now   collectionState
	later func() // called once, when documents have been put
}

func newRestorable() *restorable {
	return &restorable{ids: map[string]bool{}, now: collectionState{Created: time.Unix(1, 0), Incarnation: "0"}}
}

func (r *restorable) put(_ context.Context, docs []document) ([]result, error) {
	r.mu.Lock()
	out := make([]result, len(docs))
	for i, d := range docs {
		if out[i].status = "unchanged"; !r.ids[d.id] {
			out[i].status = "created"
			r.now.Sequence++
		}
		r.ids[d.id] = true
	}
	later := r.later
	r.later = nil
	r.mu.Unlock()
	if later != nil {
		later()
	}
	return out, nil
}

// restore leaves a collection without our documents, with larger numbers than before.
func (r *restorable) restore() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.ids)
	for i := range 10 {
		r.ids[fmt.Sprint("other ", i)] = true
	}
	r.now.Sequence += 100
	r.now.Incarnation += "1"
}

func (r *restorable) has(ids ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool { return !r.ids[id] })
}

func (r *restorable) remove(context.Context, []string) (int, error) { return 0, nil }
func (r *restorable) close() error                                  { return nil }
func (r *restorable) state(context.Context) (collectionState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now
	now.Documents = len(r.ids)
	return now, nil
}

// A restored collection gets all files again: in the next run, in the run that it happens in, and
// while they are watched.
func TestRestored(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write(t, dir+"/a.md", "words of a")
	write(t, dir+"/b.md", "words of b")
	to := newRestorable()
	once := func() {
		t.Helper()
		p := pipelineOf(t, flags{state: state}, to)
		if err := p.once(t.Context(), []string{dir}, extract.Options{}); err != nil || !to.has("a.md", "b.md") {
			t.Fatalf("once: %v, the collection has %v", err, to.ids)
		}
	}
	once()
	to.restore()
	once()
	write(t, dir+"/c.md", "words of c")
	to.later = to.restore
	once()

	to.later = nil
	p := pipelineOf(t, flags{state: state}, to)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.watch(ctx, flags{poll: 10 * time.Millisecond}, []string{dir}, extract.Options{}) }()
	await := func(when string, ids ...string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !to.has(ids...); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the collection has %v, want %v in it", when, to.ids, ids)
			}
		}
	}
	to.restore()
	await("while nothing changes", "a.md", "b.md", "c.md")
	to.mu.Lock()
	to.later = to.restore // while d.md is sent
	to.mu.Unlock()
	write(t, dir+"/d.md", "words of d")
	await("while a file is sent", "a.md", "b.md", "c.md", "d.md")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What came through standard input is not there to be sent again.
func TestRestoredMeanwhile(t *testing.T) {
	to := newRestorable()
	to.later = to.restore
	p := pipelineOf(t, flags{state: t.TempDir()}, to)
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	fmt.Fprintln(w, `{"id":"1","text":"x"}`)
	w.Close()
	if err := p.once(t.Context(), []string{"-"}, extract.Options{Stdin: stdin}); err != errCollectionChanged {
		t.Errorf("once = %v, want %v", err, errCollectionChanged)
	}
}

// notifiedOf watches a path until the test ends.
func notifiedOf(t *testing.T, path string) *notified {
	t.Helper()
	watched, err := pipelineOf(t, flags{}, shelf{}).watchedPaths([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	src, err := newNotified(watched, extract.Options{})
	unlessLacking(t, err)
	t.Cleanup(func() { src.close() })
	return src.(*notified)
}

// symlink makes link lead to path.
func symlink(t *testing.T, path, link string) {
	t.Helper()
	unlessLacking(t, os.Symlink(path, link))
}

// unlessLacking ends a test of what Linux has, and other systems may lack.
func unlessLacking(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case runtime.GOOS == "linux":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// Where nothing changes one looks at the collection all the same; no change is lost to that.
func TestNotifiedLooks(t *testing.T) {
	dir := t.TempDir()
	n := notifiedOf(t, dir)
	n.check = 20 * time.Millisecond
	if dirty, err := n.next(t.Context()); err != nil || len(dirty) > 0 {
		t.Errorf("without a change: %v, %v", dirty, err)
	}
	n.check = settleTime / 2 // in the pause after the change
	write(t, dir+"/a.md", "words")
	var dirty []change
	var err error
	for end := time.Now().Add(10 * time.Second); len(dirty) == 0 && err == nil && time.Now().Before(end); {
		dirty, err = n.next(t.Context())
	}
	if err != nil || len(dirty) != 1 {
		t.Errorf("with a change: %v, %v", dirty, err)
	}
}

// A folder behind a symbolic link is followed as it is read; of a file behind one the system does
// not tell.
func TestNotifiedBehindLink(t *testing.T) {
	dir, link := t.TempDir(), t.TempDir()+"/link"
	write(t, dir+"/sub/a.md", "words")
	symlink(t, dir, link)
	src := notifiedOf(t, link)
	for _, name := range []string{"/b.md", "/sub/c.md"} {
		write(t, dir+name, "words")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if dirty, err := src.next(ctx); err != nil || len(dirty) != 1 || dirty[0].path != filepath.Dir(link+name) {
			t.Errorf("%s: told of %v, %v", name, dirty, err)
		}
		cancel()
	}
	symlink(t, dir+"/b.md", dir+"/link.md")
	watched, err := pipelineOf(t, flags{}, shelf{}).watchedPaths([]string{dir + "/link.md"})
	if err != nil {
		t.Fatal(err)
	}
	if src, err := newNotified(watched, extract.Options{}); err == nil {
		src.close()
		t.Error("the system tells of a file behind a link")
	}
}
