package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"searchd/extract"
)

// notified is told of changes by the operating system, folder by folder.
type notified struct {
	w       *fsnotify.Watcher
	roots   []watched // with absolute paths
	o       extract.Options
	exclude []fs.FileInfo
	dirs    map[string]bool // that are watched
	look    time.Duration   // see lookAfter
}

// newNotified watches the folders of roots, all the way down. It fails where the system has no room
// for them.
func newNotified(roots []watched, o extract.Options) (changes, error) {
	behind := o.FollowSymlinks
	for _, r := range roots {
		if info, err := os.Lstat(r.path); r.file && err == nil && info.Mode()&fs.ModeSymlink != 0 {
			behind = true // what changes is the file that it leads to, in another folder
		}
	}
	if behind {
		return nil, errors.New("behind symbolic links")
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	s := &notified{w: w, o: o, dirs: map[string]bool{}, look: lookAfter}
	for _, path := range o.Exclude {
		if info, err := os.Stat(path); err == nil {
			s.exclude = append(s.exclude, info)
		}
	}
	for _, r := range roots {
		if r.file {
			r.path = filepath.Join(r.root, filepath.Base(r.path))
			err = s.add(r.root)
		} else {
			r.path = r.root
			err = s.addAll(r.root)
		}
		if err != nil {
			w.Close()
			return nil, err
		}
		s.roots = append(s.roots, r)
	}
	return s, nil
}

func (s *notified) add(dir string) error {
	if s.dirs[dir] {
		return nil
	}
	err := s.w.Add(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // gone again; or it cannot be read, and is told of when it is
	}
	s.dirs[dir] = err == nil
	return err
}

// addAll watches dir and the folders in it that are read.
func (s *notified) addAll(dir string) error {
	return filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error { // also where dir is a link to a folder
		path = filepath.Clean(path)
		switch {
		case err != nil:
			return nil // as in add
		case !d.IsDir():
			return nil
		case path != dir && s.o.Ignores(d.Name()), s.excluded(path):
			return fs.SkipDir
		}
		return s.add(path)
	})
}

func (s *notified) excluded(path string) bool {
	if len(s.exclude) == 0 {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, e := range s.exclude {
		if os.SameFile(e, info) {
			return true
		}
	}
	return false
}

// next waits for changes and for a pause after them; without any it returns nothing after
// lookAfter.
func (s *notified) next(ctx context.Context) ([]watched, error) {
	var dirty []watched
	var pause, end <-chan time.Time
	look := time.After(s.look)
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e, ok := <-s.w.Events:
			if !ok {
				return nil, fsnotify.ErrClosed
			}
			hit, err := s.event(e)
			if err != nil {
				return nil, err
			}
			if len(hit) == 0 {
				continue
			}
			if dirty = append(dirty, hit...); len(dirty) > 1000 {
				dirty = outermost(dirty)
			}
			if end == nil {
				end = time.After(impatience)
			}
			pause = time.After(quiet)
		case err := <-s.w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil, err
			}
			// Some events are lost: look at everything, also for folders that are new.
			for _, r := range s.roots {
				if !r.file {
					if err := s.addAll(r.root); err != nil {
						return nil, err
					}
				}
			}
			return s.roots, nil
		case <-pause:
			return outermost(dirty), nil
		case <-end:
			return outermost(dirty), nil
		case <-look:
			return outermost(dirty), nil
		}
	}
}

// event returns what has to be read because of e.
func (s *notified) event(e fsnotify.Event) ([]watched, error) {
	if e.Op == fsnotify.Chmod {
		return nil, nil
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		s.drop(e.Name)
	}
	var hit []watched
	for _, r := range s.roots {
		switch {
		case r.file:
			if e.Name == r.path {
				hit = append(hit, r)
			}
			continue
		case !below(e.Name, r.root) || s.ignored(e.Name, r.root):
			continue
		}
		if e.Has(fsnotify.Create) {
			if info, err := os.Lstat(e.Name); err == nil && info.IsDir() && !s.excluded(e.Name) {
				if err := s.addAll(e.Name); err != nil {
					return nil, err
				}
			}
		}
		r.path = e.Name
		if info, err := os.Lstat(e.Name); err != nil || !info.IsDir() {
			r.path = filepath.Dir(e.Name) // the folder decides, by the name, whether a file is read
		}
		if !below(r.path, r.root) {
			r.path = r.root
		}
		hit = append(hit, r)
	}
	return hit, nil
}

// ignored reports whether a part of path below root is passed over in folders.
func (s *notified) ignored(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." {
		return false
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if s.o.Ignores(part) {
			return true
		}
	}
	return false
}

// drop ends the watch of a folder that has gone or has another name now, and of all in it.
func (s *notified) drop(path string) {
	for dir := range s.dirs {
		if below(dir, path) {
			_ = s.w.Remove(dir) // it may have ended already
			delete(s.dirs, dir)
		}
	}
}

func (s *notified) close() { _ = s.w.Close() }
