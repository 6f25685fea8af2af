package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"searchd/search"
)

// Front answers a listener from before there is an engine until the end. Before a [Server] takes it over it answers probes alone: the
// process lives, and is not ready.
type Front struct {
	l      net.Listener
	conns  *conns
	srv    *http.Server
	turn   atomic.Pointer[turn]
	failed chan error

	what atomic.Pointer[string] // the server does before there is an engine

	listener net.Listener // what srv is to answer: l with its bounds
	begun    sync.Once

	lasting *lasting // of the servers that take it over; nil: there was none yet
}

// turn is a handler as long as it answers.
type turn struct {
	http.Handler
	running atomic.Int64  // requests
	over    chan struct{} // closed when it is another's turn
}

// NewFront answers from l at once. Of o only Logger, WriteTimeout, MaxConns, TLS and Primary count; Engine may be nil. l is closed by [Front.Close] or
// by [Server.ServeFront].
func NewFront(l net.Listener, o Options) *Front {
	f := newFront(l, o)
	f.begin()
	return f
}

// newFront is NewFront that answers nobody before it begins.
func newFront(l net.Listener, o Options) *Front {
	o = o.withDefaults()
	f := &Front{l: l, conns: newConns(l, o.MaxConns), failed: make(chan error, 1)}
	f.Opening("opening the data folder")
	f.use(newTurn(f.opening(o.Primary != nil)))
	f.srv = &http.Server{
		Handler:           http.HandlerFunc(f.answer),
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

func newTurn(h http.Handler) *turn { return &turn{Handler: h, over: make(chan struct{})} }

// use makes it the turn of t and returns the turn before.
func (f *Front) use(t *turn) (before *turn) {
	if before = f.turn.Swap(t); before != nil {
		close(before.over)
	}
	return before
}

func (f *Front) answer(w http.ResponseWriter, r *http.Request) {
	for {
		t := f.turn.Load()
		t.running.Add(1)
		if f.turn.Load() == t {
			defer t.running.Add(-1)
			t.ServeHTTP(w, r)
			return
		}
		t.running.Add(-1) // who waits for the end of a turn may not have seen it
	}
}

// While data is replaced, requests wait so long for it, and so long it waits for those that began before.
const (
	replaceWait  = 2 * time.Second
	replaceGrace = time.Second
)

// hold lets what is no probe wait for the next turn, and answers with h where that takes too long. It returns when the requests of the turn before have
// ended, or have had time to.
func (f *Front) hold(h http.HandlerFunc) {
	t := newTurn(nil)
	t.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if quietRoutes[r.URL.Path] {
			h(w, r)
			return
		}
		select {
		case <-t.over:
			f.answer(w, r)
		case <-time.After(replaceWait):
			h(w, r)
		case <-r.Context().Done():
		}
	})
	before := f.use(t)
	for end := time.Now().Add(replaceGrace); before.running.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// Close closes the listener and every connection.
func (f *Front) Close() error { return f.srv.Close() }

// Opening says what the server does while there is no engine yet; what is asked meanwhile is answered with it. Safe for concurrent use.
func (f *Front) Opening(what string) { f.what.Store(&what) }

// opening answers while there is no engine yet. A replica says that it is one to who would follow it: two that follow each other would wait
// for ever.
func (f *Front) opening(replica bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			writeJSON(w, http.StatusOK, health{Status: "ok"})
			return
		}
		err := fmt.Errorf("%w: %s", errNotReady, *f.what.Load())
		if replica && strings.HasPrefix(r.URL.Path, "/v1/replication/") {
			err = search.ErrReplica
		}
		p, kind := describe(err, r)
		setRetryAfter(w.Header(), kind, nil)
		writeProblem(w, r, p)
	}
}

// ServeFront is [Server.Serve] for a listener that f answers already.
func (s *Server) ServeFront(ctx context.Context, f *Front) error {
	_, err := s.ServeUntil(ctx, f, nil)
	return err
}

// ServeUntil is ServeFront that also ends when the data is about to be replaced. Then f goes on and answers probes alone, until another server
// takes it over; other requests wait for it a moment.
func (s *Server) ServeUntil(ctx context.Context, f *Front, replace <-chan struct{}) (replaced bool, err error) {
	if s.served.Swap(true) {
		f.begin() // which makes its end close the listener
		return false, errors.Join(errors.New("api: this Server serves a listener, or has"), f.Close())
	}
	if a, ok := f.l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		s.local.Store(true)
	}
	s.conns.Store(f.conns)
	defer s.keepUses(ctx)()
	f.use(newTurn(s.handler))
	f.begin()
	select {
	case err := <-f.failed:
		return false, fmt.Errorf("api: serve %s: %w", f.l.Addr(), err)
	case <-replace:
		close(s.stopping)
		f.hold(f.opening(s.o.Primary != nil))
		s.leave()
		return true, nil
	case <-ctx.Done():
	}
	s.log.Info("stopping", "reason", context.Cause(ctx))
	s.draining.Store(true)
	if s.o.DrainGrace > 0 {
		s.log.Info("not ready any more, still answering", "for", s.o.DrainGrace)
		select {
		case err := <-f.failed:
			return false, fmt.Errorf("api: serve %s: %w", f.l.Addr(), err)
		case <-time.After(s.o.DrainGrace):
		}
	}
	close(s.stopping) // not before: followers get what is still written
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.DrainTimeout)
	defer cancel()
	if err := f.srv.Shutdown(drain); err != nil {
		// The requests that are still running lose their connections, and with them their contexts.
		s.log.Warn("requests cut off at shutdown", "after", s.o.DrainTimeout)
		f.srv.Close()
	}
	<-f.failed
	return false, nil
}
