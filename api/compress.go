package api

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

// minCompressed is the length from which an answer is worth compressing.
const minCompressed = 1 << 10

// compressed are the media types that are worth it. What an answer's handler compresses itself, as
// that of /metrics, stays as it is, and so do snapshots, of which clients ask for parts.
var compressed = map[string]bool{
	"application/json": true, "application/problem+json": true, "application/x-ndjson": true, "application/yaml": true,
	"text/html": true, "text/css": true, "text/javascript": true, "application/javascript": true, "text/plain": true, "image/svg+xml": true,
}

// compress sends answers with gzip where the client takes it; see compressor.
func compress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, res := c.Request(), c.Response()
		w := &compressor{ResponseWriter: res.Writer, takes: acceptsGzip(r.Header), head: r.Method == http.MethodHead}
		res.Writer = w
		err := next(c) // a handler that panics leaves an answer that is not whole, which close would end as if it were
		w.close()
		res.Writer = w.ResponseWriter
		return err
	}
}

// acceptsGzip says whether a client takes gzip and does not prefer what is not compressed.
func acceptsGzip(h http.Header) bool {
	gz, others, plain := -1.0, -1.0, -1.0
	for part := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Accept-Encoding"), ",")), ",") {
		name, weight, given := strings.Cut(part, ";")
		q := 1.0
		if given {
			v, _ := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			var err error
			if q, err = strconv.ParseFloat(v, 64); err != nil {
				q = 0
			}
		}
		switch strings.TrimSpace(name) {
		case "gzip", "x-gzip":
			gz = q
		case "*":
			others = q
		case "identity":
			plain = q
		}
	}
	if gz < 0 {
		gz = others
	}
	return gz > 0 && gz >= plain
}

// compressor compresses an answer or passes it on.
//
//  1. It is undecided until the header says that the answer cannot be compressed, or how long it
//     is; else until minCompressed bytes are written, or until the handler flushes or ends with
//     fewer, which are sent as they are.
//  2. Everything written before a flush can be read by the client behind it.
//  3. HEAD is answered with the header of GET.
//  4. Every answer that might have been compressed says so in Vary. Its ETag is that of its
//     content, whatever the coding.
//
// Deadlines are those of the connection, which http.ResponseController reaches through it. It is
// for one goroutine at a time.
type compressor struct {
	http.ResponseWriter
	takes  bool // the client takes gzip
	head   bool
	status int // of the answer; 0: WriteHeader was not called
	coding coding
	early  []byte // written while undecided
	z      *gzip.Writer
}

type coding int

const (
	undecided coding = iota
	identity
	packed
)

// gzips are writers that are not in use. They keep nothing between writes, 14 KB instead of the 0.8
// MB of the next level, so that clients which read slowly hold little memory; where answers are
// written whole or page by page, as here, they are as fast and as small.
var gzips = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.StatelessCompression) // the level is right
	return z
}}

// Unwrap lets http.ResponseController reach the connection.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *compressor) WriteHeader(status int) {
	if status < 200 || c.coding != undecided {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	if c.status != 0 {
		return
	}
	c.status = status
	h := c.Header()
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	can := compressed[media] && status != http.StatusNoContent && status != http.StatusPartialContent && h.Get("Content-Encoding") == ""
	if can || status == http.StatusNotModified {
		h.Add("Vary", "Accept-Encoding")
	}
	length, err := strconv.Atoi(h.Get("Content-Length"))
	switch {
	case !can || !c.takes || err == nil && length < minCompressed:
		c.decide(identity)
	case err == nil:
		c.decide(packed)
	}
}

// decide sends the header.
func (c *compressor) decide(as coding) {
	c.coding = as
	if as == packed {
		h := c.Header()
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		h.Del("Accept-Ranges") // parts are of the plain answer
		if !c.head {
			c.z = gzips.Get().(*gzip.Writer)
			c.z.Reset(c.ResponseWriter)
		}
	}
	c.ResponseWriter.WriteHeader(c.status)
}

// settle decides and sends what was written early.
func (c *compressor) settle(as coding) error {
	c.decide(as)
	early := c.early
	c.early = nil
	if len(early) == 0 {
		return nil
	}
	_, err := c.Write(early)
	return err
}

func (c *compressor) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.coding == undecided {
		if len(c.early)+len(b) < minCompressed {
			c.early = append(c.early, b...)
			return len(b), nil
		}
		if err := c.settle(packed); err != nil {
			return 0, err
		}
	}
	switch {
	case c.coding == identity:
		return c.ResponseWriter.Write(b)
	case c.z == nil:
		return len(b), nil // the answer to HEAD has no body
	}
	return c.z.Write(b)
}

// FlushError is for http.ResponseController.
func (c *compressor) FlushError() error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.coding == undecided {
		if err := c.settle(identity); err != nil {
			return err
		}
	}
	if c.z != nil {
		if err := c.z.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// close ends an answer. An error of it means that the client has gone.
func (c *compressor) close() {
	if c.status != 0 && c.coding == undecided {
		c.settle(identity)
	}
	if c.z != nil {
		c.z.Close()
		c.z.Reset(nil)
		gzips.Put(c.z)
		c.z = nil
	}
}
