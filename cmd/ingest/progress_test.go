package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"searchd/extract"
)

// slow is a sink that takes a while for what it is given, until the files are counted.
type slow struct {
	memory
	p *pipeline
}

func (s *slow) put(ctx context.Context, docs []document) ([]result, error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.p.mu.Lock()
		of := s.p.progress.of
		s.p.progress.told = time.Time{} // the next is told
		s.p.mu.Unlock()
		if of > 0 {
			break
		}
	}
	return s.memory.put(ctx, docs)
}

// A run says how many of the files it has read, with those of before that are unchanged, also where a folder has some that are passed over.
func TestProgressOfFiles(t *testing.T) {
	defer func(d time.Duration) { countAfter = d }(countAfter)
	countAfter = 0
	dir, state := t.TempDir(), t.TempDir()
	for i := range 3 {
		write(t, filepath.Join(dir, "old", fmt.Sprintf("%d.txt", i)), "text")
	}
	write(t, filepath.Join(dir, "picture.png"), "no text")
	told := func(t *testing.T) string {
		to := &slow{}
		p := pipelineOf(t, flags{state: state, workers: 2}, to)
		to.p = p
		var b strings.Builder
		p.progress = newProgress(&b)
		if err := p.run(t.Context(), []string{dir}, extract.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	t.Run("before", func(t *testing.T) { told(t) })
	for i := range 300 {
		write(t, filepath.Join(dir, "new", fmt.Sprintf("%d.txt", i)), "text")
	}
	t.Run("with new ones", func(t *testing.T) {
		if got := told(t); !strings.Contains(got, " documents, ") || !strings.Contains(got, " of 303 files\n") {
			t.Errorf("told %q, want how many of 303 files", got)
		}
	})
	p := newProgress(&strings.Builder{})
	for _, c := range []struct {
		files, of int
		want      string
	}{{0, 0, ""}, {0, 1, ""}, {1, 2, "1 of 2 files"}, {5, 4, "5 of 5 files"}} {
		if p.files, p.of = c.files, c.of; p.share() != c.want {
			t.Errorf("%+v: %q", c, p.share())
		}
	}
}
