package analytics

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/searchd/internal/disk"
)

// Segments are named by the day of their events, in UTC, and a number: 2030-01-31.0001.log.
const (
	segmentPattern = "????-??-??.????.log"
	maxLine        = 16 << 10 // bytes
)

// segments returns the paths of a folder's segments, oldest first.
func segments(dir string) ([]string, error) {
	list, err := disk.Glob(dir, segmentPattern)
	slices.Sort(list)
	return list, err
}

// dayOf returns the day in the name of a segment.
func dayOf(path string) string { return filepath.Base(path)[:len(time.DateOnly)] }

// Read calls fn for each event of the folder of a log, oldest first, and returns the number of
// damaged lines. A folder that does not exist has no events.
func Read(ctx context.Context, dir string, fn func(Event) error) (damaged int, err error) {
	list, err := segments(dir)
	if err != nil {
		return 0, err
	}
	for _, path := range list {
		n, err := readSegment(ctx, path, fn)
		damaged += n
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			return damaged, err
		}
	}
	return damaged, nil
}

// readSegment is Read of one segment.
func readSegment(ctx context.Context, path string, fn func(Event) error) (damaged int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxLine)
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if n%1024 == 0 && ctx.Err() != nil {
			return damaged, ctx.Err()
		}
		switch {
		case err == io.EOF && len(line) == 0:
			return damaged, nil
		case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
			return damaged, err
		}
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			if e, ok := parseLine(line); !ok {
				damaged++
			} else if err := fn(e); err != nil {
				return damaged, err
			}
		}
		if err == io.EOF {
			return damaged, nil
		}
	}
}

// folder is a folder of segments, of which the last is open. It is the writer's alone.
type folder struct {
	dir      string
	maxBytes int64
	file     *os.File
	size     int64  // of file
	day      string // of file
}

// append adds whole lines of one day and flushes them to the disk.
func (f *folder) append(lines []byte, day string) error {
	if f.file != nil && (f.day != day || f.size >= f.maxBytes/8) {
		if err := f.close(); err != nil {
			return err
		}
	}
	if f.file == nil {
		if err := f.open(day); err != nil {
			return err
		}
	}
	n, err := f.file.Write(lines)
	f.size += int64(n)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil { // the next lines go into another file: this one may end in half a line
		f.close()
	}
	return err
}

// open begins the next segment of a day.
func (f *folder) open(day string) error {
	list, err := segments(f.dir)
	if err != nil {
		return err
	}
	next := 1
	for _, path := range list {
		var n int
		if dayOf(path) == day {
			fmt.Sscanf(filepath.Base(path), day+".%04d.log", &n)
		}
		next = max(next, n+1)
	}
	if next > 9999 {
		return fmt.Errorf("analytics: more than 9999 segments of %s", day)
	}
	path := filepath.Join(f.dir, fmt.Sprintf("%s.%04d.log", day, next))
	f.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	f.size, f.day = 0, day
	if err != nil {
		f.file = nil
		return err
	}
	return disk.SyncFolder(f.dir)
}

func (f *folder) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// trim deletes the segments of days before first, and the oldest ones beyond the bound on size; it
// returns the bytes that are left.
func (f *folder) trim(first string) (left int64, err error) {
	list, err := segments(f.dir)
	if err != nil {
		return 0, err
	}
	sizes := make([]int64, len(list))
	for i, path := range list {
		if info, err := os.Stat(path); err == nil {
			sizes[i] = info.Size()
			left += sizes[i]
		}
	}
	for i, path := range list {
		if dayOf(path) >= first && (left <= f.maxBytes || i == len(list)-1) {
			break
		}
		if f.file != nil && f.file.Name() == path {
			err = errors.Join(err, f.close())
		}
		err = errors.Join(err, os.Remove(path))
		left -= sizes[i]
	}
	return left, err
}

// forget removes the events of a collection from all segments.
func (f *folder) forget(collection string) error {
	if err := f.close(); err != nil {
		return err
	}
	list, err := segments(f.dir)
	if err != nil {
		return err
	}
	for _, path := range list {
		var kept []byte
		_, err := readSegment(context.Background(), path, func(e Event) (err error) {
			if e.Collection != collection {
				kept, err = appendLine(kept, &e)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := replace(path, kept); err != nil {
			return err
		}
	}
	return nil
}

// replace gives a segment other content, or deletes it where there is none.
func replace(path string, content []byte) error {
	if len(content) == 0 {
		return os.Remove(path)
	}
	tmp := path + ".new"
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return disk.Rename(tmp, path)
}
