package api

import (
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/searchd/internal/connlimit"
)

// Limits on draining an unread request body.
const (
	drainBytes = 16 << 20
	drainTime  = 5 * time.Second
)

// requestBody is the body of a request as the client sends it.
type requestBody struct {
	io.ReadCloser
	begun bool // something was asked for: a client that waits for "100 Continue" has been sent it
	ended bool // or has failed; nothing more can be read
	whole bool // it has ended as it should

	digest hash.Hash // of what was read; nil: nobody asks

	conn *connlimit.Body // bounds how long its sender is waited for; nil: nothing does
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.read(p)
	b.ended, b.whole = b.ended || err != nil, b.whole || err == io.EOF
	if b.digest != nil {
		b.digest.Write(p[:n])
	}
	return n, err
}

func (b *requestBody) read(p []byte) (int, error) {
	if b.conn == nil {
		return b.ReadCloser.Read(p)
	}
	return b.conn.Read(func() (int, error) { return b.ReadCloser.Read(p) })
}

func (b *requestBody) sum() [32]byte { return [32]byte(b.digest.Sum(nil)) }

// unread reports whether the client of r may still be sending b, and would not see an answer before
// it has sent all of it.
func (b *requestBody) unread(r *http.Request) bool {
	asks := r.Header.Get("Expect") != "" && !b.begun
	return !b.ended && !asks && r.ProtoMajor == 1
}

// drain reads what a handler has left of the body before the answer ends. A client that sends
// everything before it reads would otherwise find its connection reset.
func (s *Server) drain(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Body == nil || r.Body == http.NoBody {
			return next(c)
		}
		b := &requestBody{ReadCloser: r.Body}
		rc := http.NewResponseController(c.Response())
		if conns := s.conns.Load(); conns != nil {
			b.conn = conns.Body(r, func() { rc.SetReadDeadline(time.Unix(1, 0)) })
		}
		r.Body = b
		err := next(c)
		if b.unread(r) {
			rc.SetReadDeadline(time.Now().Add(drainTime))
			io.Copy(io.Discard, io.LimitReader(b, drainBytes)) // what fails, or is longer, ends with the connection
		}
		return err
	}
}

// digestBody reads the body of a streaming route for its digest.
func (s *Server) digestBody(w http.ResponseWriter, b *requestBody) error {
	b.digest = sha256.New()
	_, err := io.Copy(io.Discard, &timedReader{src: http.MaxBytesReader(w, b, s.o.MaxImport), rc: http.NewResponseController(w), idle: s.o.IdleBody})
	if err != nil {
		return bodyError(err, s.o.MaxImport)
	}
	return nil
}
