package models

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
)

// transfer fetches the files of one commit into a staging folder.
type transfer struct {
	hub    *hub
	stage  *staging
	repo   Repo
	commit string
	report func(file string, arrived int64) // bytes of the file that have arrived; never nil
}

// fetch brings one file into the tree and returns its SHA-256. A file that an earlier pull has left
// there is checked and kept.
//
//  1. If the tree has a file with that digest, done.
//  2. Otherwise fetch into the part, from where it ends.
//  3. Check size and digest of the part. If they differ, it is removed; if it began with bytes of
//     an earlier request, these may be damaged, and it is fetched once more from the beginning.
//  4. Rename the part into the tree.
func (t *transfer) fetch(ctx context.Context, f remoteFile) (sum string, err error) {
	name, part, parent := t.stage.file(f), t.stage.part(f), t.stage.parent
	switch sum, err = t.stage.verify(ctx, name, f); {
	case err == nil:
		t.report(f.path, f.size)
		return sum, nil
	case errors.Is(err, ErrMismatch):
		if err := parent.Remove(name); err != nil {
			return "", err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	for _, dir := range []string{path.Dir(name), path.Dir(part)} {
		if err := parent.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	for again := false; ; again = true {
		resumed, err := t.complete(ctx, f, part)
		if err != nil {
			return "", err
		}
		sum, err = t.stage.verify(ctx, part, f)
		if err == nil {
			return sum, parent.Rename(part, name)
		}
		if !errors.Is(err, ErrMismatch) {
			return "", err
		}
		if err := errors.Join(err, parent.Remove(part)); again || !resumed {
			return "", err
		}
	}
}

// complete fetches what is missing of the part. resumed reports whether its bytes come from more
// than one response.
func (t *transfer) complete(ctx context.Context, f remoteFile, part string) (resumed bool, err error) {
	w, err := t.stage.parent.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	err = t.hub.retry(ctx, func() (int64, error) {
		offset, err := w.Seek(0, io.SeekEnd)
		if err != nil || offset == f.size {
			resumed = resumed || offset > 0
			return offset, err
		}
		if offset > f.size {
			offset = 0
		}
		begin, n, err := t.request(ctx, f, w, offset)
		resumed = begin > 0
		return begin + n, err
	})
	if err == nil {
		err = w.Sync()
	}
	return resumed, errors.Join(err, w.Close())
}

// request asks for the bytes from offset on. It returns where the response begins, 0 from a server
// that ignores ranges, and how many bytes it wrote to w from there.
func (t *transfer) request(ctx context.Context, f remoteFile, w *os.File, offset int64) (begin, n int64, err error) {
	ctx, watch := watchdog(ctx, t.hub.stall)
	defer watch.stop()
	defer func() { err = watch.explain(ctx, err) }()
	header := http.Header{}
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	r, err := t.hub.send(ctx, t.hub.resolve(t.repo, t.commit, f.path), header)
	if err != nil {
		return offset, 0, err
	}
	defer r.Body.Close()
	if r.linkedETag != "" && len(r.linkedETag) == len(f.digest()) && r.linkedETag != f.digest() {
		return offset, 0, fmt.Errorf("%w: %s: the hub now has %s, its list says %s", ErrMismatch, f.path, r.linkedETag, f.digest())
	}
	switch r.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent:
		begin = offset
		if got := r.Header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-%d/", offset, f.size-1)) {
			return offset, 0, fmt.Errorf("%w: %s: Content-Range is %q for the bytes from %d of %d", ErrMismatch, f.path, clip(got), offset, f.size)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		err := fmt.Errorf("%w: %s: %s for bytes from %d of %d", ErrHub, f.path, r.Status, offset, f.size)
		return 0, 0, errors.Join(w.Truncate(0), &temporary{err: err})
	default:
		return offset, 0, t.hub.statusError(r, f.path)
	}
	if r.ContentLength >= 0 && begin+r.ContentLength != f.size {
		return begin, 0, fmt.Errorf("%w: %s: the hub sends %d bytes, its list says %d", ErrMismatch, f.path, begin+r.ContentLength, f.size)
	}
	if err := w.Truncate(begin); err != nil {
		return begin, 0, err
	}
	n, err = t.write(io.NewOffsetWriter(w, begin), watch.reader(r.Body), f, begin)
	return begin, n, err
}

// write copies until the body ends, which must be at the size of the file.
func (t *transfer) write(w io.Writer, body io.Reader, f remoteFile, begin int64) (n int64, err error) {
	var writeErr error
	_, err = io.Copy(writerFunc(func(p []byte) (int, error) {
		if begin+n+int64(len(p)) > f.size {
			writeErr = fmt.Errorf("%w: %s: more than the %d bytes of the hub's list arrive", ErrTooLarge, f.path, f.size)
			return 0, writeErr
		}
		var k int
		k, writeErr = w.Write(p)
		n += int64(k)
		t.report(f.path, begin+n)
		return k, writeErr
	}), body)
	switch {
	case writeErr != nil || begin+n == f.size:
		return n, writeErr
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return n, &temporary{err: fmt.Errorf("%s: after %d of %d bytes: %w", f.path, begin+n, f.size, err)}
}

// verify compares a file with the hub's list and returns its SHA-256 in hexadecimal.
func (s *staging) verify(ctx context.Context, name string, f remoteFile) (string, error) {
	r, err := s.parent.Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() != f.size {
		return "", fmt.Errorf("%w: %s: %d bytes, its list says %d", ErrMismatch, f.path, info.Size(), f.size)
	}
	sum, blob := sha256.New(), sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", f.size)
	to, digest := io.Writer(sum), sum
	if f.blob != "" {
		to, digest = io.MultiWriter(sum, blob), blob
	}
	_, err = io.Copy(to, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}))
	if err != nil {
		return "", err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != f.digest() {
		return "", fmt.Errorf("%w: %s: digest %s, its list says %s", ErrMismatch, f.path, got, f.digest())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// errStalled is why a watchdog ends a request.
var errStalled = errors.New("nothing has arrived for too long")

// watch ends a request over which nothing arrives.
type watch struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
	limit  time.Duration
}

func watchdog(ctx context.Context, limit time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{time.AfterFunc(limit, func() { cancel(errStalled) }), cancel, limit}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain makes the error of a request that the watchdog has ended a temporary one.
func (w *watch) explain(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errStalled {
		return &temporary{err: fmt.Errorf("%w: %w (%v)", ErrHub, errStalled, w.limit)}
	}
	return err
}

// reader restarts the clock with each piece.
func (w *watch) reader(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		w.timer.Reset(w.limit)
		return n, err
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
