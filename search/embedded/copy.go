package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"searchd/internal/disk"
	"searchd/search/backend"
	"searchd/store"
)

// A replica's folder gets a copy of its primary in three steps. A crash at any point leaves the old content or the new one:
//
//  1. FetchCopy restores the copy in a folder within the folder, with its marker, and fills its indexes. What is there at a start was never whole.
//  2. InstallCopy puts its store in the place of the old one. From here on the new content counts, and at a start without its indexes they are made anew.
//  3. It puts the new indexes in the place of the old ones, and goes on with that at the next start.

const (
	copyFolder = "replica.new"
	storeFile  = "searchd.db"
	lockFile   = "searchd.lock"
)

// FetchCopy makes a copy of a primary from its backup, beside what the folder holds, and returns how many bytes and collections it has. damaged is
// told of each damaged value in it.
func FetchCopy(ctx context.Context, r io.Reader, dir string, m backend.Marker, damaged func(text string)) (bytes int64, collections int, err error) {
	to := filepath.Join(dir, copyFolder)
	if err := os.RemoveAll(to); err != nil {
		return 0, 0, err
	}
	value, err := json.Marshal(m)
	if err != nil {
		return 0, 0, err
	}
	n := &counting{r: r}
	mark := func(s *store.Store) error { return s.SetValue(ctx, markerKey, value) }
	if err := restore(ctx, n, to, store.RestoreOptions{Damaged: tellOf(damaged), Prepare: mark}); err != nil {
		return n.bytes, 0, err
	}
	b, err := OpenContext(ctx, to, Options{RebuildFrom: math.MaxInt})
	if err != nil {
		return n.bytes, 0, err
	}
	apart := b.setApartNow()
	for _, a := range apart {
		if a.whole == nil {
			m.Damaged = append(m.Damaged, a.id)
		}
	}
	if len(m.Damaged) > 0 {
		err = b.SetMarker(ctx, m)
	}
	return n.bytes, len(b.openNames()) + len(apart), errors.Join(err, b.Close())
}

// counting counts what is read through it.
type counting struct {
	r     io.Reader
	bytes int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes += int64(n)
	return n, err
}

// InstallCopy puts a copy in the place of what the folder holds. No store may be open there.
func InstallCopy(dir string) error {
	if err := disk.Rename(filepath.Join(dir, copyFolder, storeFile), filepath.Join(dir, storeFile)); err != nil {
		return err
	}
	return installIndexes(dir)
}

// installIndexes is the last step of InstallCopy.
func installIndexes(dir string) error {
	from, to := filepath.Join(dir, copyFolder), filepath.Join(dir, indexFolder)
	if _, err := os.Lstat(filepath.Join(from, indexFolder)); err == nil {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, indexFolder), to); err != nil {
			return err
		}
	}
	return os.RemoveAll(from)
}

// OpenReplica looks at a folder before it is opened to follow a primary, and goes on with a copy that was being installed. It returns the
// folder's marker, nil where there is nothing in it yet, and an error for a folder with anything else.
func OpenReplica(dir string) (*backend.Marker, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	there, other, begun := false, "", false
	for _, e := range entries {
		switch e.Name() {
		case storeFile:
			there = true
		case copyFolder:
			begun = true
		case lockFile, "lost+found":
		default:
			other = e.Name()
		}
	}
	if !there && other != "" {
		return nil, fmt.Errorf("%w: %s has %s, and a replica begins in an empty folder; name another one", backend.ErrNoReplica, dir, other)
	}
	if !there {
		return nil, os.RemoveAll(filepath.Join(dir, copyFolder))
	}
	s, err := store.Open(dir, storeOptions(true))
	if err != nil {
		return nil, err // as Open returns it
	}
	m, ok, err := readMarker(s)
	if err == nil && begun && ok {
		_, notYet := os.Lstat(filepath.Join(dir, copyFolder, storeFile))
		if notYet == nil {
			err = os.RemoveAll(filepath.Join(dir, copyFolder))
		} else {
			err = installIndexes(dir)
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s has documents of its own, which following would replace; name an empty folder, or start without --follow", backend.ErrNoReplica, dir)
	}
	return &m, nil
}
