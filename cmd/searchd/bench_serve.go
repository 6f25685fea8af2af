package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/api"
	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/search"
)

// serveFigures is what bench serve prints: searches of an idle server, and of one that takes an
// import at the same time.
type serveFigures struct {
	Searchers int        `json:"searchers"`
	Documents int        `json:"documents"` // before the import
	Alone     loadFigure `json:"alone"`     // one searcher, idle
	Idle      loadFigure `json:"idle"`
	Import    loadFigure `json:"import"`
	Imported  int        `json:"imported"`   // documents that were acknowledged
	Rate      float64    `json:"imported_s"` // of them a second
	Lost      int        `json:"lost"`       // acknowledged, but not there afterwards
	P50       float64    `json:"p50_ratio"`  // during the import / idle
	P99       float64    `json:"p99_ratio"`
}

// loadFigure is the latency of searches over HTTP, in milliseconds.
type loadFigure struct {
	Searches int     `json:"searches"`
	Rate     float64 `json:"searches_s"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Max      float64 `json:"max_ms"`
	Refused  int     `json:"refused"` // 429 and 503
	Failed   int     `json:"failed"`  // everything else that is no answer
}

func newBenchServeCommand() *cobra.Command {
	var f modelFlags
	var searchers, documents int
	var span, pause time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Measure searches of a server over HTTP, idle and during an import",
		Long: `Serves a new data folder on loopback, fills it, and lets concurrent searchers send queries that are in no cache, first without and then
with an import. Searchers, import and server share this machine.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().IntVar(&searchers, "searchers", 100, "searchers at once")
	cmd.Flags().IntVar(&documents, "documents", 2000, "documents before the import, of about a hundred words")
	cmd.Flags().DurationVar(&span, "for", 20*time.Second, "how long each half lasts")
	cmd.Flags().DurationVar(&pause, "pause", time.Second, "average pause of a searcher between two queries; 0: none")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if searchers < 1 || documents < 1 || span <= 0 || pause < 0 {
			return errors.New("--searchers, --documents, --for and --pause: allowed: more than 0, 0 for --pause")
		}
		l, err := startLoad(cmd.Context(), f)
		if err != nil {
			return err
		}
		fig, err := l.measure(cmd.Context(), searchers, documents, span, pause)
		if err := errors.Join(err, l.stop()); err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(fig)
		}
		return fig.print(cmd.OutOrStdout())
	}
	return cmd
}

func (f *serveFigures) print(w io.Writer) error {
	fmt.Fprintf(w, "%d searchers, %d documents.\n\n| | searches/s | p50 ms | p99 ms | max ms | refused | failed |\n|---|---|---|---|---|---|---|\n", f.Searchers, f.Documents)
	for _, row := range []struct {
		name string
		l    loadFigure
	}{{"one searcher alone, without pauses", f.Alone}, {"idle", f.Idle}, {"during an import", f.Import}} {
		fmt.Fprintf(w, "| %s | %.0f | %.1f | %.1f | %.1f | %d | %d |\n", row.name, row.l.Rate, row.l.P50, row.l.P99, row.l.Max, row.l.Refused, row.l.Failed)
	}
	_, err := fmt.Fprintf(w, "\nDuring the import p50 is %.1f times and p99 %.1f times that of the idle server. %d documents were imported, %.0f a second; %d of them were lost.\n",
		f.P50, f.P99, f.Imported, f.Rate, f.Lost)
	return err
}

// load is a server with its data folder, and a client of it.
type load struct {
	dir    string
	engine *search.Engine
	client *client.Client
	cancel context.CancelFunc
	served chan error
}

