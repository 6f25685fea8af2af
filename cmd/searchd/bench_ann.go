package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/index/hnsw"
)

// truthWidth is the number of true neighbors per query in a truth file.
const truthWidth = 100

// maxBenchFile bounds what is read into memory.
const maxBenchFile = 64 << 30

func newBenchANNCommand() *cobra.Command {
	var o hnsw.BenchOptions
	var base, query, truth, quantize string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ann --base F --query F --truth F --dim D", Short: "Measure the vector index: build time, and queries/s with their recall",
		Long: `--base and --query are files of float32 rows, --truth one of int32 rows of 100 ids each, nearest first; all
little-endian, without header. Distance is the inner product; recall is recall@10: mean, 5th percentile and minimum.
With --quantize int8 the index holds codes only, and the best of each search are measured again in the file of
--base, which is mapped. Bytes per vector are those that the index holds in memory.`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&base, "base", "", "vectors to index")
	f.StringVar(&query, "query", "", "vectors to search for")
	f.StringVar(&truth, "truth", "", "true neighbors of each query")
	f.IntVar(&o.Dim, "dim", 0, "components per vector")
	f.IntVar(&o.M, "m", hnsw.DefaultM, "links of a new node")
	f.IntVar(&o.EfConstruction, "ef-construction", hnsw.DefaultEfConstruction, "beam width of an insertion")
	f.IntSliceVar(&o.Ef, "ef", []int{10, 20, 40, 80, 120, 200, 400}, "beam widths of the search; 0: calibrated to a recall of 0.98, as a collection's is")
	f.StringVar(&quantize, "quantize", "none", "none or int8")
	f.IntVar(&o.Threads, "threads", 1, "goroutines that build and search")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	for _, name := range []string{"base", "query", "truth", "dim"} {
		_ = cmd.MarkFlagRequired(name) // the flags are there
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := benchANNOptions(&o, quantize); err != nil {
			return err
		}
		rows, err := hnsw.OpenRows(base, o.Dim)
		if err != nil {
			return err
		}
		defer rows.Close() // nothing was written
		o.Base, o.N = rows, rows.Len()
		if o.Query, err = readRows(query, o.Dim, math.Float32frombits); err != nil {
			return err
		}
		if o.Truth, err = readRows(truth, truthWidth, func(b uint32) int32 { return int32(b) }); err != nil {
			return err
		}
		o.TruthWidth = truthWidth
		var built atomic.Int64
		o.Built = func(n int) { built.Store(int64(n)) }
		stop := progress.Show(cmd.ErrOrStderr(), func() progress.State {
			return progress.State{Text: "indexing vectors", Done: built.Load(), Total: int64(o.N)}
		}).Stop
		r, err := hnsw.Bench(cmd.Context(), o)
		stop()
		if err != nil {
			return err
		}
		return printBenchANN(cmd, r, asJSON)
	}
	return cmd
}

// benchANNOptions checks the flags before large files are read.
func benchANNOptions(o *hnsw.BenchOptions, quantize string) error {
	switch quantize {
	case "none":
		o.Quantize = hnsw.QuantizeNone
	case "int8":
		o.Quantize = hnsw.QuantizeInt8
	default:
		return fmt.Errorf("--quantize is %q, want none or int8", quantize)
	}
	if o.Threads < 1 || o.Threads > 1024 {
		return fmt.Errorf("--threads is %d, want 1 to 1024", o.Threads)
	}
	for _, ef := range o.Ef {
		if ef < 0 || ef > hnsw.MaxEf {
			return fmt.Errorf("--ef holds %d, want 0 to %d", ef, hnsw.MaxEf)
		}
	}
	return hnsw.Options{Dim: o.Dim, M: o.M, EfConstruction: o.EfConstruction}.Validate()
}

// readRows reads a file of rows of 32-bit numbers.
func readRows[T any](path string, width int, number func(uint32) T) ([]T, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if size := info.Size(); size == 0 || size%int64(4*width) != 0 || size > maxBenchFile {
		return nil, fmt.Errorf("%s: %d bytes, want a multiple of %d (rows of %d numbers), at most %d", path, size, 4*width, width, int64(maxBenchFile))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(b)/4)
	for i := range out {
		out[i] = number(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out, nil
}

func printBenchANN(cmd *cobra.Command, r *hnsw.BenchResult, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "build %.2f s, %.0f bytes per vector\n", r.BuildSeconds, r.BytesPerVector)
	fmt.Fprintf(&b, "%6s %10s %6s %6s %12s\n", "ef", "recall@10", "p5", "min", "queries/s")
	for _, e := range r.Ef {
		fmt.Fprintf(&b, "%6d %10.4f %6.2f %6.2f %12.0f\n", e.Ef, e.Recall, e.P5, e.Min, e.QPS)
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return err
}
