package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"example.com/searchd/internal/disk"
)

// staging is the folder beside the target of a pull in which it collects files, and the lock on
// both. For a checkpoint NAME:
//
//	.NAME.lock          locked during a pull or a removal
//	.NAME.pull/parts/   incomplete files, each named by its expected digest
//	.NAME.pull/tree/    complete and checked files; renamed to NAME at the end
//	.NAME.old/          the previous NAME while it is being replaced
//
// All paths go through parent, an [os.Root], so that no path of a hub escapes it.
type staging struct {
	parent *os.Root
	base   string
	lock   *os.File
}

func (s *staging) dir() string      { return "." + s.base + ".pull" }
func (s *staging) old() string      { return oldName(s.base) }
func (s *staging) lockName() string { return "." + s.base + ".lock" }
func (s *staging) tree() string     { return path.Join(s.dir(), "tree") }

// oldName is the name of the previous folder while it is being replaced.
func oldName(base string) string { return "." + base + ".old" }

// file is the place of a complete file, part that of one on its way.
func (s *staging) file(f remoteFile) string { return path.Join(s.tree(), f.path) }
func (s *staging) part(f remoteFile) string { return path.Join(s.dir(), "parts", f.digest()) }

const lockPoll = 100 * time.Millisecond

// openStaging opens the parent folder of dest, creating it if needed, and takes the lock; waiting
// is called once if another process holds it.
func openStaging(ctx context.Context, dest string, waiting func()) (*staging, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	if filepath.Dir(dest) == dest {
		return nil, fmt.Errorf("%s: want a folder below it", dest)
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return nil, err
	}
	parent, err := os.OpenRoot(filepath.Dir(dest))
	if err != nil {
		return nil, err
	}
	s := &staging{parent: parent, base: filepath.Base(dest)}
	if err := s.acquire(ctx, waiting); err != nil {
		parent.Close()
		return nil, fmt.Errorf("lock %s: %w", filepath.Join(parent.Name(), s.lockName()), err)
	}
	return s, nil
}

func (s *staging) acquire(ctx context.Context, waiting func()) (err error) {
	if s.lock, err = s.parent.OpenFile(s.lockName(), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := disk.TryLock(s.lock)
		if ok || errors.Is(err, errors.ErrUnsupported) { // two pulls at once may then disturb each other, which the digests detect
			return nil
		}
		if err == nil && first && waiting != nil {
			waiting()
		}
		if err == nil {
			err = sleep(ctx, lockPoll)
		}
		if err != nil {
			s.lock.Close()
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// close releases the lock. The lock file stays: a process that waits for it has it open.
func (s *staging) close() {
	s.lock.Close()
	s.parent.Close()
}

// recover completes a replacement that a crash interrupted.
func (s *staging) recover() error {
	if _, err := s.parent.Lstat(s.old()); err != nil {
		return nil
	}
	if _, err := s.parent.Lstat(s.base); errors.Is(err, fs.ErrNotExist) {
		return s.parent.Rename(s.old(), s.base)
	}
	return s.parent.RemoveAll(s.old())
}

// checkPlace refuses a target that was not made by a pull.
func (s *staging) checkPlace() error {
	info, err := s.parent.Lstat(s.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	place := filepath.Join(s.parent.Name(), s.base)
	if !info.IsDir() {
		return fmt.Errorf("%s is there and is no folder", place)
	}
	if _, err := s.parent.Lstat(path.Join(s.base, ManifestFile)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(place)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s holds files and no %s: it was not made by a pull and is left alone", place, ManifestFile)
	}
	return err
}

// prune removes files from the tree that are not in keep: remains of an interrupted pull of another
// commit.
func (s *staging) prune(keep map[string]bool) error {
	root, err := s.parent.OpenRoot(s.tree())
	if err != nil {
		return err
	}
	defer root.Close()
	var extra []string
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !keep[p] {
			extra = append(extra, p)
		}
		return err
	})
	for _, p := range extra {
		if err := root.Remove(p); err != nil {
			return err
		}
	}
	return err
}

// place renames the tree to the target. A reader finds the old checkpoint or the new one, or for a
// moment none.
func (s *staging) place() error {
	if err := s.checkPlace(); err != nil {
		return err
	}
	err := s.parent.Rename(s.base, s.old())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.parent.Rename(s.tree(), s.base); err != nil {
		return errors.Join(err, s.recover())
	}
	if d, err := s.parent.Open("."); err == nil {
		_ = d.Sync() // not all systems can sync a folder
		d.Close()
	}
	return errors.Join(s.parent.RemoveAll(s.old()), s.parent.RemoveAll(s.dir()))
}

// writeManifest writes the manifest of the checkpoint in dir atomically.
func (s *staging) writeManifest(dir string, m Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	name := path.Join(dir, ManifestFile)
	w, err := s.parent.Create(name + ".new")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		return err
	}
	return s.parent.Rename(name+".new", name)
}
