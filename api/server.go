package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/searchd/access"
	"example.com/searchd/analytics"
	"example.com/searchd/api/completion"
	"example.com/searchd/api/events"
	"example.com/searchd/api/meilisearch"
	"example.com/searchd/extract"
	"example.com/searchd/internal/connlimit"
	"example.com/searchd/mcp"
	"example.com/searchd/search"
	"example.com/searchd/trace"
)

// Options configure a [Server]. Engine and Inference are required; the zero value of any other
// field means its default.
type Options struct {
	Engine       Engine
	Inference    Inference             // required, as Engine is
	Copies       *search.Copies        // copies collections with their vectors; default: those routes answer not_supported
	Versions     *search.Versions      // former versions of documents; default: none, and those routes answer not_supported
	Generator    *completion.Generator // generates text; default: none
	Logger       *slog.Logger          // default: slog.Default()
	Version      string                // shown by /info; default "dev"
	Revision     string                // of the source, shown by /info; default: none
	Analytics    *analytics.Log        // where searches and clicks are logged; default: nowhere
	PastQueries  *events.Past          // completes queries with those of others; default: nothing does
	Meilisearch  meilisearch.Vault     // answers the clients of Meilisearch and keeps their settings there; default: their routes do not exist
	Tracer       *trace.Tracer         // records spans of requests; default: none
	Keys         *access.Keyring       // who may do what; default: everybody may do everything
	TLS          *tls.Config           // speaks TLS with it; default: plain HTTP
	AllowedHosts []string              // names that a Host header may hold besides those of loopback; with names given, or when bound to loopback, others get 403

	ClusterStatus func(ctx context.Context) any                        // describes the cluster that the server is a node of; nil: the server is not in a cluster
	ClusterNode   func(ctx context.Context, node, change string) error // change: drain, undrain or remove

	NodeReady  func() error           // also asked by /readyz: nil, or why the server takes no requests yet; default: not asked
	Warning    func() string          // also shown by /readyz, which answers everybody: what does not work, while the server takes requests; default: nothing
	Collectors []prometheus.Collector // their metrics come with those of the server; default: none

	PDF func(ctx context.Context, b []byte) (extract.PDFText, error) // reads a PDF, see package extract/pdf; default: imports take none

	CORSOrigins []string // origins whose pages may use the server from a browser, or "*" for all; default: none but its own

	RateLimit float64 // requests per second of a key that names no rate of its own, and of an address without a key; default: not bounded
	RateBurst int     // requests at once; default: those of one second, at least 1

	SearchSlots int // searches at once; default 2 per core, 64 times as many wait up to SearchWait
	WriteSlots  int // writing requests at once; default 1 per core, at least 2
	EmbedSlots  int // embedding and re-ranking requests at once, which the engine gathers into batches; default 128, 4 times as many wait

	SearchTimeout time.Duration // default 5 s
	SearchWait    time.Duration // how much of it a search may wait until it runs; default 4/5, the rest is for its answer
	EmbedTimeout  time.Duration // of one request that embeds, re-ranks or writes documents, however large, and of one batch of an import; default 10 min
	WriteTimeout  time.Duration // of one other write; default 60 s
	DrainGrace    time.Duration // how long requests are answered after that, with 503 on /readyz; default 0
	DrainTimeout  time.Duration // how long requests may finish after the context of Serve ended; default 20 s
	IdleBody      time.Duration // how long a body may stand still; default 30 s. One that a route streams has to come at 1 KiB per second, too

	MaxBody       int64 // bytes of a query or of settings, default 1 MiB
	MaxDocuments  int64 // bytes of a request with one or a few documents or texts, default 32 MiB
	MaxImport     int64 // bytes of an import after decompression, default 4 GiB; memory does not grow with it
	MaxInFlight   int64 // bytes of all bodies in memory at once, and of all answers that are kept until they are read, default 256 MiB
	MaxItem       int   // bytes of one document, default 8 MiB
	MaxConns      int   // open connections, default 512; beyond them silent and idle ones give way
	MaxEmbedTexts int   // texts of one embedding request, default 16384
}

// option is an option that is a number, and its default.
type option[T int | int64 | time.Duration] struct {
	name     string
	value    *T
	fallback T
}

// complete sets the default of an option, or returns an error about a negative value.
func complete[T int | int64 | time.Duration](options []option[T]) (errs []error) {
	for _, x := range options {
		if *x.value < 0 {
			errs = append(errs, fmt.Errorf("%s: got %v, allowed: %v (default) or more", x.name, *x.value, T(0)))
		}
		*x.value = cmp.Or(*x.value, x.fallback)
	}
	return errs
}

// withDefaults returns o with its defaults, and an error that names every option with a wrong
// value. Engine and Inference may be nil.
func (o Options) withDefaults() (Options, error) {
	cores := runtime.GOMAXPROCS(0)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Version = cmp.Or(o.Version, "dev")
	errs := complete([]option[int]{
		{"SearchSlots", &o.SearchSlots, 2 * cores}, {"WriteSlots", &o.WriteSlots, max(2, cores)}, {"EmbedSlots", &o.EmbedSlots, 128}, {"RateBurst", &o.RateBurst, 0},
		{"MaxItem", &o.MaxItem, 8 << 20}, // mapping.MaxDocument
		{"MaxConns", &o.MaxConns, 512}, {"MaxEmbedTexts", &o.MaxEmbedTexts, 16384},
	})
	errs = append(errs, complete([]option[int64]{
		{"MaxBody", &o.MaxBody, 1 << 20}, {"MaxDocuments", &o.MaxDocuments, 32 << 20}, {"MaxImport", &o.MaxImport, 4 << 30}, {"MaxInFlight", &o.MaxInFlight, 256 << 20},
	})...)
	errs = append(errs, complete([]option[time.Duration]{
		{"SearchTimeout", &o.SearchTimeout, 5 * time.Second}, {"EmbedTimeout", &o.EmbedTimeout, 10 * time.Minute}, {"WriteTimeout", &o.WriteTimeout, time.Minute},
		{"DrainGrace", &o.DrainGrace, 0}, {"DrainTimeout", &o.DrainTimeout, 20 * time.Second}, {"IdleBody", &o.IdleBody, 30 * time.Second},
	})...)
	errs = append(errs, complete([]option[time.Duration]{{"SearchWait", &o.SearchWait, o.SearchTimeout * 4 / 5}})...)
	if !(o.RateLimit >= 0 && o.RateLimit <= 1e6) {
		errs = append(errs, fmt.Errorf("RateLimit: got %v, allowed: 0 (none) to 1000000", o.RateLimit))
	}
	for _, origin := range o.CORSOrigins {
		if err := checkOrigin(origin); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return o, fmt.Errorf("api: options: %w", errors.Join(errs...))
	}
	return o, nil
}

