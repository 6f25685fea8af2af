package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"searchd/access"
	"searchd/api"
	"searchd/search"
)

// Times of a server that reads shards which another writes to.
const (
	refreshEvery = time.Second     // names and keys are read again, and the other is asked whether it answers
	writerWait   = 2 * time.Second // for its answer
)

// writerFlags name the server that writes to the shards of --shards.
type writerFlags struct{ url, ca string }

func (f *writerFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "writes-to", "", "URL of the server that writes to --shards: this one reads them, and passes on to it what writes")
	cmd.Flags().StringVar(&f.ca, "writes-to-ca", "", "PEM file of the authorities that may have signed the certificate of --writes-to (default those of the system)")
}

// reader answers reads from shards that another server, the writer, has claimed:
//
//  1. Documents and settings are read from the shards at each request. Names of collections, checkpoints and API keys are read again every refreshEvery where
//     they have changed, and when the writer has answered what was passed on to it.
//  2. Where the writer does not answer, reads go on; what writes is refused.
type reader struct {
	log       *slog.Logger
	url       *url.URL
	transport http.RoundTripper
	engine    *search.Engine // set before requests come
	keys      *access.Keyring
	version   string // of the keys

	refreshing sync.Mutex // held while keys are read
	mu         struct {
		sync.Mutex
		api.Following
	}
}

// reader returns what reads shards for the writer that is named; nil where none is.
func (f *writerFlags) reader(shards []string, log *slog.Logger) (*reader, error) {
	switch {
	case f.url == "" && f.ca != "":
		return nil, errors.New("--writes-to-ca goes with --writes-to")
	case f.url == "":
		return nil, nil
	case len(shards) == 0:
		return nil, errors.New("--writes-to goes with --shards, those that the server which is named writes to")
	}
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("--writes-to: got %.200q, allowed: a URL such as http://10.0.0.7:8080", f.url)
	}
	t, err := transport("writes-to-ca", f.ca)
	if err != nil {
		return nil, err
	}
	r := &reader{log: log, url: u, transport: t}
	r.mu.CaughtUp, r.mu.Contact = true, time.Now()
	return r, nil
}

// primary is what the server needs to know of the one that writes.
func (r *reader) primary() *api.Primary {
	return &api.Primary{URL: r.url, Transport: r.transport, State: r.state, SameShards: true, Reached: func(ctx context.Context, _ uint64) {
		if err := r.refresh(ctx); err != nil {
			r.log.Debug("names and keys after a write", "error", err) // follow goes on
		}
	}}
}

func (r *reader) state() api.Following {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.Following
}

// refresh reads names and keys again where they have changed.
func (r *reader) refresh(ctx context.Context) error {
	version, err := r.engine.Refresh(ctx)
	if err != nil {
		return err
	}
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	if version == r.version {
		return nil
	}
	if err := r.keys.Refresh(); err != nil {
		return err
	}
	r.version = version
	return nil
}

// follow keeps names and keys like those of the shards, and asks the writer whether it answers, until stop is called.
func (r *reader) follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		stale := false
		every(ctx, func() {
			err := r.refresh(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil && !stale:
				r.log.Warn("names and API keys cannot be read from the shards; they are as they were until they can", "error", err)
			case err == nil && stale:
				r.log.Info("names and API keys are read from the shards again")
			}
			stale = err != nil
		})
	})
	wait.Go(func() { every(ctx, func() { r.look(ctx) }) })
	return func() {
		cancel()
		wait.Wait()
	}
}

// every calls do now, and then every refreshEvery until ctx ends.
func every(ctx context.Context, do func()) {
	for ctx.Err() == nil {
		do()
		select {
		case <-time.After(refreshEvery):
		case <-ctx.Done():
		}
	}
}

// look asks the writer whether it answers, and tells what has changed.
func (r *reader) look(ctx context.Context) {
	err := r.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.mu.Away
	if err == nil {
		r.mu.Away, r.mu.Contact = "", time.Now()
		if was != "" {
			r.log.Info("the server that writes answers again", "writer", r.url.Redacted())
		}
		return
	}
	r.mu.Away = err.Error()
	if was == "" {
		r.log.Warn("the server that writes does not answer, or not as one that can: reads are served, writes are refused until it does", "writer", r.url.Redacted(), "error", err)
	}
}

// ask returns nil where the writer says that it is ready.
func (r *reader) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writerWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.JoinPath("readyz").String(), nil)
	if err != nil {
		return err
	}
	res, err := r.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", req.URL.Redacted(), res.Status)
	}
	return nil
}
