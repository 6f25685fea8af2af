package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"searchd/access"
	"searchd/api"
	"searchd/extract/pdf"
	"searchd/internal/settings"
	"searchd/internal/version"
	"searchd/models"
	"searchd/search"
)

// defaultDrainGrace is time for a load balancer to ask /readyz twice.
const defaultDrainGrace = 5 * time.Second

// drainGraceAt is the default of --drain-grace of a server at addr.
func drainGraceAt(addr net.Addr) time.Duration {
	if isLoopback(addr) {
		return 0
	}
	return defaultDrainGrace
}

func newServeCommand() *cobra.Command {
	var f engineFlags
	var addr, debugAddr, logFormat, reranker, sparse string
	var hosts []string
	var maxConns, maxCollections int
	var grace time.Duration
	var guard guardFlags
	var follow followFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the REST API and the web page",
		Long: `Serves a data folder until SIGINT or SIGTERM; then it answers what is under way, saves and ends.
Bound to 127.0.0.1 unless --addr says otherwise.

Without any API key a server on loopback answers everybody on the machine, and one on another address does not start. Once there is a key
("searchd keys create", POST /v1/keys, or SEARCHD_ADMIN_KEY in the environment) every request needs one, also from loopback; only the
probes, the page and /openapi.yaml do without.

With --follow URL it is a replica of that server: it makes a copy of its data, follows what changes, answers reads by itself and passes on what
writes. Started again without --follow it is a primary with what it has.`,
		Args: cobra.NoArgs, PreRunE: fillSettings,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address to listen on")
	cmd.Flags().StringVar(&reranker, "reranker", "", "cross-encoder for re-ranking: a folder like that of --model (default none)")
	cmd.Flags().StringVar(&sparse, "sparse-model", "", "SPLADE checkpoint for sparse vectors: a folder like that of --model (default none)")
	cmd.Flags().StringSliceVar(&hosts, "allowed-hosts", nil, "names under which the server may be asked, besides those of loopback; with names given, others are refused")
	guard.add(cmd)
	follow.add(cmd)
	cmd.Flags().StringVar(&debugAddr, "debug-addr", "", "second address, for /debug/pprof/ alone; without keys, so loopback's unless --insecure (default none)")
	cmd.Flags().IntVar(&maxConns, "max-conns", 512, "connections that may be open at once; beyond them silent and idle ones give way")
	cmd.Flags().IntVar(&maxCollections, "max-collections", search.DefaultMaxCollections, "collections that there may be, fewer where a process may have few open files; no more are made")
	cmd.Flags().DurationVar(&grace, "drain-grace", 0, "how long requests are answered, with 503 on /readyz, before the server stops taking them (default 5s, on loopback 0s)")
	cmd.Flags().StringVar(&logFormat, "log-format", "text", "log lines on standard error: text or json")
	settings.Choices(cmd, "log-format", "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := logger(logFormat)
		if err != nil {
			return err
		}
		fo, err := follow.follower(f.data, log)
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("--addr: %w; end the program that listens there, or name another address", err)
		}
		if err != nil {
			return fmt.Errorf("--addr: %w", err)
		}
		defer l.Close()
		if debugAddr != "" {
			d, err := debugListener(debugAddr, guard.insecure)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			done := make(chan error, 1)
			go func() { done <- serveDebug(ctx, d) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					log.Error("debug server", "error", err)
				}
			}()
			log.Info("debugging", "url", "http://"+d.Addr().String()+"/debug/pprof/")
		}
		tlsConfig, scheme, err := guard.tls(func(text string) { log.Info(text) })
		if err != nil {
			return err
		}
		v, revision := version.Read()
		ao := api.Options{Logger: log, Version: v, Revision: revision, TLS: tlsConfig, AllowedHosts: hosts, MaxConns: maxConns, DrainGrace: grace,
			CORSOrigins: guard.origins, RateLimit: guard.rate, RateBurst: guard.burst, PDF: pdf.Reader{Command: pdf.Self()}.Read}
		if !cmd.Flags().Changed("drain-grace") {
			ao.DrainGrace = drainGraceAt(l.Addr())
		}
		if err := ao.Validate(); err != nil { // before the data folder is opened, which may take a while
			return errors.New(flagNamesOf.Replace(err.Error()))
		}
		if maxCollections < 1 {
			return fmt.Errorf("--max-collections: got %d, allowed: at least 1", maxCollections)
		}
		if limit := openFiles(); limit > 0 {
			if ao.MaxConns = connsWithin(limit, maxConns); ao.MaxConns < maxConns {
				log.Warn("fewer connections at once than --max-conns: the limit of open files is low", "connections", ao.MaxConns, "open_files", limit)
			}
		}
		if fo != nil {
			ao.Primary = fo.primary()
		}
		front := api.NewFront(l, ao) // probes are answered from here on
		defer front.Close()
		ao.Front = front
		o, err := f.heads(reranker, sparse)
		if err != nil {
			return err
		}
		o.MaxCollections = maxCollections
		if limit := openFiles(); limit > 0 && !cmd.Flags().Changed("max-collections") {
			o.MaxCollections = collectionsWithin(limit, maxCollections)
		}
		o.Notice = func(text string) { log.Info(text) }
		o.Alarm = func(text string) { log.Error(text) }
		o.Promote = fo == nil
		open := func() (*search.Engine, error) { return f.openWith(cmd.Context(), false, o) }
		keys := func(vault access.Vault) (*access.Keyring, error) {
			ring, err := guard.keys(vault, l.Addr(), fo != nil)
			if err == nil && scheme == "http" && ring.Guarded() && !isLoopback(l.Addr()) {
				log.Warn("API keys travel unencrypted: give --tls-cert and --tls-key, or put a proxy with TLS in front")
			}
			return ring, err
		}
		if fo != nil {
			err = fo.begin(cmd.Context())
		}
		for again := true; again && err == nil; {
			again, err = serveOnce(cmd, front, fo, open, keys, ao, scheme+"://"+l.Addr().String()+"/")
			if again && err == nil {
				err = search.InstallCopy(f.data)
			}
		}
		if ctx := cmd.Context(); ctx.Err() != nil && errors.Is(err, context.Canceled) {
			log.Info("stopped while opening; the next start goes on", "reason", context.Cause(ctx))
			return nil
		}
		if err == nil {
			log.Info("stopped")
		}
		return err
	}
	return cmd
}

