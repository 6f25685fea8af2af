package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/searchd/internal/disk"
)

// folder is a [Place] on a disk. Its last element is made when it is missing.
type folder struct{ dir string }

const partSuffix = ".part"

func (f folder) URL(name string) string { return filepath.Join(f.dir, name) }

func (f folder) Put(ctx context.Context, name string, _ int64, fill func(io.Writer) error) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	part := f.URL(name) + partSuffix
	file, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	err = fill(file)
	if err = errors.Join(err, ctx.Err(), file.Sync(), file.Close()); err != nil {
		return err
	}
	return disk.Rename(part, f.URL(name))
}

func (f folder) Open(_ context.Context, name string) (io.ReadCloser, Object, error) {
	file, err := os.Open(f.URL(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Object{}, fmt.Errorf("%s: %w", f.URL(name), ErrNotFound)
	}
	if err != nil {
		return nil, Object{}, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, Object{}, err
	}
	return file, Object{name, info.ModTime().UTC(), info.Size()}, nil
}

func (f folder) Stat(_ context.Context, name string) (Object, error) {
	info, err := os.Lstat(f.URL(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Object{}, fmt.Errorf("%s: %w", f.URL(name), ErrNotFound)
	}
	if err != nil {
		return Object{}, err
	}
	return Object{name, info.ModTime().UTC(), info.Size()}, nil
}

func (f folder) List(context.Context) ([]Object, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := []Object{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !strings.HasSuffix(e.Name(), partSuffix) {
			list = append(list, Object{e.Name(), info.ModTime().UTC(), info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (f folder) Remove(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := os.Remove(f.URL(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", f.URL(name), ErrNotFound)
	}
	return err
}

func (f folder) RemoveUnfinished(_ context.Context, match func(string) bool) error {
	parts, err := disk.Glob(f.dir, "*"+partSuffix)
	for _, p := range parts {
		if match(strings.TrimSuffix(filepath.Base(p), partSuffix)) {
			err = errors.Join(err, os.Remove(p))
		}
	}
	return err
}
