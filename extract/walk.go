package extract

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/searchd/extract/content"
)

// maxDepth is the depth of folders that Walk enters.
const maxDepth = 128

// junk are files and folders that nobody means to search.
var junk = map[string]bool{
	"node_modules": true, "__macosx": true, "__pycache__": true, "thumbs.db": true, "desktop.ini": true, "$recycle.bin": true, "system volume information": true,
}

// Walk reads files and folders in the order of paths, folders in the order of names, and stdin for
// "-".
//
// The id of a whole-file document is its path below the folder given (or o.Root) with forward
// slashes, or the name of a file given by name. Control characters and invalid UTF-8 are escaped as
// in Go strings; ids beyond 512 bytes are shortened and prefixed with a hash. The second of two
// files with the same id is an error; a file that is given twice is read once.
//
// In folders it skips names that begin with a dot, litter such as node_modules, the folders that
// browsers save beside pages, files of unknown type, and symbolic links; files without text are
// counted as empty. Files given by name are always read. Only regular files are opened; other ones
// are errors. See Reader for fail and the error returned.
func Walk(ctx context.Context, paths []string, o Options, emit func(Document) error, fail func(ItemError) error) (Stats, error) {
	w := &walker{ended: ctx.Err, o: o, fail: fail}
	w.each = func(f File) error {
		_, err := f.read(ctx, &w.stats, emit, fail)
		return err
	}
	err := w.walk(paths)
	return w.stats, err
}

// Files finds the files that Walk would read, in the same order, and hands them to each. It counts
// folders and files skipped by name, and reports what cannot be read for its type.
func Files(ctx context.Context, paths []string, o Options, each func(File) error, fail func(ItemError) error) (Stats, error) {
	w := &walker{ended: ctx.Err, o: o, fail: fail, each: each}
	err := w.walk(paths)
	return w.stats, err
}

type walker struct {
	ended   func() error // as in source
	o       Options
	each    func(File) error
	fail    func(ItemError) error
	stats   Stats
	base    string             // absolute path of the folder below which ids are paths, of the path that is being read
	owner   map[[16]byte]owner // with several paths: by a hash of the id of each whole file
	given   string             // the path that is being read
	exclude []os.FileInfo      // of o.Exclude
	visited map[string]bool    // with FollowSymlinks: real paths of the folders entered
}

// owner is the path that contains an id.
type owner struct {
	given string // the path
	base  string // the folder below which the id is a path
}

func (w *walker) walk(paths []string) (err error) {
	if w.o, err = w.o.withDefaults(); err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New("extract: no files or folders given")
	}
	for _, path := range w.o.Exclude {
		if info, err := os.Stat(path); err == nil { // what is not there needs no leaving out
			w.exclude = append(w.exclude, info)
		}
	}
	if len(paths) > 1 {
		w.owner = make(map[[16]byte]owner) // a single path cannot bring an id twice
	}
	for _, path := range paths {
		w.given = path
		if err := w.start(path); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) errorf(path, format string, args ...any) error {
	x := source{File: content.File{Name: path, Ended: w.ended}, fail: w.fail, stats: &w.stats}
	return x.reportLine(0, false, fmt.Sprintf(format, args...))
}

// start reads a path that was given.
func (w *walker) start(path string) error {
	if path == "-" {
		if w.o.Stdin == nil {
			return w.errorf("stdin", "there is no standard input to read here")
		}
		return w.each(File{Path: "stdin", o: w.o, stdin: true})
	}
	if path == "" {
		return w.errorf(`""`, "the path is empty")
	}
	info, err := os.Stat(path)
	if err != nil {
		return w.errorf(path, "%v", cause(err))
	}
	rel, err := w.below(path, info.IsDir())
	switch {
	case err != nil:
		return w.errorf(path, "%v", err)
	case info.IsDir():
		return w.folder(path, rel, 0)
	}
	return w.file(path, rel, info, false)
}

// below sets w.base and returns the path below it with forward slashes; empty for the root itself.
func (w *walker) below(path string, isDir bool) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	switch {
	case w.o.Root == "" && isDir:
		w.base = abs
		return "", nil
	case w.o.Root == "":
		w.base = filepath.Dir(abs)
		return filepath.Base(path), nil
	}
	if w.base, err = filepath.Abs(w.o.Root); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(w.base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("is not in the root folder %s", w.o.Root)
	}
	if rel == "." {
		rel = ""
	}
	return filepath.ToSlash(rel), nil
}

