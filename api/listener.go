package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/searchd/internal/connlimit"
)

// Listener answers a network listener from before the engine is open. Until a [Server] takes over,
// it answers only probes: alive, but not ready.
type Listener struct {
	l       net.Listener
	conns   *connlimit.Listener
	srv     *http.Server
	handler atomic.Pointer[http.Handler]
	failed  chan error

	listener net.Listener // l with the limit on connections and TLS, which srv answers
	begun    sync.Once
}

// NewListener answers l at once. It uses Logger, WriteTimeout, MaxConns and TLS of o.
// [Listener.Close] or [Server.ServeListener] closes l.
func NewListener(l net.Listener, o Options) *Listener {
	f := newListener(l, o)
	f.begin()
	return f
}

// newListener is NewListener without starting to answer.
func newListener(l net.Listener, o Options) *Listener {
	o, _ = o.withDefaults() // New returns the error
	f := &Listener{l: l, conns: connlimit.New(l, o.MaxConns), failed: make(chan error, 1)}
	f.use(http.HandlerFunc(answerWhileOpening))
	f.srv = &http.Server{
		Handler:           f.conns.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.handler.Load()).ServeHTTP(w, r) }), http.HandlerFunc(refuseStream)),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: connlimit.MaxStreams},
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second, // of a body; a route with streams extends it as bytes arrive
		WriteTimeout:      o.WriteTimeout + writeGrace,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		ConnState:         f.conns.State,
	}
	f.listener = f.conns
	if o.TLS != nil {
		f.listener = tls.NewListener(f.listener, o.TLS) // outermost, where net/http sees it and answers who speaks plain HTTP
	}
	return f
}

// begin starts to answer, once.
func (f *Listener) begin() {
	f.begun.Do(func() {
		go func() { f.failed <- f.srv.Serve(f.listener) }()
	})
}

func (f *Listener) use(h http.Handler) { f.handler.Store(&h) }

// Close closes the listener and every connection.
func (f *Listener) Close() error { return f.srv.Close() }

// answerWhileOpening answers until the engine is open.
func answerWhileOpening(w http.ResponseWriter, r *http.Request) {
	writeError(w, r, fmt.Errorf("%w: opening the data folder", errNotReady))
}

// writeError answers a request that no [Server] sees.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	if r.URL.Path == "/livez" {
		writeJSON(w, http.StatusOK, health{Status: "ok"})
		return
	}
	p, kind := describe(err, r)
	setRetryAfter(w.Header(), kind, nil)
	writeProblem(w, r, p)
}

// refuseStream answers what is beyond the limit on requests of HTTP/2.
func refuseStream(w http.ResponseWriter, r *http.Request) { writeError(w, r, errOverloaded) }

// ServeListener is [Server.Serve] for a listener that f already answers.
func (s *Server) ServeListener(ctx context.Context, f *Listener) error {
	if s.served.Swap(true) {
		f.begin() // which makes its end close the listener
		return errors.Join(errors.New("api: Server is already serving, or was closed"), f.Close())
	}
	if a, ok := f.l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		s.local.Store(true)
	}
	s.conns.Store(f.conns)
	defer s.recordUses(ctx)()
	f.use(s.handler)
	f.begin()
	select {
	case err := <-f.failed:
		return fmt.Errorf("api: serve %s: %w", f.l.Addr(), err)
	case <-ctx.Done():
	}
	s.log.Info("stopping", "reason", context.Cause(ctx))
	s.draining.Store(true)
	if s.o.DrainGrace > 0 {
		s.log.Info("no longer ready, still serving requests", "for", s.o.DrainGrace)
		select {
		case err := <-f.failed:
			return fmt.Errorf("api: serve %s: %w", f.l.Addr(), err)
		case <-time.After(s.o.DrainGrace):
		}
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.DrainTimeout)
	defer cancel()
	if err := f.srv.Shutdown(drain); err != nil {
		// This also cancels the contexts of the remaining requests.
		s.log.Warn("requests cut off at shutdown", "after", s.o.DrainTimeout)
		f.srv.Close()
	}
	<-f.failed
	return nil
}
