//go:build unix

package api

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"syscall"
	"testing"

	"example.com/searchd/internal/simd"
	"example.com/searchd/search"
	"example.com/searchd/search/given"
)

// BenchmarkImportGiven imports documents with given vectors over HTTP and reports the documents per
// second of CPU time, of which a machine with two cores has two per second, and the recall@10 of
// searches by vector against an exhaustive one. GIVEN names how many, 20,000 unless it is set.
func BenchmarkImportGiven(b *testing.B) {
	const dim, queries = 384, 200
	n := 20_000
	if text := os.Getenv("GIVEN"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	vectors := clustered(r, n+queries, dim)
	for b.Loop() {
		e, err := search.Open(b.TempDir(), search.Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := New(Options{Engine: e, Inference: e.Inference()})
		if err != nil {
			b.Fatal(err)
		}
		ts := httptest.NewServer(s.handler)
		if _, err := e.CreateCollection(b.Context(), "docs", search.Settings{Embedder: &search.EmbedderSettings{Source: "given", Dimension: dim}}); err != nil {
			b.Fatal(err)
		}
		before := cpuSeconds()
		in, out := io.Pipe()
		go func() {
			w := bufio.NewWriterSize(out, 1<<16)
			for i, v := range vectors[:n] {
				fmt.Fprintf(w, `{"id":"%d","title":"document %d","n":%d,"vector":[`, i, i, i%100)
				for j, x := range v {
					if j > 0 {
						w.WriteByte(',')
					}
					w.Write(strconv.AppendFloat(w.AvailableBuffer(), float64(x), 'g', 7, 32))
				}
				w.WriteString("]}\n")
			}
			w.Flush()
			out.Close()
		}()
		res, err := http.Post(ts.URL+"/v1/collections/docs/documents/import", "application/x-ndjson", in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		b.ReportMetric(float64(n)/(cpuSeconds()-before), "docs/cpu-s")
		info, err := e.Collection(b.Context(), "docs")
		if err != nil || info.Documents != n {
			b.Fatalf("%d documents, %v, want %d", info.Documents, err, n)
		}
		found := 0
		ten := 10
		for _, q := range vectors[n:] {
			res, err := e.Search(b.Context(), "docs", search.Query{Vector: q, Limit: &ten, Passages: new(0)})
			if err != nil {
				b.Fatal(err)
			}
			least := tenth(vectors[:n], q)
			for _, h := range res.Hits {
				i, _ := strconv.Atoi(h.ID)
				if simd.Dot(q, vectors[i]) >= least {
					found++
				}
			}
		}
		b.ReportMetric(float64(found)/float64(10*queries), "recall@10")
		ts.Close()
		e.Close()
	}
}

// clustered returns unit vectors that lie as those of texts do: around topics, in many directions
// of which few vary much.
func clustered(r *rand.Rand, n, dim int) [][]float32 {
	const topics, latent, noise = 200, 64, 0.02
	normal := func(n int, scale func(i int) float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() * scale(i))
		}
		return v
	}
	falling := func(i int) float64 { return 1 / math.Sqrt(1+float64(i)/4) }
	axes, centres := make([][]float32, latent), make([][]float32, topics)
	for i := range axes {
		axes[i] = normal(dim, func(int) float64 { return 1 / math.Sqrt(float64(dim)) })
	}
	for i := range centres {
		centres[i] = normal(latent, falling)
	}
	out := make([][]float32, n)
	for i := range out {
		own, c := normal(latent, falling), centres[r.IntN(topics)]
		out[i] = normal(dim, func(int) float64 { return noise })
		for k, axis := range axes {
			for j := range axis {
				out[i][j] += (c[k] + own[k]) * axis[j]
			}
		}
		given.Unit(out[i])
	}
	return out
}

// tenth returns the inner product of q with the tenth nearest of vectors, less a rounding error.
func tenth(vectors [][]float32, q []float32) float32 {
	best := make([]float32, 0, 11)
	for _, v := range vectors {
		d := simd.Dot(q, v)
		if len(best) == 10 && d <= best[9] {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1] < d {
			at--
		}
		best = append(best, 0)
		copy(best[at+1:], best[at:])
		best[at] = d
		best = best[:min(len(best), 10)]
	}
	return best[9] - 1e-6*float32(math.Abs(float64(best[9])))
}

// cpuSeconds returns the time that all cores have worked for this process.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
