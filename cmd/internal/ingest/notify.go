package ingest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"example.com/searchd/extract"
)

// notified gets changes from the operating system, folder by folder.
type notified struct {
	w       *fsnotify.Watcher
	watched []*watchedPath
	added   map[*watchedPath]int // the version whose folders were added
	o       extract.Options
	exclude []fs.FileInfo
	dirs    map[string]bool // that are watched
	check   time.Duration   // see checkInterval
}

// newNotified watches the folders of watched and all in them. It fails where the system has no room
// for them, or where changes happen behind symbolic links.
func newNotified(watched []*watchedPath, o extract.Options) (changes, error) {
	behind := o.FollowSymlinks
	for _, w := range watched {
		if info, err := os.Lstat(w.path()); w.file != "" && err == nil && info.Mode()&fs.ModeSymlink != 0 {
			behind = true // the file that changes is in another folder
		}
	}
	if behind {
		return nil, errors.New("behind symbolic links")
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	s := &notified{w: w, watched: watched, added: map[*watchedPath]int{}, o: o, dirs: map[string]bool{}, check: checkInterval}
	for _, path := range o.Exclude {
		if info, err := os.Stat(path); err == nil {
			s.exclude = append(s.exclude, info)
		}
	}
	for _, w := range watched {
		if err := s.addPath(w); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *notified) addPath(w *watchedPath) error {
	s.added[w] = w.version
	if w.file != "" {
		return s.add(w.dir)
	}
	return s.addAll(w.dir)
}

func (s *notified) add(dir string) error {
	if s.dirs[dir] {
		return nil
	}
	err := s.w.Add(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // reported when it is read
	}
	s.dirs[dir] = err == nil
	return err
}

// addAll watches dir and the folders in it that are read.
func (s *notified) addAll(dir string) error {
	return filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error { // the separator follows a link
		path = filepath.Clean(path)
		switch {
		case err != nil, !d.IsDir():
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
	return err == nil && slices.ContainsFunc(s.exclude, func(e fs.FileInfo) bool { return os.SameFile(e, info) })
}

// next waits for changes and for a pause after them. Without any it returns nothing after a while.
func (s *notified) next(ctx context.Context) ([]change, error) {
	var dirty []change
	var pause, end <-chan time.Time
	check := time.After(s.check)
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		var hit []change
		var err error
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e, ok := <-s.w.Events:
			if !ok {
				return nil, fsnotify.ErrClosed
			}
			hit, err = s.event(e)
		case <-look.C:
			hit, err = s.lookAtFolders()
		case err = <-s.w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events are lost, maybe those of new folders
				return everything(s.watched), s.addEverything()
			}
		case <-pause:
			return outermost(dirty), nil
		case <-end:
			return outermost(dirty), nil
		case <-check:
			return outermost(dirty), nil
		}
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
			end = time.After(maxSettleTime)
		}
		pause = time.After(settleTime)
	}
}

func (s *notified) addEverything() error {
	for _, w := range s.watched {
		if err := s.addPath(w); err != nil {
			return err
		}
	}
	return nil
}

// lookAtFolders returns the watched paths whose folder has disappeared, is back, or is another one.
// The system reports no events of these: the folder above may have been moved.
func (s *notified) lookAtFolders() (hit []change, err error) {
	for _, w := range s.watched {
		exists := w.exists()
		if s.added[w] == w.version {
			continue
		}
		s.drop(w.dir)
		if s.added[w] = w.version; exists {
			if err := s.addPath(w); err != nil {
				return nil, err
			}
		}
		hit = append(hit, change{w, w.path()})
	}
	return hit, nil
}

// event returns what has to be read because of e.
func (s *notified) event(e fsnotify.Event) (hit []change, err error) {
	if e.Op == fsnotify.Chmod {
		return nil, nil
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		s.drop(e.Name)
	}
	for _, w := range s.watched {
		switch {
		case below(w.dir, e.Name) && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)):
			w.lost() // lookAtFolders takes it from here
			continue
		case w.file != "":
			if e.Name == w.path() {
				hit = append(hit, change{w, e.Name})
			}
			continue
		case !below(e.Name, w.dir) || s.ignored(e.Name, w.dir):
			continue
		}
		path := e.Name
		info, err := os.Lstat(path)
		isDir := err == nil && info.IsDir()
		if isDir && e.Has(fsnotify.Create) && !s.excluded(path) {
			if err := s.addAll(path); err != nil {
				return nil, err
			}
		}
		if !isDir && path != w.dir {
			path = filepath.Dir(path) // the folder decides, by the name, whether a file is read
		}
		hit = append(hit, change{w, path})
	}
	return hit, nil
}

// ignored reports whether files at path are not read because of a name in it below dir.
func (s *notified) ignored(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == "." {
		return false
	}
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), s.o.Ignores)
}

// drop stops to watch a folder that was moved or deleted, and all in it.
func (s *notified) drop(path string) {
	for dir := range s.dirs {
		if below(dir, path) {
			_ = s.w.Remove(dir) // the system may have done so
			delete(s.dirs, dir)
		}
	}
}

func (s *notified) close() { _ = s.w.Close() }