// serveOnce opens the data folder and serves it to the end, or, for a replica, until there is a copy that must take the place of what the folder
// holds.
func serveOnce(cmd *cobra.Command, front *api.Front, fo *follower, open func() (*search.Engine, error), keys func(access.Vault) (*access.Keyring, error), o api.Options, url string) (again bool, err error) {
	e, err := open()
	if err != nil {
		return false, err
	}
	defer func() {
		if closeErr := e.Close(); err == nil {
			err = closeErr
		}
	}()
	tellDamaged(cmd.Context(), o.Logger, e)
	vault, err := e.Vault()
	if err == nil {
		o.Keys, err = keys(vault)
	}
	if err != nil {
		return false, err
	}
	o.Engine = e
	s, err := api.New(o)
	if err != nil {
		return false, err
	}
	replace := make(chan struct{})
	if fo != nil {
		ctx, cancel := context.WithCancel(cmd.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if fo.follow(ctx, e, o.Keys) {
				close(replace)
			}
		}()
		defer func() {
			cancel()
			<-done
		}()
	}
	o.Logger.Info("serving", "url", url, "model", e.Model().Name, "data", cmd.Flag("data").Value.String())
	return s.ServeUntil(cmd.Context(), front, replace)
}

// flagNamesOf gives the options of package api the names of the flags that they come from.
var flagNamesOf = strings.NewReplacer("api: options: ", "", "MaxConns", "--max-conns", "DrainGrace", "--drain-grace", "RateLimit", "--rate-limit",
	"RateBurst", "--rate-burst", "CORSOrigins", "--cors-origin")

// connsWithin returns how many connections may be open where a process may have so many files: the store, the indexes and their merges need
// some, too, and a connection that finds none left waits unseen.
func connsWithin(files uint64, asked int) int {
	room := max(files-min(files, max(32, files/4)), 1)
	if asked <= 0 || uint64(asked) <= room {
		return asked
	}
	return int(room)
}

// collectionsWithin returns how many collections there may be where a process may have so many files: each has one open or a few.
func collectionsWithin(files uint64, asked int) int { return int(min(uint64(asked), max(1, files/4))) }

// tellDamaged logs the collections that cannot be opened.
func tellDamaged(ctx context.Context, log *slog.Logger, e *search.Engine) {
	list, err := e.Collections(ctx)
	if err != nil {
		log.Error("listing collections", "error", err)
	}
	for _, c := range list {
		if c.Damaged != "" {
			log.Error("collection damaged: the others are served", "collection", c.Name, "damage", c.Damaged)
		}
	}
}

// heads loads the checkpoints that serve adds to the engine's own; they run with the same precision.
func (f *engineFlags) heads(reranker, sparse string) (search.Options, error) {
	var o search.Options
	eo, err := f.options()
	if err != nil {
		return o, err
	}
	eo.Pooling = ""
	if reranker != "" {
		c, err := models.Open(reranker, eo)
		if err != nil {
			return o, fmt.Errorf("--reranker: %w", err)
		}
		if o.Reranker, err = search.NewReranker(c); err != nil {
			return o, fmt.Errorf("--reranker: %w", err)
		}
	}
	if sparse != "" {
		eo.Sparse = true
		c, err := models.Open(sparse, eo)
		if err != nil {
			return o, fmt.Errorf("--sparse-model: %w", err)
		}
		o.Sparse = c
	}
	return o, nil
}
