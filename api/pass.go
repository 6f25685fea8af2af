package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"searchd/access"
)

// Primary is the server that a replica follows, and passes on to what changes data.
type Primary struct {
	URL        *url.URL
	Transport  http.RoundTripper // default: http.DefaultTransport
	SameShards bool              // both have their documents on the same shards, which the primary alone writes to

	State   func() Following                          // how far the replica is
	Reached func(ctx context.Context, commits uint64) // waits until the replica has what the primary has committed, or for the end of ctx
}

// Following says how far a replica is.
type Following struct {
	CaughtUp bool      // it has had everything, or cannot ask now: requests may be sent to it
	Away     string    // why the primary is not followed now; empty: it is
	Contact  time.Time // when it answered last, or when following began
	Behind   uint64    // changes that are known and not applied yet
	Copies   int       // made since the start
}

const (
	passedHeader  = "Searchd-Passed"  // of a request that was passed on: by a replica 1, else the name of the shards that both servers must have
	commitsHeader = "Searchd-Commits" // of its answer: commits of the primary, those of the request included
	reachedWait   = time.Second       // for the replica to have what was passed
	passGrace     = 10 * time.Second  // beyond the time that the primary may take
)

// passes reports whether a replica passes the requests of a route on: those that change what both have, and those of tasks, which run there.
func (rt route) passes() bool {
	switch {
	case strings.HasPrefix(rt.path, "/v1/snapshots"), strings.HasPrefix(rt.path, "/v1/replication"):
		return false
	case strings.HasPrefix(rt.path, "/v1/tasks"):
		return true
	}
	const changing = access.DocumentsWrite | access.CollectionsAdmin | access.KeysAdmin
	return rt.method != http.MethodGet && rt.needs&changing != 0 && rt.needs != access.All
}

// passesOn reports whether a request is for the primary. The tasks of snapshots and rebuilds are the replica's own.
func (s *Server) passesOn(rt route, r *http.Request) bool {
	if s.o.Primary == nil || !rt.passes() {
		return false
	}
	if strings.HasPrefix(rt.path, "/v1/tasks/") {
		_, err := s.taskOf(r)
		return err != nil
	}
	return true
}

// sameShards returns nil unless a request was passed on by a server whose documents are elsewhere: what it writes here would not be found there.
func (s *Server) sameShards(r *http.Request) error {
	if name := r.Header.Get(passedHeader); name == "" || name == "1" || name == s.o.Engine.Cluster() {
		return nil
	}
	return &requestError{kind: errOtherShards, detail: "this server was sent the request by one that reads other shards; --writes-to of that must name the server that writes to its own"}
}

// pass sends a request on to the primary, as it is, and its answer back. The body goes through as it comes.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, rt route) error {
	if r.Header.Get(passedHeader) != "" {
		return &requestError{kind: errLoop, detail: "this server follows another one, and was sent the request by one that follows it; let one of them be the primary"}
	}
	ctx := r.Context()
	rc := http.NewResponseController(w)
	if rt.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rt.within+passGrace)
		defer cancel()
		rc.SetWriteDeadline(time.Now().Add(rt.within + passGrace + writeGrace))
	} else {
		rc.EnableFullDuplex() // answers may come while the body goes out
		w.Header().Set("Connection", "close")
	}
	var sent atomic.Bool // the primary may have the request
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sent.Store(false) }, // also where an idle connection turned out to be closed
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	}))
	if r.Body == nil || r.Body == http.NoBody {
		rc.SetReadDeadline(time.Time{})
	} else {
		r.Body = readCloser{&patientReader{src: r.Body, rc: rc, idle: s.o.IdleBody}, r.Body}
	}
	var failed error
	p := httputil.ReverseProxy{
		Transport:     s.o.Primary.Transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(s.o.Primary.URL)
			h := p.Out.Header
			h.Set(passedHeader, "1")
			if s.o.Primary.SameShards {
				h.Set(passedHeader, s.o.Engine.Cluster())
			}
			h.Set("X-Request-ID", requestID(ctx))
			for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Cookie"} { // checked here
				h.Del(name)
			}
			h.Del("Expect") // the body is asked for here; an interim answer would be taken for the answer
		},
		ModifyResponse: func(res *http.Response) error {
			for name := range w.Header() {
				res.Header.Del(name) // set here
			}
			res.Header.Del("Vary") // of what this server does with the answer
			commits, err := strconv.ParseUint(res.Header.Get(commitsHeader), 10, 64)
			res.Header.Del(commitsHeader)
			if err == nil && res.StatusCode < 300 {
				wait, cancel := context.WithTimeout(ctx, reachedWait)
				defer cancel()
				s.o.Primary.Reached(wait, commits)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	out := http.ResponseWriter(w)
	if rt.within == 0 {
		out = patientWriter{w, rc, s.o.WriteTimeout, nil}
	}
	p.ServeHTTP(out, r)
	return notPassed(r, failed, sent.Load())
}

// notPassed says what the failure of the way to the primary means for the request.
func notPassed(r *http.Request, err error, sent bool) error {
	var re *requestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &re), errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return err
	case !sent:
		return fmt.Errorf("%w: %w", errNoPrimary, err)
	}
	return fmt.Errorf("%w: %w", errAnswerLost, err)
}

type readCloser struct {
	io.Reader
	io.Closer
}

// stamped tells a replica how many commits the primary has when it answers.
type stamped struct {
	http.ResponseWriter
	commits func() (uint64, <-chan struct{})
}

// Unwrap lets http.ResponseController reach the connection.
func (w stamped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w stamped) WriteHeader(status int) {
	n, _ := w.commits()
	w.Header().Set(commitsHeader, strconv.FormatUint(n, 10))
	w.ResponseWriter.WriteHeader(status)
}