// cause removes the path from an error of package os, as ItemError names it.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// folder reads a folder; rel is its path below the root.
func (w *walker) folder(path, rel string, depth int) error {
	if err := w.ended(); err != nil {
		return err
	}
	if depth > maxDepth {
		return w.errorf(path, "folders are nested deeper than the limit of %d", maxDepth)
	}
	if w.o.FollowSymlinks {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return w.errorf(path, "%v", cause(err))
		}
		if real, err = filepath.Abs(real); err != nil {
			return w.errorf(path, "%v", cause(err))
		}
		if w.visited[real] && depth > 0 {
			return w.skip(path, SkippedLink)
		}
		if w.visited[real] {
			return w.errorf(path, "folder has been read already, by another path or a loop of symbolic links: %s", real)
		}
		if w.visited == nil {
			w.visited = make(map[string]bool)
		}
		w.visited[real] = true
	}
	entries, err := os.ReadDir(path) // sorted by name; with an error it still holds what could be read
	if err != nil {
		if err := w.errorf(path, "folder cannot be listed: %v", cause(err)); err != nil {
			return err
		}
	}
	w.stats.Folders++
	for _, e := range entries {
		if err := w.entry(filepath.Join(path, e.Name()), rel, e, depth); err != nil {
			return err
		}
	}
	return nil
}

// Ignores reports whether files and folders with that name are skipped in folders: hidden ones,
// editor backups, litter of other programs.
func (o Options) Ignores(name string) bool {
	return strings.HasPrefix(name, ".") && !o.Hidden || name == ".git" || junk[strings.ToLower(name)] || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "~$") // Word's, beside an open document
}

func (w *walker) entry(path, rel string, e fs.DirEntry, depth int) error {
	name := e.Name()
	switch {
	case !w.o.Ignores(name):
		if e.Type()&fs.ModeSymlink != 0 && !w.o.FollowSymlinks {
			return w.skip(path, SkippedLink)
		}
	case strings.HasPrefix(name, "."):
		return w.skip(path, SkippedHidden)
	default:
		return w.skip(path, SkippedLitter)
	}
	if rel != "" {
		name = rel + "/" + name
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return w.errorf(path, "%v", cause(err))
	case w.excluded(info):
		return w.skip(path, SkippedOwn)
	case info.IsDir() && isBesidePage(path):
		return w.skip(path, SkippedLitter)
	case info.IsDir():
		return w.folder(path, name, depth+1)
	}
	return w.file(path, name, info, true)
}

// besidePage are endings of folders in which browsers save the resources of a page.
var besidePage = []string{"_files", "-Dateien", "_fichiers", "_archivos"}

func isBesidePage(folder string) bool {
	for _, end := range besidePage {
		page, ok := strings.CutSuffix(folder, end)
		if !ok {
			continue
		}
		for _, ext := range []string{".html", ".htm"} {
			if info, err := os.Stat(page + ext); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}

func (w *walker) skip(path string, why SkipKind) error {
	w.stats.Skipped++
	if w.o.Skip != nil {
		w.o.Skip(path, why)
	}
	return nil
}

func (w *walker) excluded(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.exclude, func(e os.FileInfo) bool { return os.SameFile(e, info) })
}

// file hands on a file; id is that of its document.
func (w *walker) file(path, id string, info fs.FileInfo, inFolder bool) error {
	if err := w.ended(); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return w.errorf(path, "%s, not a regular file", fileKind(info.Mode()))
	}
	f := File{Path: path, Root: w.base, ID: filepath.ToSlash(id), Info: info, o: w.o}
	known, isKnown := byName(path)
	if inFolder {
		noExt := content.Extension(path) == ""
		switch {
		case isKnown && w.o.Format != Auto && known != w.o.Format, !isKnown && !noExt && w.o.Format == Auto:
			return w.skip(path, SkippedType)
		case known == Picture && w.o.OCR == nil:
			return w.skip(path, SkippedPicture)
		}
		f.quiet = !isKnown || known == Feed // most XML is no feed
		if !w.o.FollowSymlinks {
			f.within = w.given
		}
	}
	if w.o.Format != Auto {
		known = w.o.Format
	}
	if w.owner != nil && !known.ofRecords() {
		sum := sha256.Sum256([]byte(f.ID))
		key := [16]byte(sum[:16])
		switch before, ok := w.owner[key]; {
		case !ok:
			w.owner[key] = owner{w.given, w.base}
		case before.base == w.base:
			return nil // given twice
		case known != Auto && known != EML:
			f.rival = before.given
		case f.hasRecords():
		case w.sibling(f, before.base).hasRecords():
			w.owner[key] = owner{w.given, w.base}
		default:
			f.rival = before.given
		}
	}
	return w.each(f)
}

// sibling returns the file with the same id below another folder.
func (w *walker) sibling(f File, base string) File {
	f.Path, f.within = filepath.Join(base, filepath.FromSlash(f.ID)), ""
	return f
}

func fileKind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m.IsDir():
		return "a folder"
	}
	return fmt.Sprintf("a special file (%v)", m.Type())
}
