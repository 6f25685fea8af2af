package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"searchd/encoder"
	"searchd/internal/bench"
	"searchd/internal/eval"
	"searchd/models"
)

func newBenchInt8Command() *cobra.Command {
	var f modelFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "int8 [flags] DIR...", Short: "Measure what --precision int8 costs in quality",
		Long: `Each DIR is a folder in the BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), or a folder of such folders. Every
document and judged query is encoded in float32 and in int8; the smallest cosine of the two vectors of a text and nDCG@10 of
both by exact search are printed. Exit code 1 where a cosine is below 0.99 or nDCG@10 falls by more than 0.005.`,
		Args: cobra.MinimumNArgs(1), PreRunE: fillSettings,
	}
	cmd.Flags().StringVar(&f.model, "model", "", "checkpoint: a folder in the sentence-transformers layout, OWNER/NAME of a pulled one, or \"embedded\" (default)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON for each set")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sets, err := setsIn(args)
		if err != nil {
			return err
		}
		exact, err := vectorsOf(cmd.Context(), f.model, encoder.Options{Precision: encoder.Float32})
		if err != nil {
			return err
		}
		rounded, err := vectorsOf(cmd.Context(), f.model, encoder.Options{Precision: encoder.Int8})
		if err != nil {
			return err
		}
		return compareSets(cmd, sets, exact, rounded, asJSON)
	}
	return cmd
}

// vectorsOf loads a checkpoint and returns what encodes texts with it.
func vectorsOf(ctx context.Context, model string, o encoder.Options) (func([]string) ([][]float32, error), error) {
	m, err := models.Open(model, o)
	if err != nil {
		return nil, err
	}
	return func(texts []string) ([][]float32, error) {
		r, err := m.Encode(ctx, texts, encoder.EncodeOptions{})
		if err != nil {
			return nil, err
		}
		return r.Vectors, nil
	}, nil
}

// compareSets prints what rounding costs on each set.
func compareSets(cmd *cobra.Command, sets []string, exact, rounded func([]string) ([][]float32, error), asJSON bool) error {
	out := cmd.OutOrStdout()
	if !asJSON {
		fmt.Fprint(out, "| set | texts | smallest cosine | nDCG@10 float32 | int8 |\n|---|---|---|---|---|\n")
	}
	var failed error
	for _, dir := range sets {
		set, err := eval.ReadCollection(os.DirFS(dir))
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		stop := showProgress(cmd.ErrOrStderr(), doing(filepath.Base(dir)))
		r, err := bench.CompareRounding(filepath.Base(dir), set, exact, rounded)
		stop()
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if asJSON {
			err = json.NewEncoder(out).Encode(r)
		} else {
			_, err = fmt.Fprintf(out, "| %s | %d | %.5f | %.4f | %.4f |\n", r.Set, r.Texts, r.MinCosine, r.Exact, r.Rounded)
		}
		if err != nil {
			return err
		}
		if err := r.Err(); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), err)
			failed = errSome
		}
	}
	return failed
}

// setsIn returns the folders of dirs that hold a corpus, and where one does not, those of its
// folders that do.
func setsIn(dirs []string) ([]string, error) {
	has := func(dir string) (bool, error) {
		_, err := os.Stat(filepath.Join(dir, "corpus.jsonl"))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	var sets []string
	for _, dir := range dirs {
		ok, err := has(dir)
		if err != nil {
			return nil, err
		}
		if ok {
			sets = append(sets, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		before := len(sets)
		for _, e := range entries {
			if ok, err := has(filepath.Join(dir, e.Name())); err == nil && ok {
				sets = append(sets, filepath.Join(dir, e.Name()))
			}
		}
		if len(sets) == before {
			return nil, fmt.Errorf("%s: want corpus.jsonl in it, or folders with one", dir)
		}
	}
	return sets, nil
}
