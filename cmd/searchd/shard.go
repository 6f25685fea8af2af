package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"searchd/api"
	"searchd/internal/settings"
	"searchd/search/embedded"
	"searchd/search/remote"
)

// shardKeyEnv holds the key that shards ask for. It has no flag: a command line can be read by everybody on the machine.
const shardKeyEnv = "SEARCHD_SHARD_KEY"

// minShardKey is the length of a shard's key in bytes from which on it is taken.
const minShardKey = 16

// Bounds of a shard's server. Whoever sends requests is another server of the same operator.
const (
	shardConns   = 1024
	shardHeader  = 5 * time.Second  // for the head of a request
	shardIdle    = 5 * time.Minute  // of a connection
	shardDrain   = 30 * time.Second // for requests that are under way at the end
	holdGrace    = time.Second      // for those when a standby takes another copy
	shardMaxHead = 64 << 10
)

// shardFlags say what is served as a shard, where and to whom.
type shardFlags struct {
	tlsFlags
	follow                                    followFlags
	data, addr, keyFile, debugAddr, logFormat string
	insecure                                  bool
	grace                                     time.Duration
}

func newShardCommand() *cobra.Command {
	var f shardFlags
	cmd := &cobra.Command{
		Use: "shard", Short: "Serve a part of the documents to a server with --shards",
		Long: `Serves a data folder, a new one or one that is a shard, to the server whose --shards names it, until SIGINT or SIGTERM; then it answers what is
under way, saves and ends. It has no REST API, no page and no checkpoint: it stores and finds, and the server in front encodes and answers.

Without a key it answers everybody on the machine, and does not start on another address than loopback's. The key is that of --key-file, or of
SEARCHD_SHARD_KEY in the environment; the server in front has the same. /livez and /readyz do without, /metrics asks for it.

With --follow URL it is a standby of that shard, which has the same key: it makes a copy of its data and follows what changes. It takes no writes, and no
server is put in front of it. Started again without --follow it is the shard with what it has, and the server in front is started again with its URL.`,
		Example: "  searchd shard --data /srv/shard --addr 10.0.0.7:8090 --key-file /etc/searchd.shardkey",
		Args:    cobra.NoArgs, PreRunE: fillSettings,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd.Context()) },
	}
	cmd.Flags().StringVar(&f.data, "data", "", "data folder of the shard")
	settings.Folders(cmd, "data")
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:8090", "address to listen on")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "file with the key that requests must have (or "+shardKeyEnv+" in the environment)")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "start without a key on an address that other machines can reach: everybody may do everything")
	cmd.Flags().StringVar(&f.follow.url, "follow", "", "URL of a running shard: be its standby, in an empty data folder or one that was a standby before")
	f.follow.addAuthorities(cmd)
	f.tlsFlags.add(cmd)
	cmd.Flags().StringVar(&f.debugAddr, "debug-addr", "", "second address, for /debug/pprof/ alone; without keys, so loopback's unless --insecure (default none)")
	cmd.Flags().DurationVar(&f.grace, "drain-grace", 0, "how long requests are answered, with 503 on /readyz, before the shard stops taking them")
	cmd.Flags().StringVar(&f.logFormat, "log-format", "text", "log lines on standard error: text or json")
	settings.Choices(cmd, "log-format", "text", "json")
	return cmd
}

