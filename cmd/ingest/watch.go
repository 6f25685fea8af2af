package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"searchd/extract"
)

// Times of a watch.
const (
	quiet      = 300 * time.Millisecond // without an event, after which what has changed is read
	impatience = time.Second            // after the first event, however many follow
	pollEvery  = time.Second
	retryAfter = 5 * time.Second
	lookAfter  = 30 * time.Second // without a change, after which one looks whether the collection is still the same
)

// watched is a path that is watched.
type watched struct {
	path string // as it was given
	root string // what ids are relative to, made absolute
	file bool
	info fs.FileInfo // of root when the watch began
}

// watch reads again what changes under paths, until ctx ends. A file that goes away while it is
// watched takes its documents with it.
func (p *pipeline) watch(ctx context.Context, f flags, paths []string, o extract.Options) error {
	roots, err := watchedPaths(paths)
	if err != nil {
		return err
	}
	p.watching = true
	p.failures.all = true
	var src changes
	if f.poll == 0 {
		if src, err = newNotified(roots, o); err != nil {
			p.notice(fmt.Sprintf("the system does not tell of changes (%v); looking at all files every %v instead", err, pollEvery))
		}
	}
	if src == nil {
		src = newPolled(roots, f.poll)
	}
	defer func() { src.close() }()
	p.notice("watching; interrupt it to end")
	for {
		dirty, err := src.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			p.notice(fmt.Sprintf("watching: %v; looking at all files every %v instead", err, pollEvery))
			src.close()
			src = newPolled(roots, f.poll)
			continue
		}
		for err := p.follow(ctx, dirty, roots, o); err != nil; err = p.follow(ctx, roots, roots, o) {
			switch {
			case ctx.Err() != nil:
				return nil
			case f.server == "" || errors.Is(err, errStop):
				return err
			}
			p.notice(fmt.Sprintf("%v; trying again in %v", err, retryAfter))
			select {
			case <-time.After(retryAfter):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func watchedPaths(paths []string) ([]watched, error) {
	var out []watched
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("--watch: %w", err)
		}
		w := watched{path: path, file: !info.IsDir()}
		dir := path
		if w.file {
			dir = filepath.Dir(path)
		}
		if w.root, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
		if w.info, err = os.Stat(dir); err != nil {
			return nil, fmt.Errorf("--watch: %w", err)
		}
		out = append(out, w)
	}
	return out, nil
}

// follow reads what is dirty and deletes what has gone. Where the collection is another one than
// before, all of roots is read.
func (p *pipeline) follow(ctx context.Context, dirty, roots []watched, o extract.Options) error {
	now, err := p.sink.state(ctx)
	if err != nil {
		return err
	}
	another, err := p.journal.goOn(now)
	for err == nil {
		if another {
			p.notice(errAnother.Error() + ": all files are sent again")
			dirty = roots
		}
		before := maps.Clone(p.counts.byStatus)
		if err := p.again(ctx, dirty, o); err != nil {
			return err
		}
		line := p.counts.line(before)
		if line != "" {
			p.progress.clear()
			p.notice(time.Now().Format(time.TimeOnly) + " " + line)
		} else if !another {
			return nil
		}
		if another, err = p.settle(ctx); !another {
			return err
		}
	}
	return err
}

// again reads what is dirty and deletes what has gone.
func (p *pipeline) again(ctx context.Context, dirty []watched, o extract.Options) error {
	for _, d := range dirty {
		// A folder that is another one now, or none, is a disk that was taken out rather than files
		// that were deleted.
		if info, err := os.Stat(d.root); err != nil || !os.SameFile(info, d.info) {
			if err := p.fail(extract.ItemError{Path: d.root, Warning: true, Reason: "the folder is not the one that the watch began with: left as it was"}); err != nil {
				return err
			}
			continue
		}
		o.Root = d.root
		path := d.path
		for !d.file && path != d.root && absent(path) {
			path = filepath.Dir(path)
		}
		in, err := scopes([]string{path}, d.root)
		if err != nil {
			return err
		}
		if d.file && noFile(path) {
			in = []scope{{root: d.root, sub: filepath.Base(path), file: true}}
		} else if err := p.run(ctx, []string{path}, o); err != nil {
			return err
		}
		if err := p.missing(ctx, in, true); err != nil {
			return err
		}
	}
	return nil
}

// changes tells where something has changed.
type changes interface {
	next(ctx context.Context) ([]watched, error) // waits for it, or for lookAfter without anything
	close()
}

// polled looks at everything every so often.
type polled struct {
	roots []watched
	every time.Duration
	last  time.Time // when next returned
}

func newPolled(roots []watched, every time.Duration) *polled {
	if every == 0 {
		every = pollEvery
	}
	return &polled{roots: roots, every: every, last: time.Now()}
}

func (s *polled) next(ctx context.Context) ([]watched, error) {
	// Looking must not take most of the time, however many files there are.
	wait := min(max(s.every, 4*time.Since(s.last)), time.Minute)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.last = time.Now()
	return s.roots, nil
}

func (s *polled) close() {}

// below reports whether path is dir or lies in it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// outermost leaves out what lies in another folder of the list.
func outermost(dirty []watched) []watched {
	slices.SortFunc(dirty, func(a, b watched) int { return strings.Compare(a.path, b.path) })
	var out []watched
	for _, d := range dirty {
		if !slices.ContainsFunc(out, func(o watched) bool { return !o.file && o.root == d.root && below(d.path, o.path) || o == d }) {
			out = append(out, d)
		}
	}
	return out
}
