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

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/encoder"
	"example.com/searchd/models"
)

// encodeFigures is what bench encode prints.
type encodeFigures struct {
	Precision string       `json:"precision"`
	Threads   int          `json:"threads"`
	Layers    int          `json:"layers"`
	Hidden    int          `json:"hidden"`
	Rates     []encodeRate `json:"rates,omitempty"`
	QueryMS   float64      `json:"query_ms"` // one text from characters to vector
	Tokens    int          `json:"query_tokens"`
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
		Use: "encode", Short: "Measure the encoder: tokens per second and the time of a query",
		Long: "Texts are random tokens of the checkpoint; figures are the best of several short runs.",
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().IntVar(&threads, "threads", runtime.GOMAXPROCS(0), "goroutines that encode")
	cmd.Flags().StringVar(&only, "only", "", "measure one part: rates or query (default both)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if threads < 1 || threads > 1024 {
			return fmt.Errorf("--threads is %d, want 1 to 1024", threads)
		}
		if only != "" && only != "rates" && only != "query" {
			return fmt.Errorf("--only is %q, want rates or query", only)
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
			took, err := best(rounds, func() error {
				_, err := m.EncodeIDs(ctx, ids, encoder.EncodeOptions{})
				return err
			})
			if err != nil {
				return err
			}
			fig.Rates = append(fig.Rates, encodeRate{Texts: texts, Length: length, Rate: float64(texts*length) / took.Seconds()})
		}
	}
	return nil
}

// benchQuery measures one short text from characters to vector.
func benchQuery(ctx context.Context, m *models.Checkpoint, fig *encodeFigures) error {
	query := queryOf(m, 10)
	took, err := best(300, func() error {
		got, err := m.Encode(ctx, []string{query}, encoder.EncodeOptions{Prompt: encoder.PromptNone})
		if err == nil {
			fig.Tokens = got.Tokens
		}
		return err
	})
	if err != nil {
		return err
	}
	fig.QueryMS = took.Seconds() * 1e3
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

// best returns the shortest of several runs of f.
func best(rounds int, f func() error) (took time.Duration, err error) {
	for round := range rounds {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if d := time.Since(began); round == 0 || d < took {
			took = d
		}
	}
	return took, nil
}
