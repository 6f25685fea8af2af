package extract

import (
	"bufio"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/searchd/extract/content"
)

// File is a file found by [Files].
type File struct {
	Path string      // as it was reached; "stdin" for standard input
	Root string      // absolute path of the folder below which ID is a path; empty for standard input
	ID   string      // path below Root with forward slashes, of which Walk tells how it is the id of a whole-file document; empty for standard input
	Info fs.FileInfo // nil for standard input

	o      Options
	stdin  bool
	within string // the folder given by name that it was found in, which no link may lead out of; empty: any may
	quiet  bool   // content of no known format is skipped, not an error
	rival  string // the path that has brought this id before; empty: none
}

// Taken reports whether another path given to [Files] contains a file with the same id. Read
// rejects such a file unless it has records.
func (f File) Taken() bool { return f.rival != "" }

// Result is the result of reading a file.
type Result struct {
	Stats
	Format Format      // Auto where neither content nor name tell
	Info   fs.FileInfo // of the file as it was opened; nil where it could not be opened, and for standard input
	Sum    []byte      // SHA-256 of the bytes in the file; nil where it was not read to its end
	Err    error       // of the disk or the network while the file was read; it has been handed to fail, too
	Moved  bool        // the file changed while it was read
	Inside []Inside    // what was read inside it, by format: attachments, members of archives
}

// Read reads the documents of a file, as [Reader] does. Files of one call of [Files] may be read at
// the same time.
func (f File) Read(ctx context.Context, emit func(Document) error, fail func(ItemError) error) (Result, error) {
	f.o.Progress = nil
	var stats Stats
	res, err := f.read(ctx, &stats, emit, fail)
	res.Stats = stats
	return res, err
}

// Sum returns the SHA-256 of a file, and its state when it was opened.
func (f File) Sum(ctx context.Context) ([]byte, fs.FileInfo, error) {
	in, info, err := f.open()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, content.Stoppable{R: in, Ended: ctx.Err}); err != nil {
		return nil, nil, err
	}
	return h.Sum(nil), info, nil
}

// open opens the file, which may have changed since it was listed.
func (f File) open() (*os.File, fs.FileInfo, error) {
	in, err := f.openFile()
	if err != nil {
		return nil, nil, cause(err)
	}
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular{info.Mode()}
	}
	if err != nil {
		in.Close()
		return nil, nil, cause(err)
	}
	return in, info, nil
}

// openFile opens the path. Links that replaced files or folders in the meantime cannot lead out of
// the folder that was given.
func (f File) openFile() (*os.File, error) {
	if f.within == "" {
		return os.OpenFile(f.Path, openFlags, 0)
	}
	rel, err := filepath.Rel(f.within, f.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.within)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(rel, openFlags, 0)
}

type notRegular struct{ mode fs.FileMode }

func (e notRegular) Error() string { return fileKind(e.mode) + ", not a regular file" }

// hasRecords reports whether a file without a known extension holds records, which have ids of
// their own.
func (f File) hasRecords() bool {
	in, _, err := f.open()
	if err != nil {
		return false
	}
	defer in.Close()
	br, _, err := gunzip(bufio.NewReaderSize(in, bufferSize), &countReader{r: in, total: new(int64)}, f.o)
	if err != nil {
		return false
	}
	br, _ = content.SkipBOM(br)
	head, _ := br.Peek(4096)
	format := f.o.Format
	if format == Auto {
		format, _ = Detect(f.Path, head)
	}
	return format.ofRecords() || format == EML && (inMaildir(f.Path) || content.Extension(f.Path) != ".eml" && isMailbox(head))
}

func (f File) read(ctx context.Context, stats *Stats, emit func(Document) error, fail func(ItemError) error) (res Result, err error) {
	x := newSource(ctx, f.o, f.Path, stats, emit, fail)
	x.id, x.quiet, x.blanks = f.ID, f.quiet, !f.stdin
	if f.stdin {
		stats.Files++
		err = x.read(f.o.Stdin)
		return Result{Format: x.format, Inside: x.inside}, err
	}
	if f.Taken() {
		x.emit = f.refuse(x, emit)
	}
	if res.Format = f.o.Format; res.Format == Auto {
		res.Format, _ = byName(f.Path)
	}
	in, info, err := f.open()
	if err != nil {
		return res, x.Errorf(0, "%v", err)
	}
	defer in.Close()
	x.info, x.at = info, in
	sum := &sumReader{r: in, h: sha256.New()}
	stats.Files++
	passed, before := stats.Skipped+stats.Empty, stats.Bytes
	err = x.read(sum)
	if stats.Skipped+stats.Empty > passed {
		stats.Files--
	}
	if x.format != Auto {
		res.Format = x.format
	}
	res.Info, res.Err, res.Inside = info, sum.err, x.inside
	if stats.Bytes-before == info.Size() {
		res.Sum = sum.h.Sum(nil)
	}
	after, statErr := in.Stat()
	res.Moved = statErr != nil || after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime())
	return res, err
}

// sumReader hashes what it reads and keeps the error that ended it.
type sumReader struct {
	r   io.Reader
	h   hash.Hash
	err error
}

func (s *sumReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.h.Write(p[:n]) // never fails
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// refuse returns an emit that reports an error once for the whole-file document, whose id is taken.
func (f File) refuse(x *source, emit func(Document) error) func(Document) error {
	refused := false
	return func(d Document) error {
		if d.Line > 0 {
			return emit(d)
		}
		x.stats.Documents-- // document counts it again
		if refused {
			return nil
		}
		refused = true
		return x.Errorf(0, "its id %q belongs to a file below %s already; give the folder above both", f.ID, f.rival)
	}
}
