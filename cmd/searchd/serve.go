package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"example.com/searchd/api"
	"example.com/searchd/api/completion"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/extract/pdf"
	"example.com/searchd/internal/settings"
	"example.com/searchd/internal/version"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/trace"
)

// defaultDrainGrace lets a load balancer poll /readyz twice.
const defaultDrainGrace = 5 * time.Second

// drainGraceAt is the default of --drain-grace of a server at addr.
func drainGraceAt(addr net.Addr) time.Duration {
	if isLoopback(addr) {
		return 0
	}
	return defaultDrainGrace
}

// serveFlags are the flags of serve.
type serveFlags struct {
	engineFlags
	cluster                  clusterFlags
	guard                    guardFlags
	addr, debugAddr          string
	logFormat                string
	generator                string
	reranker, sparse         string
	hosts                    []string
	maxConns, maxCollections int
	grace                    time.Duration
	meilisearch              bool
	analyticsDays            int
	analyticsMiB             int64
	suggestQueries           bool
	otlpEndpoint             string
	backups                  backupFlags
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", SuggestFor: []string{"start", "run", "server", "web"}, Short: "Serve the REST API and the web page",
		Long: `Serves a data folder until SIGINT or SIGTERM; then it finishes the current requests, saves and ends.
It listens on 127.0.0.1 unless --addr names another address.

Without any API key a server on loopback answers everyone on the machine, and a server on another address does not start. Once there is a key
("searchd keys create", POST /v1/keys, or SEARCHD_ADMIN_KEY in the environment) every request needs one, also from loopback, except for the
probes, the page and /openapi.yaml.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	f.add(cmd)
	return cmd
}

func (f *serveFlags) add(cmd *cobra.Command) {
	f.engineFlags.add(cmd)
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:8080", "address to listen on")
	cmd.Flags().StringVar(&f.reranker, "reranker", "", "cross-encoder or ColBERT model for re-ranking: a folder like that of --model (default none)")
	cmd.Flags().StringVar(&f.generator, "generator", "", "model that generates text, for /v1/chat/completions and /v1/completions: its folder, or OWNER/NAME of a pulled one (default none)")
	cmd.Flags().StringVar(&f.sparse, "sparse-model", "", "SPLADE checkpoint for sparse vectors: a folder like that of --model (default none)")
	cmd.Flags().StringSliceVar(&f.hosts, "allowed-hosts", nil, "host names that requests may use besides those of loopback; if given, others are rejected")
	f.guard.add(cmd)
	cmd.Flags().StringVar(&f.debugAddr, "debug-addr", "", "second address, for /debug/pprof/ only; needs no key, so loopback only unless --insecure (default none)")
	cmd.Flags().IntVar(&f.maxConns, "max-conns", 512, "limit on open connections; beyond it idle ones are closed")
	cmd.Flags().IntVar(&f.maxCollections, "max-collections", search.DefaultMaxCollections, "limit on the number of collections; lower where a process may have few open files")
	cmd.Flags().DurationVar(&f.grace, "drain-grace", 0, "how long requests are still served, with 503 on /readyz, before the server stops (default 5s, on loopback 0s)")
	cmd.Flags().BoolVar(&f.meilisearch, "meilisearch", false, "serve the clients of Meilisearch, too: /indexes, /multi-search, /tasks, /keys and so on")
	cmd.Flags().IntVar(&f.analyticsDays, "analytics-days", 0, "log searches and clicks, without addresses and keys, and keep them for so many days; 0: do not")
	cmd.Flags().Int64Var(&f.analyticsMiB, "analytics-mib", 64, "limit on the size of that log in MiB; beyond it the oldest part is deleted")
	cmd.Flags().BoolVar(&f.suggestQueries, "suggest-queries", false, "suggest queries that others have searched with results; needs --analytics-days")
	cmd.Flags().StringVar(&f.otlpEndpoint, "otlp-endpoint", "", "send traces to the OpenTelemetry collector at this URL, by OTLP over HTTP (default OTEL_EXPORTER_OTLP_ENDPOINT; without it none)")
	cmd.Flags().StringVar(&f.logFormat, "log-format", "text", "log lines on standard error: text or json")
	settings.Choices(cmd, "log-format", "text", "json")
	f.backups.add(cmd)
	f.cluster.add(cmd)
}

// serve serves the data folder until the context of the command ends.
func (f *serveFlags) serve(cmd *cobra.Command) error {
	log, err := logger(f.logFormat)
	if err != nil {
		return err
	}
	if err := f.cluster.check(cmd); err != nil {
		return err
	}
	if err := f.backups.check(cmd, f.cluster.name); err != nil {
		return err
	}
	if err := command.UseDefaultData(cmd, &f.data); err != nil {
		return err
	}
	l, err := listen(f.addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if f.debugAddr != "" {
		stop, err := startDebug(cmd.Context(), f.debugAddr, f.guard.insecure, log)
		if err != nil {
			return err
		}
		defer stop()
	}
	ao, err := f.apiOptions(cmd, l.Addr(), log)
	if err != nil {
		return err
	}
	if err := f.checkAnalytics(); err != nil {
		return err
	}
	if f.maxCollections < 1 {
		return fmt.Errorf("--max-collections: got %d, allowed: at least 1", f.maxCollections)
	}
	front := api.NewListener(l, ao) // answers probes from here on
	defer front.Close()
	so, err := f.searchOptions(cmd, log)
	if err != nil {
		return err
	}
	if so.Tracer, err = trace.Open(trace.Options{Endpoint: f.otlpEndpoint, Version: ao.Version, Warn: func(text string) { log.Warn(text) }}); err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	defer so.Tracer.Close()
	ao.Tracer = so.Tracer
	err = f.serveFolder(cmd.Context(), l.Addr(), front, so, ao)
	if ctx := cmd.Context(); ctx.Err() != nil && errors.Is(err, context.Canceled) {
		log.Info("stopped while opening; the next start continues", "reason", context.Cause(ctx))
		return nil
	}
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// listen opens the address of --addr.
func listen(addr string) (net.Listener, error) {
	if err := checkAddr(addr); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--addr: %w; stop the program that listens there, or choose another address", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	return l, nil
}

// checkAddr returns an error with advice for an address without a host or a port.
func checkAddr(addr string) error {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return nil
	}
	like := "127.0.0.1:8080"
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		like = "127.0.0.1:" + addr
	} else if _, rest, ok := strings.Cut(addr, "://"); ok {
		like = strings.TrimRight(rest, "/")
	} else if net.ParseIP(addr) != nil || !strings.Contains(addr, ":") {
		like = net.JoinHostPort(addr, "8080")
	}
	return fmt.Errorf("--addr: got %q, allowed: HOST:PORT, such as %s", addr, like)
}

// apiOptions returns the server's options. They are checked before the data folder is opened, which
// may take a while.
func (f *serveFlags) apiOptions(cmd *cobra.Command, addr net.Addr, log *slog.Logger) (api.Options, error) {
	v, revision := version.Read()
	o := api.Options{Logger: log, Version: v, Revision: revision, AllowedHosts: f.hosts, MaxConns: f.maxConns, DrainGrace: f.grace,
		CORSOrigins: f.guard.origins, RateLimit: f.guard.rate, RateBurst: f.guard.burst, PDF: (&pdf.Reader{Cache: pdf.CacheIn(f.data)}).Read}
	if !cmd.Flags().Changed("drain-grace") {
		o.DrainGrace = drainGraceAt(addr)
	}
	var err error
	if o.TLS, err = f.guard.tls(func(text string) { log.Info(text) }); err != nil {
		return o, err
	}
	if f.generator != "" {
		m := modelFlags{model: f.generator, precision: f.precision}
		g, err := m.openGenerator()
		if err != nil {
			return o, fmt.Errorf("--generator: %w", err)
		}
		_, label, err := models.Find(f.generator)
		if err != nil {
			return o, fmt.Errorf("--generator: %w", err)
		}
		o.Generator = &completion.Generator{Name: label, Model: g}
	}
	if err := o.Validate(); err != nil {
		return o, errors.New(flagNamesOf.Replace(err.Error()))
	}
	if limit := openFiles(); limit > 0 {
		if o.MaxConns = connsWithin(limit, f.maxConns); o.MaxConns < f.maxConns {
			log.Warn("fewer connections at once than --max-conns: the limit of open files is low", "connections", o.MaxConns, "open_files", limit)
		}
	}
	return o, nil
}

// searchOptions returns the engine's options, with the re-ranker and the SPLADE checkpoint.
func (f *serveFlags) searchOptions(cmd *cobra.Command, log *slog.Logger) (search.Options, error) {
	o := search.Options{
		MaxCollections: f.maxCollections,
		Notice:         func(text string) { log.Info(text) },
		Alarm:          func(text string) { log.Error(text) },
	}
	if limit := openFiles(); limit > 0 && !cmd.Flags().Changed("max-collections") {
		o.MaxCollections = collectionsWithin(limit, f.maxCollections)
	}
	eo, err := f.options()
	if err != nil {
		return o, err
	}
	eo.Pooling = ""
	if f.reranker != "" {
		c, err := models.Open(f.reranker, eo)
		if err == nil {
			o.Reranker, err = search.NewReranker(c)
		}
		if err != nil {
			return o, fmt.Errorf("--reranker: %w", err)
		}
	}
	if f.sparse != "" {
		eo.Sparse = true
		c, err := models.Open(f.sparse, eo)
		if err != nil {
			return o, fmt.Errorf("--sparse-model: %w", err)
		}
		o.Sparse = c
	}
	return o, nil
}

// serveFolder opens the data folder and serves it until ctx ends.
func (f *serveFlags) serveFolder(ctx context.Context, addr net.Addr, front *api.Listener, so search.Options, o api.Options) (err error) {
	node, err := f.cluster.open(ctx, f.data, &so)
	if err != nil {
		return err
	}
	e, err := f.openWith(ctx, so)
	if err != nil {
		if node != nil {
			err = errors.Join(err, node.Close())
		}
		return err
	}
	defer func() {
		if closeErr := e.Close(); err == nil {
			err = closeErr
		}
	}()
	logDamaged(ctx, o.Logger, e)
	if o.Keys, err = f.guard.keys(e.Vault(), addr); err != nil {
		return err
	}
	if node != nil {
		o.ClusterStatus = func(ctx context.Context) any { return node.Status(ctx) }
		o.ClusterNode = node.ChangeNode
		o.NodeReady, o.Collectors = node.Ready, []prometheus.Collector{clusterGauges(node.Gauges)}
		node.OnChange(func() {
			if err := o.Keys.Refresh(); err != nil {
				o.Logger.Error("reading the API keys that other nodes have changed", "error", err)
			}
		})
	}
	scheme := "https"
	if o.TLS == nil {
		scheme = "http"
		if o.Keys.Guarded() && !isLoopback(addr) {
			o.Logger.Warn("API keys travel unencrypted: give --tls-cert and --tls-key, or put a proxy with TLS in front")
		}
	}
	o.Engine, o.Inference, o.Copies, o.Versions = e, e.Inference(), search.CopiesOf(e), search.VersionsOf(e)
	if f.meilisearch {
		o.Meilisearch = e.Vault()
	}
	closeLog, err := f.openAnalytics(&o)
	if err != nil {
		return err
	}
	defer closeLog()
	endBackups, err := f.backups.start(ctx, e, &o)
	if err != nil {
		return err
	}
	defer endBackups()
	s, err := api.New(o)
	if err != nil {
		return err
	}
	if node == nil { // other nodes may not be there yet
		defer warmUp(ctx, e)()
	}
	o.Logger.Info("serving", "url", scheme+"://"+addr.String()+"/", "model", e.Inference().Model().Name, "data", f.data)
	return s.ServeListener(ctx, front)
}

// flagNamesOf replaces names of api's options by those of their flags.
var flagNamesOf = strings.NewReplacer("api: options: ", "", "MaxConns", "--max-conns", "DrainGrace", "--drain-grace", "RateLimit", "--rate-limit",
	"RateBurst", "--rate-burst", "CORSOrigins", "--cors-origin")

// connsWithin returns how many connections may be open where a process may have so many open files,
// of which the store and the indexes need some.
func connsWithin(files uint64, wanted int) int {
	room := max(files-min(files, max(32, files/4)), 1)
	if wanted <= 0 || uint64(wanted) <= room {
		return wanted
	}
	return int(room)
}

// collectionsWithin returns how many collections are allowed where a process may have so many open
// files: each needs a few.
func collectionsWithin(files uint64, wanted int) int {
	return int(min(uint64(wanted), max(1, files/4)))
}

// logDamaged logs the collections that cannot be opened.
func logDamaged(ctx context.Context, log *slog.Logger, e *search.Engine) {
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
