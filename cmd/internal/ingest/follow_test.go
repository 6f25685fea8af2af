package ingest

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/extract"
)

// sharedShelf is a shelf for several goroutines.
type sharedShelf struct {
	mu    sync.Mutex
	shelf shelf
}

func (s *sharedShelf) put(ctx context.Context, docs []document) ([]result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shelf.put(ctx, docs)
}

func (s *sharedShelf) remove(ctx context.Context, ids []string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shelf.remove(ctx, ids)
}

func (s *sharedShelf) state(context.Context) (collectionState, error) {
	return collectionState{}, nil
}

func (s *sharedShelf) close() error { return nil }

func (s *sharedShelf) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shelf.String()
}

// A watched path is followed again after it was deleted, moved or replaced, with events of the
// system and without.
func TestWatchedFolderIsReplaced(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	type step struct {
		do   func(t *testing.T, top string)
		want string
	}
	move := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, top string) { must(t, os.Rename(top+from, top+to)) }
	}
	file := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, top string) { write(t, top+name, text) }
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, top string) { must(t, os.RemoveAll(top+name)) }
	}
	both := func(fs ...func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, top string) {
			for _, f := range fs {
				f(t, top)
			}
		}
	}
	const gone = "is gone" // a part of a notice
	for name, tt := range map[string]struct {
		path  string
		steps []step
	}{
		"deleted and made again": {"/c", []step{{remove("/c"), gone}, {file("/c/d.md", "four"), "d.md=four"}, {file("/c/e.md", "five"), "d.md=four e.md=five"}}},
		"deleted and made again at once": {"/c", []step{
			{both(remove("/c"), file("/c/d.md", "four")), "d.md=four"}, {file("/c/new/e.md", "five"), "d.md=four new/e.md=five"}}},
		"moved away and back": {"/c", []step{{move("/c", "/away"), gone}, {both(move("/away", "/c"), file("/c/d.md", "four")), "a.md=one b.md=two d.md=four sub/c.md=three"},
			{file("/c/sub/c.md", "changed"), "a.md=one b.md=two d.md=four sub/c.md=changed"}}},
		"moved away and back at once": {"/c", []step{{both(move("/c", "/away"), move("/away", "/c"), file("/c/sub/c.md", "changed")), "a.md=one b.md=two sub/c.md=changed"}}},
		"changed while it was away": {"/c", []step{{move("/c", "/away"), gone},
			{both(file("/away/a.md", "uno"), remove("/away/b.md"), move("/away", "/c")), "a.md=uno sub/c.md=three"}}},
		"another folder in its place": {"/c", []step{{both(move("/c", "/away"), file("/c/x.md", "other")), "x.md=other"}, {remove("/c/x.md"), ""}}},
		"an empty folder in its place": {"/c", []step{{both(move("/c", "/away"), func(t *testing.T, top string) { must(t, os.Mkdir(top+"/c", 0o755)) }), "files that were here are missing"},
			{file("/c/a.md", "uno"), "a.md=uno b.md=two sub/c.md=three"}}},
		"the folder above moved away and back": {"/c/sub", []step{{move("/c", "/away"), gone}, {both(move("/away", "/c"), file("/c/sub/d.md", "four")), "c.md=three d.md=four"},
			{file("/c/sub/e.md", "five"), "c.md=three d.md=four e.md=five"}}},
		"a file of a folder that is made again": {"/c/a.md", []step{{remove("/c"), gone}, {file("/c/a.md", "uno"), "a.md=uno"}, {file("/c/a.md", "due"), "a.md=due"}, {remove("/c/a.md"), ""}}},
		"a link that leads elsewhere": {"/link", []step{{both(file("/other/x.md", "other"), remove("/link"), func(t *testing.T, top string) { symlink(t, "other", top+"/link") }), "x.md=other"},
			{file("/other/y.md", "more"), "x.md=other y.md=more"}}},
		"a folder in it":      {"/c", []step{{remove("/c/sub"), "a.md=one b.md=two"}, {file("/c/sub/c.md", "again"), "a.md=one b.md=two sub/c.md=again"}}},
		"a file in its place": {"/c", []step{{both(move("/c", "/away"), file("/c", "no folder")), gone}, {both(remove("/c"), move("/away", "/c"), file("/c/a.md", "uno")), "a.md=uno b.md=two sub/c.md=three"}}},
	} {
		for _, mode := range []string{"events", "polling"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				top, to := t.TempDir(), &sharedShelf{shelf: shelf{}}
				write(t, top+"/c/a.md", "one")
				write(t, top+"/c/b.md", "two")
				write(t, top+"/c/sub/c.md", "three")
				symlink(t, "c", top+"/link")
				f := flags{state: t.TempDir(), server: "http://localhost"}
				if mode == "polling" {
					f.poll = 20 * time.Millisecond
				}
				p := pipelineOf(t, f, to)
				notices := make(chan string, 1000)
				p.notice = func(text string) { notices <- text }
				p.failures.stderr = writerFunc(func(b []byte) (int, error) { notices <- string(b); return len(b), nil })
				if err := p.once(t.Context(), []string{top + tt.path}, extract.Options{}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- p.watch(ctx, f, []string{top + tt.path}, extract.Options{}) }()
				defer func() {
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
				}()
				for text := range notices {
					if strings.HasPrefix(text, "watching") {
						break
					}
				}
				for i, s := range tt.steps {
					s.do(t, top)
				wait:
					for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
						if strings.Contains(s.want, " ") && !strings.Contains(s.want, "=") {
							select {
							case text := <-notices:
								if strings.Contains(text, s.want) {
									break wait
								}
							case <-time.After(20 * time.Second):
								t.Fatalf("step %d: no notice that contains %q", i+1, s.want)
							}
							continue
						}
						if to.String() == s.want {
							break
						}
						if time.Now().After(end) {
							t.Fatalf("step %d: the collection has %s, want %s", i+1, to, s.want)
						}
					}
				}
			})
		}
	}
}