// Validate names every option with a wrong value. Engine may still be nil.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) revision() *string {
	if o.Revision == "" {
		return nil
	}
	return &o.Revision
}

// Server is the HTTP side of an engine. It is safe for concurrent use.
type Server struct {
	o       Options
	log     *slog.Logger
	handler http.Handler
	origin  *http.CrossOriginProtection
	started time.Time
	metrics *metrics

	searches, writes, embeds, tokens, tokenize, imports, pdfs *gate

	limits  *limits
	limited atomic.Int64 // requests refused by a rate limit
	answers *idempotency
	mcps    *mcp.Server
	meili   *meilisearch.Server // nil: off

	meiliPaths map[string]bool // of echo

	inFlight atomic.Int64 // bytes of bodies in memory

	documents [64]*gate    // by a hash of their ids: those that are being put or patched
	unsent    atomic.Int64 // bytes of answers in memory
	local     atomic.Bool  // bound to loopback: only its names are answered
	served    atomic.Bool  // Serve or its like was called
	draining  atomic.Bool
	conns     atomic.Pointer[connlimit.Listener] // nil: not serving yet
}

// New returns a server for o.Engine, which the caller closes after Serve has returned.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if o.Engine == nil {
		err = errors.Join(errors.New("api: options: Engine: nil"), err)
	}
	if o.Inference == nil {
		err = errors.Join(errors.New("api: options: Inference: nil"), err)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, log: o.Logger, origin: http.NewCrossOriginProtection(), started: time.Now(), limits: newLimits(o.RateLimit, o.RateBurst)}
	for _, origin := range o.CORSOrigins {
		if origin != anyOrigin {
			if err := s.origin.AddTrustedOrigin(origin); err != nil {
				return nil, fmt.Errorf("api: options: CORSOrigins: %w", err)
			}
		}
	}
	s.openGates()
	s.metrics = newMetrics(s)
	s.answers = newIdempotency()
	s.mcps = mcp.New(toolEngine{s}, o.Version)
	if o.Meilisearch != nil {
		s.meili, s.meiliPaths = meilisearch.New(o.Engine, o.Meilisearch, o.MaxItem), map[string]bool{}
		for _, rt := range s.meiliRoutes() {
			s.meiliPaths[expandPath(rt.path)] = true
		}
	}
	s.handler, err = compress(s.router())
	return s, err
}

func (s *Server) openGates() {
	o, cores := s.o, runtime.GOMAXPROCS(0)
	s.searches = newGate("search", o.SearchSlots, 64*o.SearchSlots, o.SearchWait, errOverloaded)
	s.writes = newGate("write", o.WriteSlots, 64*o.WriteSlots, 10*time.Second, errTooManyWrites)
	s.embeds = newGate("embed", o.EmbedSlots, 4*o.EmbedSlots, 2*time.Second, errOverloaded)
	// An answer has a vector per token. The engine does not batch these requests.
	s.tokens = newGate("embed_all", cores, 4*cores, 2*time.Second, errOverloaded)
	// The same: each token takes some hundred bytes until the answer is complete.
	s.tokenize = newGate("tokenize", cores, 64*cores, 2*time.Second, errOverloaded)
	s.imports = newGate("import", 2*o.WriteSlots, 64*o.WriteSlots, 10*time.Second, errTooManyWrites)
	for i := range s.documents {
		s.documents[i] = newGate("document", 1, 0, 0, nil)
	}
	s.pdfs = newGate("pdf", max(1, cores/2), 0, 0, errTooManyWrites)
}

// Handler returns the server's handler. Serve alone checks the Host header of a loopback listener.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers requests from l until ctx ends. Then /readyz returns 503; after DrainGrace it
// accepts no new connections, and the requests in flight have DrainTimeout to finish. It closes l
// and returns nil, or the error that stopped it. A Server can serve one listener, once; for more
// there is [Server.Handler].
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.ServeListener(ctx, newListener(l, s.o)) // whose first request is for s already
}

// recordUses writes once a minute which keys were used, and a last time when stop is called.
func (s *Server) recordUses(ctx context.Context) (stop func()) {
	if s.o.Keys == nil {
		return func() {}
	}
	flush := func(ctx context.Context) {
		if err := s.o.Keys.Flush(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot save when API keys were last used", "error", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				flush(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		flush(last)
	}
}

// hostAllowed reports whether a Host header is accepted. A page of another site can make a browser
// send requests to a loopback server under the site's own name (DNS rebinding).
func (s *Server) hostAllowed(hostport string) bool {
	if !s.local.Load() && len(s.o.AllowedHosts) == 0 {
		return true
	}
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, h := range s.o.AllowedHosts {
		if strings.EqualFold(h, host) {
			return true
		}
	}
	return false
}
