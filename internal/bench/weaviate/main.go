// Command weaviate measures hybrid searches of searchd and of Weaviate side by side: the same
// documents, the same vectors, the same queries, in turns; searchd is asked over HTTP in JSON,
// Weaviate by gRPC. It starts both servers, in folders of its own, and prints a Markdown table.
//
//	go install github.com/weaviate/weaviate/cmd/weaviate-server@v1.35.2
//	go run ./internal/bench/weaviate --searchd bin/searchd --weaviate "$(go env GOPATH)/bin/weaviate-server" --dataset DIR
//
// The dataset is in the BEIR layout. Documents are cut so that each is one passage, and so one
// vector. Weaviate gets the vectors of searchd's embedded checkpoint, of documents and of queries,
// and no vectoriser; its settings are its defaults. The queries are those of the dataset and, so
// that there are some hundred, the first words of documents.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"searchd/internal/eval"
)

// hits is how many documents every search asks for, alpha the weight of the vectors in hybrid ones.
const (
	hits  = 10
	alpha = 0.7
)

// engine is a server under measurement.
type engine interface {
	fill(ctx context.Context, docs []document) error
	hybrid(ctx context.Context, q query) (ids []string, err error)
	nearest(ctx context.Context, q query) (ids []string, err error)
}

type document struct {
	id, text string
	vector   []float32
}

type query struct {
	text   string
	vector []float32
	exact  []string // ids of the nearest documents
}

func main() {
	var o options
	flag.StringVar(&o.searchd, "searchd", "bin/searchd", "program")
	flag.StringVar(&o.weaviate, "weaviate", "weaviate-server", "program")
	flag.StringVar(&o.dataset, "dataset", "", "folder with corpus.jsonl and queries.jsonl")
	flag.IntVar(&o.queries, "queries", 1000, "different queries")
	flag.DurationVar(&o.slice, "for", 4*time.Second, "how long each turn of a server lasts")
	flag.IntVar(&o.rounds, "rounds", 3, "turns of each server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "weaviate:", err)
		os.Exit(1)
	}
}

type options struct {
	searchd, weaviate, dataset string
	queries, rounds            int
	slice                      time.Duration
}

func run(ctx context.Context, o options, w io.Writer) error {
	dir, err := os.MkdirTemp("", "searchd-weaviate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, theirs := &searchd{}, &weaviate{}
	stop, err := startBoth(ctx, o, dir, ours, theirs)
	if err != nil {
		return err
	}
	docs, queries, err := prepare(ctx, o, ours)
	for _, e := range []engine{ours, theirs} {
		if err == nil {
			err = e.fill(ctx, docs)
		}
	}
	stop()
	if err != nil {
		return err
	}
	// Started again, both have everything on disk and in the form in which they like to search it.
	if stop, err = startBoth(ctx, o, dir, ours, theirs); err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "%d documents, %d queries, alpha %v, %d hits.\n\n", len(docs), len(queries), alpha, hits)
	fmt.Fprintf(w, "| vectors alone | searchd | Weaviate |\n|---|---|---|\n| recall@10 |")
	for _, e := range []engine{ours, theirs} {
		r, err := recall(ctx, e, queries)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, " %.4f |", r)
	}
	fmt.Fprintf(w, "\n\n| hybrid | at once | searchd/s | Weaviate/s | ratio | searchd p50, p99 ms | Weaviate p50, p99 ms | ratio of p99 |\n|---|---|---|---|---|---|---|---|\n")
	for _, fresh := range []bool{false, true} {
		for _, clients := range []int{1, 8} {
			if err := compare(ctx, w, o, ours, theirs, queries, clients, fresh); err != nil {
				return err
			}
		}
	}
	return nil
}

// startBoth starts the servers on the folders below dir.
func startBoth(ctx context.Context, o options, dir string, ours *searchd, theirs *weaviate) (stop func(), err error) {
	stopOurs, err := ours.start(ctx, o.searchd, dir)
	if err != nil {
		return nil, err
	}
	stopTheirs, err := theirs.start(ctx, o.weaviate, dir)
	if err != nil {
		stopOurs()
		return nil, err
	}
	return func() { stopTheirs(); stopOurs() }, nil
}

