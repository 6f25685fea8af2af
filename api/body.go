package api

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

var errFullOfBodies = &requestError{kind: errOverloaded, detail: "body: the server holds too many request bytes in memory, try again later"}

// wholeBody is a decompressed request body in memory.
type wholeBody struct {
	*bytes.Reader
	data []byte
}

// Close implements io.Closer.
func (*wholeBody) Close() error { return nil }

// readWhole reads the body of r into memory, before the request takes a slot. The bodies in memory
// are bounded together; the caller calls done when this one is no longer needed.
func (s *Server) readWhole(w http.ResponseWriter, r *http.Request, limit int64, idle time.Duration) (b *wholeBody, done func(), err error) {
	src, err := openBody(w, r, limit, idle)
	if err != nil {
		return nil, nil, err
	}
	defer src.close()
	buf := make([]byte, 0, max(512, min(r.ContentLength+1, 64<<10)))
	charged := int64(0)
	done = func() { s.inFlight.Add(-charged) }
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf))
		}
		if more := int64(cap(buf)) - charged; more > 0 {
			charged += more
			if s.inFlight.Add(more) > s.o.MaxInFlight {
				done()
				return nil, nil, errFullOfBodies
			}
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			return &wholeBody{bytes.NewReader(buf), buf}, done, nil
		case err != nil:
			done()
			return nil, nil, err
		}
	}
}

// A compressed body may unpack to maxRatio bytes for each byte that was sent, beyond the first
// ratioFrom bytes. Similar documents reach some tens.
const (
	maxRatio  = 100
	ratioFrom = 16 << 20
)

// body is a request body with limits: bytes sent, bytes after decompression, the ratio of the two,
// and how long the sender may pause.
type body struct {
	src   io.Reader // decompressed
	wire  *timedReader
	left  int64 // bytes that may still come
	limit int64
	close func()
}

// openBody returns the body of r.
func openBody(w http.ResponseWriter, r *http.Request, limit int64, idle time.Duration) (*body, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	wire := &timedReader{src: http.MaxBytesReader(w, r.Body, limit), rc: http.NewResponseController(w), idle: idle}
	b := &body{src: wire, wire: wire, left: limit, limit: limit, close: func() {}}
	switch enc := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(wire)
		if err != nil {
			return nil, bodyError(err, limit)
		}
		b.src = z
	case "zstd":
		z, err := zstd.NewReader(wire, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, bodyError(err, limit)
		}
		b.src, b.close = z, z.Close
	default:
		return nil, &requestError{kind: errMediaType, detail: fmt.Sprintf("Content-Encoding: got %q, allowed: gzip, zstd, identity", short(enc))}
	}
	return b, nil
}

// Read implements io.Reader; its errors are the client's to read.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, tooLarge(b.limit)
	}
	// Reading one byte more detects a body that is longer than the limit.
	p = p[:min(int64(len(p)), b.left+1)]
	n, err := b.src.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, tooLarge(b.limit)
	}
	// The decompressor reads ahead, so the count of sent bytes is never too low.
	if unpacked := b.limit - b.left; unpacked > ratioFrom && unpacked/maxRatio > b.wire.total {
		return 0, &requestError{kind: errTooLarge, detail: fmt.Sprintf("body: %d bytes unpack to %d or more, allowed: %d for each beyond the first %d MiB", b.wire.total, unpacked, maxRatio, ratioFrom>>20)}
	}
	if err != nil && err != io.EOF {
		err = bodyError(err, b.limit)
	}
	return n, err
}

func tooLarge(limit int64) error {
	return &requestError{kind: errTooLarge, detail: fmt.Sprintf("body: longer than the %d bytes that are allowed here", limit)}
}

func bodyError(err error, limit int64) error {
	var re *requestError
	var mb *http.MaxBytesError
	switch {
	case errors.As(err, &re):
		return err
	case errors.As(err, &mb):
		return tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &requestError{kind: errBodyTimeout, detail: "body: no data arrived for too long"}
	}
	return &requestError{kind: errMalformed, detail: "body: " + err.Error()}
}

// A body that a handler streams must arrive at minRate bytes per second on average over a
// rateWindow.
const (
	minRate    = 1 << 10
	rateWindow = time.Minute
)

// timedReader gives each read of a body the time idle, and clears the deadline at the end: if it
// passed while the handler works, it would cancel the request's context. It also refuses senders
// that never pause but send next to nothing.
type timedReader struct {
	src  io.Reader
	rc   *http.ResponseController
	idle time.Duration // 0: the server's deadline for the whole body stays

	total  int64         // bytes
	waited time.Duration // in this window
	got    int64         // bytes, the same
}

func (p *timedReader) Read(b []byte) (int, error) {
	if p.idle > 0 {
		p.rc.SetReadDeadline(time.Now().Add(p.idle)) // a recorder of tests has no deadlines
	}
	began := time.Now()
	n, err := p.src.Read(b)
	if err == io.EOF {
		p.rc.SetReadDeadline(time.Time{})
	}
	p.waited += time.Since(began)
	p.got += int64(n)
	p.total += int64(n)
	if err == nil && p.idle > 0 && p.waited >= rateWindow {
		if float64(p.got) < minRate*p.waited.Seconds() {
			err = &requestError{kind: errBodyTimeout, detail: fmt.Sprintf("body: %d bytes came in %.0f s, allowed: %d or more per second", p.got, p.waited.Seconds(), minRate)}
		}
		p.waited, p.got = 0, 0
	}
	return n, err
}

// mediaType returns the media type in lower case, without parameters; it must be one of allowed.
// The form type that curl -d sends counts as JSON.
func mediaType(r *http.Request, allowed ...string) (string, error) {
	h := r.Header.Get("Content-Type")
	t, _, err := mime.ParseMediaType(h)
	if t == "application/x-www-form-urlencoded" {
		t = "application/json"
	}
	if err == nil && slices.Contains(allowed, t) {
		return t, nil
	}
	return "", &requestError{kind: errMediaType, detail: fmt.Sprintf("Content-Type: got %q, allowed: %s", short(h), strings.Join(allowed, ", "))}
}

func short(s string) string {
	const limit = 80
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