// serve serves the data folder until ctx ends.
func (f *shardFlags) serve(ctx context.Context) error {
	log, err := logger(f.logFormat)
	if err != nil {
		return err
	}
	if f.data == "" {
		return errNoData
	}
	if f.grace < 0 {
		return fmt.Errorf("--drain-grace: got %v, allowed: 0s or more", f.grace)
	}
	l, err := listen(f.addr)
	if err != nil {
		return err
	}
	defer l.Close()
	key, err := f.key(l.Addr())
	if err != nil {
		return err
	}
	cert, err := f.tls(func(text string) { log.Info(text) })
	if err != nil {
		return err
	}
	scheme := "https"
	if cert == nil {
		scheme = "http"
		if key != "" && !isLoopback(l.Addr()) {
			log.Warn("documents and the key travel unencrypted: give --tls-cert and --tls-key, or keep the network to the servers of the cluster")
		}
	}
	fo, err := f.standby(key, log)
	if err != nil {
		return err
	}
	if f.debugAddr != "" {
		stop, err := startDebug(ctx, f.debugAddr, f.insecure, log)
		if err != nil {
			return err
		}
		defer stop()
	}
	s := newShardServer(l, cert, fo, log) // probes are answered from here on
	defer s.srv.Close()
	if fo != nil {
		err = fo.begin(ctx)
	}
	for again := true; again && err == nil; {
		again, err = f.serveOnce(ctx, s, key, scheme+"://"+l.Addr().String())
		if again && err == nil {
			err = embedded.InstallCopy(f.data)
		}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		log.Info("stopped while opening; the next start goes on", "reason", context.Cause(ctx))
		return nil
	}
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// serveOnce opens the data folder and serves it to the end, or, for a standby, until there is a copy that must take the place of what the folder holds.
func (f *shardFlags) serveOnce(ctx context.Context, s *shardServer, key, url string) (again bool, err error) {
	b, err := embedded.OpenContext(ctx, f.data, embedded.Options{Notice: func(text string) { s.log.Info(text) }, Alarm: func(text string) { s.log.Error(text) }})
	if err != nil {
		return false, inUse(err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	what, err := shardOf(ctx, b, f.data)
	if err != nil {
		return false, err
	}
	replace := make(chan struct{})
	if s.follower == nil {
		if err := b.Promote(ctx); err != nil {
			return false, err
		}
	} else {
		following, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if s.follower.follow(following, standby{b}, noKeys{}) {
				close(replace)
			}
		}()
		defer func() {
			cancel()
			<-done
		}()
		what += ", a standby of " + s.follower.url.Redacted()
	}
	s.begin(b, key)
	s.log.Info("serving a shard", "url", url, "shard", what, "data", f.data)
	return s.until(ctx, replace, f.grace)
}

// key returns the key that requests at addr must have; empty where none is needed.
func (f *shardFlags) key(addr net.Addr) (string, error) {
	key, err := secret("key-file", f.keyFile, shardKeyEnv)
	switch {
	case err != nil:
		return "", err
	case key == "" && !isLoopback(addr) && !f.insecure:
		return "", fmt.Errorf("--addr %s: other machines can reach it and there is no key; give --key-file, or set %s, or start with --insecure", addr, shardKeyEnv)
	case key != "" && len(key) < minShardKey:
		return "", fmt.Errorf("the key of the shard has %d bytes, allowed: %d or more; `openssl rand -hex 32` makes one", len(key), minShardKey)
	}
	return key, nil
}

// ownValues is what the keys of those values begin with that a copy has of its own.
const ownValues = "local/"

// shardOf says which shard a folder is, and refuses one that is in use as something else.
func shardOf(ctx context.Context, b *embedded.Backend, dir string) (string, error) {
	id, err := b.Identity(ctx)
	if err != nil {
		return "", err
	}
	if id.Cluster != "" {
		what := fmt.Sprintf("%d of %d of the cluster %s", id.Index+1, id.Of, id.Cluster)
		if id.Moved != "" {
			what += ", which has moved to " + id.Moved
		}
		return what, nil
	}
	values, err := b.Values("")
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(values, func(key string, _ []byte) bool { return strings.HasPrefix(key, ownValues) })
	list, err := b.Collections(ctx)
	if err != nil {
		return "", err
	}
	if len(values)+len(list) > 0 {
		return "", fmt.Errorf("--data %s: it is an ordinary data folder with %d collections, and no shard; `searchd spread --from %s --to NEW1,NEW2` copies it into the new folders of a cluster",
			dir, len(list), dir)
	}
	return "new", nil
}

// shardServer answers a listener from before the data folder is open until the end.
type shardServer struct {
	srv      *http.Server
	log      *slog.Logger
	follower *follower // of a standby; nil: this is the shard
	opening  string    // what it does before it serves

	turn     atomic.Pointer[shardTurn] // nil: the folder is being opened
	draining atomic.Bool
	stopping chan struct{} // closed when nobody is kept waiting any more
	failed   chan error
}

// shardTurn answers requests while a folder is open.
type shardTurn struct {
	http.Handler
	end     context.CancelFunc // of all its requests
	running atomic.Int64
}

// newShardServer answers from l at once, for a standby where fo is not nil.
func newShardServer(l net.Listener, cert *tls.Config, fo *follower, log *slog.Logger) *shardServer {
	s := &shardServer{log: log, follower: fo, opening: "opening the data folder", stopping: make(chan struct{}), failed: make(chan error, 1)}
	if fo != nil {
		s.opening = "copying the shard that it is a standby of, or opening the data folder"
	}
	s.srv = &http.Server{
		Handler: s, ReadHeaderTimeout: shardHeader, IdleTimeout: shardIdle, MaxHeaderBytes: shardMaxHead,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	l = netutil.LimitListener(l, shardConns)
	if cert != nil {
		l = tls.NewListener(l, cert)
	}
	go func() { s.failed <- s.srv.Serve(l) }()
	return s
}

// begin serves the shard from now on.
func (s *shardServer) begin(b *embedded.Backend, key string) {
	var state func() api.Following
	if s.follower != nil {
		state = s.follower.state
	}
	h := newShardMetrics(b, state, key, s.log).over(remote.Handler(b, remote.HandlerOptions{Key: key, Stopping: s.stopping}))
	all, end := context.WithCancel(context.Background())
	s.turn.Store(&shardTurn{end: end, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(all, cancel)()
		h.ServeHTTP(w, r.WithContext(ctx))
	})})
}

// hold takes no requests any more, and ends those that are under way when they have had time to end.
func (s *shardServer) hold() {
	t := s.turn.Swap(nil)
	for end := time.Now().Add(holdGrace); t.running.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	t.end()
}

func (s *shardServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := s.turn.Load()
	if t != nil {
		t.running.Add(1)
		defer t.running.Add(-1)
		if s.turn.Load() != t {
			t = nil // who holds may not have seen this one
		}
	}
	switch {
	case t == nil && r.URL.Path == "/livez":
		answerProbe(w, http.StatusOK, "ok")
	case t == nil:
		answerProbe(w, http.StatusServiceUnavailable, s.opening)
	case s.draining.Load() && r.URL.Path == "/readyz":
		answerProbe(w, http.StatusServiceUnavailable, "shutting down")
	case s.follower != nil && r.URL.Path == "/readyz" && s.notReady(w):
	default:
		t.ServeHTTP(w, r)
	}
}

// notReady answers a probe of a standby that is not as far as it should be; false: it is, and nothing was answered.
func (s *shardServer) notReady(w http.ResponseWriter) bool {
	switch state := s.follower.state(); {
	case !state.CaughtUp:
		answerProbe(w, http.StatusServiceUnavailable, "the standby has not caught up with its shard yet")
	case state.Away != "":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "warning": "the shard is not followed now: what there is is as of the last contact"})
	default:
		return false
	}
	return true
}

// answerProbe answers as the REST API does, for `searchd health` and others that ask.
func answerProbe(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	if status != http.StatusOK {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "detail": detail}) // who asked may be gone
}

// until serves to the end of ctx, and then ends as serve does, or until replace is closed, when it goes on with another folder.
func (s *shardServer) until(ctx context.Context, replace <-chan struct{}, grace time.Duration) (replaced bool, err error) {
	select {
	case err := <-s.failed:
		return false, fmt.Errorf("serving: %w", err)
	case <-replace:
		s.hold()
		return true, nil
	case <-ctx.Done():
	}
	s.log.Info("stopping", "reason", context.Cause(ctx))
	s.draining.Store(true)
	if grace > 0 {
		s.log.Info("not ready any more, still answering", "for", grace)
		select {
		case err := <-s.failed:
			return false, fmt.Errorf("serving: %w", err)
		case <-time.After(grace):
		}
	}
	close(s.stopping) // not before: a standby gets what is still written
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), shardDrain)
	defer cancel()
	if err := s.srv.Shutdown(drain); err != nil {
		s.log.Warn("requests cut off at the end", "after", shardDrain)
		s.srv.Close()
	}
	<-s.failed
	return false, nil
}