// prepare reads the dataset and has everything encoded.
func prepare(ctx context.Context, o options, s *searchd) ([]document, []query, error) {
	c, err := eval.ReadCollection(os.DirFS(o.dataset))
	if err != nil {
		return nil, nil, err
	}
	docs := make([]document, 0, len(c.Documents))
	texts := make([]string, 0, len(c.Documents))
	for _, d := range c.Documents {
		if text := firstWords(d.Joined(), 80); text != "" {
			docs, texts = append(docs, document{id: d.ID, text: text}), append(texts, text)
		}
	}
	vectors, err := s.embed(ctx, texts, "document")
	if err != nil {
		return nil, nil, err
	}
	for i := range docs {
		docs[i].vector = vectors[i]
	}
	var asked []string
	for _, q := range c.Queries {
		asked = append(asked, q.Text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, i := range r.Perm(len(docs)) {
		asked = append(asked, plain(firstWords(docs[i].text, 8)))
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	r.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	asked = asked[:min(o.queries, len(asked))]
	if vectors, err = s.embed(ctx, asked, "query"); err != nil {
		return nil, nil, err
	}
	queries := make([]query, len(asked))
	for i := range asked {
		queries[i] = query{text: asked[i], vector: vectors[i], exact: exact(docs, vectors[i])}
	}
	return docs, queries, nil
}

// firstWords cuts a text behind n words.
func firstWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(n, len(words))], " ")
}

// plain takes out what searchd would read as operators.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '"' || r == '-' || r == ' ' || r == '“' || r == '”' }), " ")
}

// exact returns the ids of the documents nearest to a vector of unit length.
func exact(docs []document, v []float32) []string {
	type scored struct {
		id string
		s  float64
	}
	all := make([]scored, len(docs))
	for i, d := range docs {
		s := 0.0
		for j, x := range d.vector {
			s += float64(x) * float64(v[j])
		}
		all[i] = scored{d.id, s}
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.s, a.s) })
	ids := make([]string, hits)
	for i := range ids {
		ids[i] = all[i].id
	}
	return ids
}

// recall is the share of the exact answers that a server's vector search finds.
func recall(ctx context.Context, e engine, queries []query) (float64, error) {
	found := 0
	for _, q := range queries {
		ids, err := e.nearest(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			if slices.Contains(q.exact, id) {
				found++
			}
		}
	}
	return float64(found) / float64(hits*len(queries)), nil
}

// compare prints one row. With fresh texts no cache of searchd knows the query, so that it encodes
// each; Weaviate has its vector always.
func compare(ctx context.Context, w io.Writer, o options, ours, theirs engine, queries []query, clients int, fresh bool) error {
	var took [2][]time.Duration
	var span [2]time.Duration
	var n atomic.Int64
	for range o.rounds {
		for i, e := range []engine{ours, theirs} {
			began := time.Now()
			d, err := load(ctx, e, queries, clients, o.slice, &n, fresh)
			if err != nil {
				return err
			}
			took[i], span[i] = append(took[i], d...), span[i]+time.Since(began)
		}
	}
	var rate, p50, p99 [2]float64
	for i := range took {
		slices.Sort(took[i])
		at := func(q float64) float64 { return float64(took[i][int(q*float64(len(took[i])-1))].Microseconds()) / 1000 }
		rate[i], p50[i], p99[i] = float64(len(took[i]))/span[i].Seconds(), at(.5), at(.99)
	}
	name := "vectors of queries known"
	if fresh {
		name = "searchd encodes each query"
	}
	_, err := fmt.Fprintf(w, "| %s | %d | %.0f | %.0f | %.2f | %.2f, %.2f | %.2f, %.2f | %.2f |\n", name, clients, rate[0], rate[1], rate[0]/rate[1], p50[0], p99[0], p50[1], p99[1], p99[1]/p99[0])
	return err
}

// load lets clients ask one query after another for a while.
func load(ctx context.Context, e engine, queries []query, clients int, span time.Duration, n *atomic.Int64, fresh bool) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, span+time.Minute)
	defer cancel()
	end := time.Now().Add(span)
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				i := n.Add(1)
				q := queries[int(i)%len(queries)]
				if fresh {
					q.text += fmt.Sprintf(" %d", i)
				}
				began := time.Now()
				ids, err := e.hybrid(ctx, q)
				d := time.Since(began)
				if err == nil && len(ids) == 0 {
					err = fmt.Errorf("no hits for %q", q.text)
				}
				mu.Lock()
				took = append(took, d)
				if err != nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return took, failed
}
