package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"searchd/cmd/internal/command"
	"searchd/encoder"
	"searchd/internal/bench"
	"searchd/models"
)

// encodeFigures is what bench encode prints.
type encodeFigures struct {
	Precision string         `json:"precision"`
	Threads   int            `json:"threads"`
	Layers    int            `json:"layers"`
	Hidden    int            `json:"hidden"`
	Kernels   *bench.Kernels `json:"kernels,omitempty"`
	Rates     []encodeRate   `json:"rates,omitempty"`
	QueryMS   float64        `json:"query_ms"` // one text from characters to vector
	Tokens    int            `json:"query_tokens"`
}

// encodeRate is the speed for one shape of a batch.
type encodeRate struct {
	Texts  int     `json:"texts"`
	Length int     `json:"length"` // tokens of each text
	Rate   float64 `json:"tokens_per_s"`
}

func newBenchEncodeCommand() *cobra.Command {
	var f modelFlags
	var threads int
	var asJSON bool
	var only string
	cmd := &cobra.Command{
		Use: "encode", Short: "Measure the encoder: kernels beside the processor's ceiling, tokens/s, latency of a query",
		Long: `Kernels run on one core, each between two runs of a loop of multiply-adds in registers, which is the ceiling. Before and after them
an inner product in the first-level cache says how much of the core others have; the figure is the median of the turns with the
fastest of these, a tenth of all. gonum's product runs at the end, on threads of its own. Texts are random tokens of the checkpoint; their figures are the best of several short runs.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().IntVar(&threads, "threads", runtime.GOMAXPROCS(0), "goroutines that encode")
	cmd.Flags().StringVar(&only, "only", "", "measure one part: kernels, rates or query (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if threads < 1 || threads > 1024 {
			return fmt.Errorf("--threads is %d, want 1 to 1024", threads)
		}
		if only != "" && only != "kernels" && only != "rates" && only != "query" {
			return fmt.Errorf("--only is %q, want kernels, rates or query", only)
		}
		o, err := f.options()
		if err != nil {
			return err
		}
		o.Threads = threads
		m, err := models.Open(f.model, o)
		if err != nil {
			return err
		}
		if m.Info().Layers == 0 {
			return errors.New("--model: a static model has no layers to measure")
		}
		info := m.Info()
		fig := &encodeFigures{Precision: info.Precision.String(), Threads: threads, Layers: info.Layers, Hidden: info.Hidden}
		if only == "" || only == "kernels" {
			k := bench.MeasureKernels(info.Hidden, info.Inner, []int{1, 8, 64, 256}, time.Second)
			fig.Kernels = &k
		}
		if only == "" || only == "rates" {
			err = benchRates(cmd.Context(), m, fig)
		}
		if err == nil && (only == "" || only == "query") {
			err = benchQuery(cmd.Context(), m, fig)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(fig)
		}
		return printEncodeFigures(cmd.OutOrStdout(), fig)
	}
	return cmd
}

// benchRates encodes texts of one length, alone and in batches.
func benchRates(ctx context.Context, m *models.Checkpoint, fig *encodeFigures) error {
	r := rand.New(rand.NewPCG(3, 4))
	const rounds = 5
	for _, texts := range []int{1, 32} {
		for _, length := range []int{16, 64, 128, 256} {
			if length > m.MaxSeqLength() {
				continue
			}
			ids := make([][]int32, texts)
			for i := range ids {
				ids[i] = make([]int32, length)
				for k := range ids[i] {
					ids[i][k] = r.Int32N(int32(m.Info().Vocab))
				}
			}
			best, err := bench.Best(rounds, func() error {
				_, err := m.EncodeIDs(ctx, ids, encoder.EncodeOptions{})
				return err
			})
			if err != nil {
				return err
			}
			fig.Rates = append(fig.Rates, encodeRate{Texts: texts, Length: length, Rate: float64(texts*length) / best.Seconds()})
		}
	}
	return nil
}

// benchQuery measures one short text from characters to vector.
func benchQuery(ctx context.Context, m *models.Checkpoint, fig *encodeFigures) error {
	query := queryOf(m, 10)
	best, err := bench.Best(300, func() error {
		got, err := m.Encode(ctx, []string{query}, encoder.EncodeOptions{Prompt: encoder.PromptNone})
		if err == nil {
			fig.Tokens = got.Tokens
		}
		return err
	})
	if err != nil {
		return err
	}
	fig.QueryMS = best.Seconds() * 1e3
	return nil
}

// queryOf returns words that make a text of the given number of tokens, special ones included, or
// of a few less.
func queryOf(m *models.Checkpoint, tokens int) string {
	const words = "how to find a good book about the sea and its weather in the library of a small town"
	text := ""
	for _, w := range strings.Fields(words) {
		longer := strings.TrimSpace(text + " " + w)
		if text == "" || m.Tokenizer().Count(longer)+2 <= tokens {
			text = longer
		}
	}
	return text
}

// printEncodeFigures writes Markdown.
func printEncodeFigures(w io.Writer, f *encodeFigures) error {
	var b strings.Builder
	if k := f.Kernels; k != nil {
		printKernels(&b, k)
	}
	if f.Rates != nil {
		fmt.Fprintf(&b, "Encoder of %d layers of %d, %s, threads: %d.\n", f.Layers, f.Hidden, f.Precision, f.Threads)
		b.WriteString("\n| texts | tokens each | tokens/s |\n|---|---|---|\n")
		for _, r := range f.Rates {
			fmt.Fprintf(&b, "| %d | %d | %.0f |\n", r.Texts, r.Length, r.Rate)
		}
	}
	if f.Tokens > 0 {
		fmt.Fprintf(&b, "\nA query of %d tokens, from text to vector: %.2f ms.\n", f.Tokens, f.QueryMS)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printKernels writes a row for each product, with the int8 products of each back end beside that
// back end's ceiling, and beside that of the first, which is AVX512_VNNI's where tiles are used.
func printKernels(b *strings.Builder, k *bench.Kernels) {
	fmt.Fprintf(b, "Back end %s. Ceilings of one core, in registers: %.0f Gop/s float32", k.Backend, k.Floats)
	head, line := "\n| product (rows x in x out) | float32 Gop/s | of the ceiling |", "|---|---|---|"
	for i, r := range k.Products[0].Bytes {
		fmt.Fprintf(b, ", %.0f Gop/s int8 (%s)", k.Bytes[i], r.Backend)
		head += fmt.Sprintf(" int8 %s Gop/s | of its ceiling |", r.Backend)
		line += "---|---|"
		if i > 0 {
			head += fmt.Sprintf(" of %s's |", k.Products[0].Bytes[0].Backend)
			line += "---|"
		}
	}
	fmt.Fprintf(b, ".\n%s float32 / gonum |\n%s---|\n", head, line)
	for _, p := range k.Products {
		fmt.Fprintf(b, "| %d x %d x %d | %.0f | %.0f %% |", p.Rows, p.In, p.Out, p.Floats.Gops, 100*p.Floats.Share)
		for i, r := range p.Bytes {
			fmt.Fprintf(b, " %.0f | %.0f %% |", r.Gops, 100*r.Share)
			if i > 0 && k.Bytes[0] > 0 {
				fmt.Fprintf(b, " %.0f %% |", 100*r.Gops/k.Bytes[0])
			}
		}
		fmt.Fprintf(b, " %.1f |\n", p.VsGonum)
	}
	b.WriteString("\n")
}
