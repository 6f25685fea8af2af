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

// A run says how many of the files it has read, with those of before that are unchanged, also where
// a folder has some that are passed over.
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
	t.Run("one large file", func(t *testing.T) {
		line := fmt.Sprintf("{\"text\":%q}\n", strings.Repeat("word ", 1<<14))
		dir = t.TempDir()
		write(t, filepath.Join(dir, "large.jsonl"), strings.Repeat(line, largeSize/len(line)+1))
		state = t.TempDir()
		if got := told(t); !strings.Contains(got, "% of 8.4 MB\n") || strings.Contains(got, " 0% of") || strings.Contains(got, "files") {
			t.Errorf("told %q, want how much of the file", got)
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
	p.files, p.of = 0, 0
	for _, c := range []struct {
		done, same, at int64
		passed         time.Duration
		want           string
	}{
		{0, 0, 250 << 20, time.Minute, ", 3m0s left"},
		{500 << 20, 250 << 20, 0, time.Minute, ", 2m0s left"}, // what was passed over took no time
		{0, 0, 100 << 20, time.Hour, ", 9h0m0s left"},
		{0, 0, 1 << 20, time.Hour, ""},
		{0, 0, 500 << 20, time.Second, ""},
		{1000 << 20, 0, 0, time.Hour, ""},
		{1000 << 20, 1000 << 20, 1 << 20, time.Hour, ""}, // it has grown
	} {
		p.size, p.done, p.same, p.at = 1000<<20, c.done, c.same, c.at
		if got := p.left(c.passed); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// stuck is a sink that takes what it is given only when something is told.
type stuck struct {
	memory
	p    *pipeline
	told *strings.Builder
}

func (s *stuck) put(ctx context.Context, docs []document) ([]result, error) {
	s.p.mu.Lock()
	s.p.progress.told = time.Time{} // the next is told
	s.p.mu.Unlock()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.p.mu.Lock()
		n := s.told.Len()
		s.p.mu.Unlock()
		if n > 0 {
			return s.memory.put(ctx, docs)
		}
	}
	return nil, fmt.Errorf("nothing is told for 20 s")
}

// Who waits for a batch that takes long is told that the run goes on.
func TestProgressOfSlowBatch(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "text")
	var b strings.Builder
	to := &stuck{told: &b}
	p := pipelineOf(t, flags{state: t.TempDir(), workers: 1}, to)
	to.p, p.progress = p, newProgress(&b)
	if err := p.run(t.Context(), []string{dir}, extract.Options{}); err != nil {
		t.Fatal(err)
	}
}
