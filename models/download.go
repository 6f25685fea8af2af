package models

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"time"
)

// transfer fetches the files of one commit into a staging folder.
type transfer struct {
	hub    *hub
	stage  *staging
	repo   Repo
	commit string
	report func(file string, here int64) // bytes of the file that have arrived; never nil
}

// fetch brings one file into the tree and returns its SHA-256. A file that an earlier pull has left
// there is checked and kept.
//
//  1. If the tree has a file with that digest, done.
//  2. Otherwise fetch into the part, from where it ends.
//  3. Check size and digest of what is on disk. Where they differ, the part is removed; if it was
//     not fetched in one go, it may have been damaged before, and it is fetched once more from the
//     beginning.
//  4. Rename the part into the tree.
func (t *transfer) fetch(ctx context.Context, f remoteFile) (sum string, err error) {
	name, part := t.stage.file(f), t.stage.part(f)
	if sum, err := t.stage.verify(ctx, name, f); err == nil {
		t.report(f.path, f.size)
		return sum, nil
	} else if errors.Is(err, ErrMismatch) {
		err = t.stage.parent.Remove(name)
		if err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, dir := range []string{path.Dir(name), path.Dir(part)} {
		if err := t.stage.parent.MkdirAll(dir, 0o755); err != nil {
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
			return sum, t.stage.parent.Rename(part, name)
		}
		if !errors.Is(err, ErrMismatch) {
			return "", err
		}
		if err := errors.Join(err, t.stage.parent.Remove(part)); again || !resumed {
			return "", err
		}
	}
}

// complete fetches what is missing of the part. resumed tells whether its bytes come from more than
// one answer.
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
			if err := w.Truncate(0); err != nil {
				return 0, err
			}
			offset = 0
		}
		begin, n, err := t.ask(ctx, f, w, offset)
		resumed = begin > 0
		return begin + n, err
	})
	if err == nil {
		err = w.Sync()
	}
	return resumed, errors.Join(err, w.Close())
}

// ask sends one request for the bytes from offset on and writes what comes to w, n bytes that begin
// at begin.
func (t *transfer) ask(ctx context.Context, f remoteFile, w *os.File, offset int64) (begin, n int64, err error) {
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
	case http.StatusOK: // also the answer of a server that knows no ranges
		begin = 0
	case http.StatusPartialContent:
		if begin, err = contentRange(r.Header.Get("Content-Range"), offset, f.size); err != nil {
			return offset, 0, fmt.Errorf("%s: %w", f.path, err)
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

// write copies until the body ends, which must be at the size that is expected.
func (t *transfer) write(w io.Writer, body io.Reader, f remoteFile, begin int64) (n int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		k, readErr := body.Read(buf)
		if n+int64(k) > f.size-begin {
			return n, fmt.Errorf("%w: %s: more than the %d bytes of the hub's list arrive", ErrTooLarge, f.path, f.size)
		}
		if _, err := w.Write(buf[:k]); err != nil {
			return n, err
		}
		n += int64(k)
		t.report(f.path, begin+n)
		if readErr == nil {
			continue
		}
		if begin+n == f.size {
			return n, nil
		}
		if readErr == io.EOF {
			readErr = io.ErrUnexpectedEOF
		}
		return n, &temporary{err: fmt.Errorf("%s: after %d of %d bytes: %w", f.path, begin+n, f.size, readErr)}
	}
}

var rangeForm = regexp.MustCompile(`^bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)$`)

// contentRange returns where a partial answer begins. It must begin at offset, or before, and end
// with the file.
func contentRange(s string, offset, size int64) (int64, error) {
	if m := rangeForm.FindStringSubmatch(s); m != nil {
		begin, _ := strconv.ParseInt(m[1], 10, 64)
		end, _ := strconv.ParseInt(m[2], 10, 64)
		if begin <= offset && end == size-1 && (m[3] == "*" || m[3] == strconv.FormatInt(size, 10)) {
			return begin, nil
		}
	}
	return 0, fmt.Errorf("%w: Content-Range is %q for the bytes from %d of %d", ErrMismatch, clip(s), offset, size)
}

// verify reads the file and compares it with what the hub's list says; it returns the SHA-256, hex.
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
	digests := []hash.Hash{sum}
	if f.blob != "" {
		digests = append(digests, blob)
	}
	if err := digest(ctx, r, digests); err != nil {
		return "", err
	}
	got := hex.EncodeToString(digests[len(digests)-1].Sum(nil))
	if got != f.digest() {
		return "", fmt.Errorf("%w: %s: digest %s, its list says %s", ErrMismatch, f.path, got, f.digest())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest feeds r to all digests.
func digest(ctx context.Context, r io.Reader, digests []hash.Hash) error {
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		for _, d := range digests {
			d.Write(buf[:n])
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
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

// explain turns the error of a request that the watchdog has ended into one after which to try
// again.
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
