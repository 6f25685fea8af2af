package ingest

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

	"example.com/searchd/extract"
)

// Times of a watch.
const (
	settleTime    = 300 * time.Millisecond // without an event, after which changes are read
	maxSettleTime = time.Second            // after the first event, however many follow
	pollInterval  = time.Second            // between looks at the watched folders themselves, or at all files
	retryInterval = 5 * time.Second
	checkInterval = 30 * time.Second // without a change, after which the collection is checked
)

// watchedPath is a path that is watched.
type watchedPath struct {
	dir  string      // absolute: the folder that is watched
	file string      // name of the file in dir that was given; empty: all of dir
	root string      // the folder that ids are relative to
	info fs.FileInfo // of dir when it was last looked at; nil: it was missing

	version   int // grows whenever dir disappears, is back, or is another folder
	processed int // the version that was read
}

// change is a watched path, or a part of it, that is to be read again.
type change struct {
	*watchedPath
	path string
}

func (w *watchedPath) path() string { return filepath.Join(w.dir, w.file) }

// exists looks at the folder, which may be another one than before.
func (w *watchedPath) exists() bool {
	info, err := os.Stat(w.dir)
	if err != nil || !info.IsDir() {
		info = nil
	}
	if (info == nil) != (w.info == nil) || info != nil && !os.SameFile(info, w.info) {
		w.info = info
		w.version++
	}
	return info != nil
}

// lost notes that the folder was moved or deleted, even where it is back by now.
func (w *watchedPath) lost() { w.info, w.version = nil, w.version+1 }

// watch reads what changes under paths until ctx ends, and deletes the documents of files that go.
func (p *pipeline) watch(ctx context.Context, f flags, paths []string, o extract.Options) error {
	watched, err := p.watchedPaths(paths)
	if err != nil {
		return err
	}
	p.watching = true
	p.failures.all = true
	var src changes
	if f.poll == 0 {
		if src, err = newNotified(watched, o); err != nil {
			p.notice(fmt.Sprintf("the system does not report changes (%v); looking at all files every %v instead", err, pollInterval))
		}
	}
	if src == nil {
		src = newPolled(watched, f.poll)
	}
	defer func() { src.close() }()
	p.notice("watching; interrupt it to end")
	for {
		dirty, err := src.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			p.notice(fmt.Sprintf("watching: %v; looking at all files every %v instead", err, pollInterval))
			src.close()
			src = newPolled(watched, f.poll)
			continue
		}
		for err := p.follow(ctx, dirty, watched, o); err != nil; err = p.follow(ctx, everything(watched), watched, o) {
			switch {
			case ctx.Err() != nil:
				return nil
			case f.server == "" || errors.Is(err, errStop):
				return err
			}
			p.notice(fmt.Sprintf("%v; trying again in %v", err, retryInterval))
			select {
			case <-time.After(retryInterval):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (p *pipeline) watchedPaths(paths []string) (out []*watchedPath, err error) {
	roots, err := p.journal.roots(paths)
	if err != nil {
		return nil, err
	}
	for _, r := range roots {
		for _, path := range r.paths {
			info, err := os.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("--watch: %w", err)
			}
			w := &watchedPath{root: r.root}
			if w.dir, err = filepath.Abs(path); err != nil {
				return nil, err
			}
			if !info.IsDir() {
				w.dir, w.file = filepath.Split(w.dir)
				w.dir = filepath.Clean(w.dir)
			}
			if w.root == "" {
				w.root = w.dir
			}
			w.exists()
			w.processed = w.version
			out = append(out, w)
		}
	}
	return out, nil
}

func everything(watched []*watchedPath) (all []change) {
	for _, w := range watched {
		all = append(all, change{w, w.path()})
	}
	return all
}

// follow processes changes. Where the collection is another one than before, it processes all of
// watched.
func (p *pipeline) follow(ctx context.Context, dirty []change, watched []*watchedPath, o extract.Options) error {
	now, err := p.sink.state(ctx)
	if err != nil {
		return err
	}
	another, err := p.journal.checkCollection(now)
	for err == nil {
		if another {
			p.notice(errCollectionChanged.Error() + ": all files are sent again")
			dirty = everything(watched)
		}
		before := maps.Clone(p.counts.byStatus)
		for _, c := range dirty {
			if err := p.process(ctx, c, o); err != nil {
				return err
			}
		}
		line := p.counts.line(before)
		if line != "" {
			p.notice(time.Now().Format(time.TimeOnly) + " " + line)
		} else if !another {
			return nil
		}
		if another, err = p.noteState(ctx); !another {
			return err
		}
	}
	return err
}

// process reads what has changed and deletes what is missing. A folder that is missing keeps its
// documents, as it may be on a disk that was removed, and so does one that is empty when it is
// back.
func (p *pipeline) process(ctx context.Context, c change, o extract.Options) error {
	exists := c.exists()
	replaced := c.processed != c.version
	switch {
	case !exists && replaced:
		c.processed = c.version
		p.notice(fmt.Sprintf("%s is gone: its documents stay, and it is watched again when it returns", c.dir))
		return nil
	case !exists:
		return nil
	case replaced:
		p.notice(fmt.Sprintf("%s is back, or another folder: reading all of it", c.dir))
		c.path = c.watchedPath.path()
	}
	o.Root = c.root
	for c.file == "" && c.path != c.dir && absent(c.path) {
		c.path = filepath.Dir(c.path)
	}
	in, err := p.journal.scopes([]string{c.path}, c.root)
	if err != nil {
		return err
	}
	if c.file != "" && fileGone(c.path) {
		in = []scope{p.journal.newScope(c.root, c.path, true)}
	} else if err := p.run(ctx, []string{c.path}, o); err != nil {
		return err
	}
	if err := p.missing(ctx, in, true, !replaced); err != nil {
		return err
	}
	c.processed = c.version
	return nil
}

// changes is a source of changes.
type changes interface {
	next(ctx context.Context) ([]change, error) // waits for changes, or for checkInterval without any
	close()
}

// polled reports everything as changed, again and again.
type polled struct {
	watched []*watchedPath
	every   time.Duration
	last    time.Time // when next returned
}

func newPolled(watched []*watchedPath, every time.Duration) *polled {
	if every == 0 {
		every = pollInterval
	}
	return &polled{watched: watched, every: every, last: time.Now()}
}

func (s *polled) next(ctx context.Context) ([]change, error) {
	// Reading must not take most of the time, however many files there are.
	wait := min(max(s.every, 4*time.Since(s.last)), time.Minute)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.last = time.Now()
	return everything(s.watched), nil
}

func (s *polled) close() {}

// below reports whether path is dir or lies in it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// outermost leaves out what lies in another folder of the list.
func outermost(dirty []change) []change {
	slices.SortFunc(dirty, func(a, b change) int { return strings.Compare(a.path, b.path) })
	var out []change
	for _, c := range dirty {
		if !slices.ContainsFunc(out, func(o change) bool { return o.watchedPath == c.watchedPath && below(c.path, o.path) }) {
			out = append(out, c)
		}
	}
	return out
}
