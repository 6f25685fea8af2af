package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/searchd/trace"
)

type requestIDKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// identify sets X-Request-ID: the client's if it is a plain word, else a random one.
func identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		id := r.Header.Get("X-Request-ID")
		if !plainWord(id) {
			id = rand.Text()
		}
		c.Response().Header().Set("X-Request-ID", id)
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
		return next(c)
	}
}

func plainWord(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// observe answers errors, logs each request and counts it. Query strings and bodies are not logged.
// After an error in the middle of an answer it aborts the connection, so that the client notices.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		cut := false
		var span *trace.Span
		if s.o.Tracer != nil && !quietRoutes[c.Path()] {
			var r *http.Request
			r, span = s.o.Tracer.Request(c.Request())
			c.SetRequest(r)
		}
		if err := next(c); err != nil {
			cut = c.Response().Committed
			s.writeError(err, c)
		}
		took, r, w := time.Since(start), c.Request(), c.Response()
		level, route := slog.LevelInfo, c.Path()
		if quietRoutes[route] {
			level = slog.LevelDebug
		}
		method := r.Method
		if !labelMethods[method] {
			method = "OTHER" // what a client makes up is no label
		}
		s.metrics.observeRequest(method, route, w.Status, took)
		keyID, _ := c.Get(callerID).(string)
		log := s.log
		if id := span.ID(); id != "" {
			log = log.With("trace_id", id)
		}
		span.Answered(method, route, w.Status)
		log.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.EscapedPath(), "route", route, "status", w.Status,
			"bytes", w.Size, "ms", float64(took.Microseconds())/1000, "client", c.RealIP(), "key", keyID, "request_id", requestID(r.Context()))
		if cut {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

var labelMethods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true}

var quietRoutes = map[string]bool{"/livez": true, "/readyz": true, "/healthz": true, "/metrics": true}

// recovery turns a panic into an error.
func recovery(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) {
				panic(v)
			}
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}()
		return next(c)
	}
}

// guard refuses requests that a page of another site made a browser send, and sets the security
// headers.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'") // the page sets its own
		h.Set("Cache-Control", "no-store")
		r := c.Request()
		if !s.hostAllowed(r.Host) {
			return &requestError{kind: errHost, detail: fmt.Sprintf("Host: got %q, allowed: localhost, 127.0.0.1 and the configured names", short(r.Host))}
		}
		if err := s.origin.Check(r); err != nil && !s.trustsAll() {
			return fmt.Errorf("%w: %w", errOrigin, err)
		}
		return next(c)
	}
}