func startLoad(ctx context.Context, f modelFlags) (_ *load, err error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	l := &load{served: make(chan error, 1)}
	if l.dir, err = os.MkdirTemp("", "searchd-bench-"); err != nil {
		return nil, err
	}
	if l.engine, err = search.Open(l.dir, search.Options{Model: f.model, Encoder: o}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.dir))
	}
	undo := func(err error) error { return errors.Join(err, l.engine.Close(), os.RemoveAll(l.dir)) }
	s, err := api.New(api.Options{Engine: l.engine, Inference: l.engine.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, undo(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, undo(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1024
	if l.client, err = client.New("http://"+listener.Addr().String(), client.Options{HTTP: &http.Client{Transport: transport}, Retries: -1}); err != nil {
		return nil, undo(err)
	}
	ctx, l.cancel = context.WithCancel(ctx)
	go func() { l.served <- s.Serve(ctx, listener) }()
	return l, nil
}

func (l *load) stop() error {
	l.cancel()
	return errors.Join(<-l.served, l.engine.Close(), os.RemoveAll(l.dir))
}

// loadCollection is the collection that is searched and imported into.
const loadCollection = "load"

func (l *load) measure(ctx context.Context, searchers, documents int, span, pause time.Duration) (*serveFigures, error) {
	fig := &serveFigures{Searchers: searchers, Documents: documents}
	if _, err := l.client.EnsureCollection(ctx, loadCollection, client.Settings{}); err != nil {
		return nil, err
	}
	if n, err := l.ingest(ctx, 0, documents); err != nil || n != documents {
		return nil, fmt.Errorf("%d of %d documents: %w", n, documents, err)
	}
	l.search(ctx, searchers, span/10, pause) // so that both halves find everything in memory
	fig.Alone = l.search(ctx, 1, span/4, 0)
	fig.Idle = l.search(ctx, searchers, span, pause)
	during, cancel := context.WithCancel(ctx)
	var imported atomic.Int64
	ended := make(chan error, 1)
	began := time.Now()
	go func() {
		const step = 256
		for from := documents; during.Err() == nil; from += step {
			n, err := l.ingest(ctx, from, from+step)
			imported.Add(int64(n))
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	fig.Import = l.search(ctx, searchers, span, pause)
	cancel()
	if err := <-ended; err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	fig.Imported = int(imported.Load())
	fig.Rate = float64(fig.Imported) / time.Since(began).Seconds()
	c, err := l.client.Collection(ctx, loadCollection)
	if err != nil {
		return nil, err
	}
	fig.Lost = documents + fig.Imported - c.Documents
	if fig.Idle.P50 > 0 && fig.Idle.P99 > 0 {
		fig.P50, fig.P99 = fig.Import.P50/fig.Idle.P50, fig.Import.P99/fig.Idle.P99
	}
	return fig, ctx.Err()
}

// ingest imports the documents [from, to) and returns how many were acknowledged.
func (l *load) ingest(ctx context.Context, from, to int) (int, error) {
	sum, err := l.client.Import(ctx, loadCollection, func(yield func(client.Document, error) bool) {
		for i := from; i < to; i++ {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			fields, err := json.Marshal(map[string]string{"title": words(r, 4), "text": words(r, 100)})
			if !yield(client.Document{ID: fmt.Sprint(i), Fields: fields}, err) {
				return
			}
		}
	}, nil)
	return sum.Created + sum.Updated + sum.Unchanged, err
}

// search lets searchers send queries for a while.
func (l *load) search(ctx context.Context, searchers int, span, pause time.Duration) loadFigure {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var f loadFigure
	var wg sync.WaitGroup
	for n := range searchers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(n)))
			for first := true; ; first = false {
				wait := time.Duration(r.ExpFloat64() * float64(pause))
				if first {
					wait = time.Duration(r.Float64() * float64(pause))
				}
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return
				}
				began := time.Now()
				_, err := l.client.Search(context.WithoutCancel(ctx), loadCollection, client.Query{Q: words(r, 5)})
				d := time.Since(began)
				mu.Lock()
				switch {
				case errors.Is(err, client.ErrBusy):
					f.Refused++
				case err != nil:
					f.Failed++
				default:
					took = append(took, d)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	at := func(q float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return float64(took[min(int(q*float64(len(took))), len(took)-1)].Microseconds()) / 1000
	}
	f.Searches, f.Rate, f.P50, f.P99, f.Max = len(took), float64(len(took))/span.Seconds(), at(.5), at(.99), at(1)
	return f
}

// words returns a text of n words, some of which are much commoner than others.
func words(r *rand.Rand, n int) string {
	const syllables = "ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu"
	parts := strings.Fields(syllables)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		rank := min(int(r.ExpFloat64()*400), 1<<20)
		for ; rank > 0 || b.Len() == 0 || b.String()[b.Len()-1] == ' '; rank /= len(parts) {
			b.WriteString(parts[rank%len(parts)])
		}
	}
	return b.String()
}
