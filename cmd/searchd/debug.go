package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// debugListener opens the address of the debug server. Memory, stacks and the command line are for
// the operator alone, so it has a listener of its own, on loopback unless insecure.
func debugListener(addr string, insecure bool) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--debug-addr: %w", err)
	}
	if !isLoopback(l.Addr()) && !insecure {
		l.Close()
		return nil, fmt.Errorf("--debug-addr %s: other machines can reach it and it needs no key; allowed: an address of loopback, or --insecure", addr)
	}
	return l, nil
}

// startDebug serves /debug/pprof/ at addr until ctx ends or stop is called, which waits for its
// end.
func startDebug(ctx context.Context, addr string, insecure bool, log *slog.Logger) (stop func(), err error) {
	l, err := debugListener(addr, insecure)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- serveDebug(ctx, l) }()
	log.Info("debugging", "url", "http://"+l.Addr().String()+"/debug/pprof/")
	return func() {
		cancel()
		if err := <-done; err != nil {
			log.Error("debug server", "error", err)
		}
	}, nil
}

// serveDebug answers /debug/pprof/ until ctx ends; it closes l.
func serveDebug(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Handler: http.NewCrossOriginProtection().Handler(localOnly(mux)), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--debug-addr: %w", err)
	}
	return nil
}

// localOnly refuses host names: a page of another site can make a browser send requests to loopback
// under the site's name (DNS rebinding).
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "Host: allowed: localhost or an address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
