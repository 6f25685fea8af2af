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
)

// Front answers a listener from before there is an engine until the end. Until a [Server] takes it
// over it answers probes alone: the process lives, and is not ready.
type Front struct {
	l       net.Listener
	conns   *conns
	srv     *http.Server
	handler atomic.Pointer[http.Handler]
	failed  chan error

	listener net.Listener // l with the limit on connections and TLS, which srv answers
	begun    sync.Once
}

// NewFront answers from l at once. Of o only Logger, WriteTimeout, MaxConns and TLS count; Engine
// may be nil. l is closed by [Front.Close] or by [Server.ServeFront].
func NewFront(l net.Listener, o Options) *Front {
	f := newFront(l, o)
	f.begin()
	return f
}

// newFront is NewFront that answers nobody before it begins.
func newFront(l net.Listener, o Options) *Front {
	o = o.withDefaults()
	f := &Front{l: l, conns: newConns(l, o.MaxConns), failed: make(chan error, 1)}
	f.use(http.HandlerFunc(answerWhileOpening))
	f.srv = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.handler.Load()).ServeHTTP(w, r) }),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second, // of a body; a route with streams extends it as bytes arrive
		WriteTimeout:      o.WriteTimeout + writeGrace,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		ConnState:         f.conns.state,
	}
	f.listener = f.conns
	if o.TLS != nil {
		f.listener = tls.NewListener(f.listener, o.TLS) // outermost, where net/http sees it and answers who speaks plain HTTP
	}
	return f
}

// begin answers from now on, if f does not already.
func (f *Front) begin() {
	f.begun.Do(func() {
		go func() { f.failed <- f.srv.Serve(f.listener) }()
	})
}

// use sets the handler of the requests that come from now on.
func (f *Front) use(h http.Handler) { f.handler.Store(&h) }

// Close closes the listener and every connection.
func (f *Front) Close() error { return f.srv.Close() }

// answerWhileOpening answers while there is no engine yet.
func answerWhileOpening(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/livez" {
		writeJSON(w, http.StatusOK, health{Status: "ok"})
		return
	}
	p, kind := describe(fmt.Errorf("%w: opening the data folder", errNotReady), r)
	setRetryAfter(w.Header(), kind, nil)
	writeProblem(w, r, p)
}

// ServeFront is [Server.Serve] for a listener that f answers already.
func (s *Server) ServeFront(ctx context.Context, f *Front) error {
	if s.served.Swap(true) {
		f.begin() // which makes its end close the listener
		return errors.Join(errors.New("api: this Server serves a listener, or has"), f.Close())
	}
	if a, ok := f.l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		s.local.Store(true)
	}
	s.conns.Store(f.conns)
	defer s.keepUses(ctx)()
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
		s.log.Info("not ready any more, still answering", "for", s.o.DrainGrace)
		select {
		case err := <-f.failed:
			return fmt.Errorf("api: serve %s: %w", f.l.Addr(), err)
		case <-time.After(s.o.DrainGrace):
		}
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.DrainTimeout)
	defer cancel()
	if err := f.srv.Shutdown(drain); err != nil {
		// The requests that are still running lose their connections, and with them their contexts.
		s.log.Warn("requests cut off at shutdown", "after", s.o.DrainTimeout)
		f.srv.Close()
	}
	<-f.failed
	return nil
}
