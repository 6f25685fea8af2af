package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/internal/eval"
	"example.com/searchd/internal/settings"
	"example.com/searchd/internal/simd"
	"example.com/searchd/search"
)

// evalDepth is the number of hits per query that recall@100 needs.
const evalDepth = 100

func newEvalCommand() *cobra.Command {
	var f modelFlags
	var dataset, sts, classes, clusters, mode, fusion, language, spelling string
	var alphas []float64
	var asJSON, misspell bool
	cmd := &cobra.Command{
		Use: "eval (--dataset DIR | --sts FILE | --classes DIR | --clusters FILE)", Short: "Measure quality on an evaluation set",
		Long: `--dataset takes a folder in the BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), puts its corpus into an
empty engine and runs every judged query; several modes, joined by commas, share the work of ingesting.
--sts takes a file of lines score<TAB>sentence<TAB>sentence and compares the cosines with the scores.
--classes takes a folder with train.tsv and test.tsv, or with all.tsv, of lines label<TAB>text, and classifies
by the nearest centroid; --clusters takes one such file and finds as many clusters by k-means as it has labels. Both
print, beside the figure of the vectors, that of bags of words under the same method.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&dataset, "dataset", "", "folder in the BEIR layout")
	cmd.Flags().StringVar(&sts, "sts", "", "file of graded sentence pairs")
	cmd.Flags().StringVar(&classes, "classes", "", "folder of labelled texts to classify")
	cmd.Flags().StringVar(&clusters, "clusters", "", "file of labelled texts to cluster")
	cmd.Flags().StringVar(&mode, "mode", "hybrid", "hybrid, semantic, keyword; or several joined by commas")
	settings.Choices(cmd, "mode", "hybrid", "semantic", "keyword")
	cmd.Flags().StringVar(&fusion, "fusion", "relative", "relative or rrf")
	settings.Choices(cmd, "fusion", "relative", "rrf")
	cmd.Flags().StringVar(&language, "language", "en", "language in which --dataset is searched by words")
	cmd.Flags().StringVar(&spelling, "spelling", "exact", "exact or corrected: whether misspelled words of queries are corrected")
	settings.Choices(cmd, "spelling", "exact", "corrected")
	cmd.Flags().BoolVar(&misspell, "misspell", false, "put one wrong letter into each query of --dataset, always the same ones")
	cmd.Flags().Float64SliceVar(&alphas, "alpha", nil, "weight of vector search in hybrid search, 0 to 1; or several joined by commas (default: chosen for each query)")
	cmd.Flags().Lookup("alpha").DefValue = "" // the usage has it
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsOneRequired("dataset", "sts", "classes", "clusters")
	cmd.MarkFlagsMutuallyExclusive("dataset", "sts", "classes", "clusters")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case sts != "":
			return evalSTS(cmd, f, sts, asJSON)
		case classes != "":
			return evalClasses(cmd, f, classes, asJSON)
		case clusters != "":
			return evalClusters(cmd, f, clusters, asJSON)
		}
		q := search.Query{Fusion: search.Fusion(fusion), Passages: new(0), Syntax: search.Plain, Spelling: search.Spelling(spelling)} // a set's queries were not typed into a search box
		return evalDataset(cmd, f, dataset, language, misspell, variants(q, strings.Split(mode, ","), alphas), asJSON)
	}
	return cmd
}

// variants are the searches to measure: each mode, and hybrid with each weight.
func variants(base search.Query, modes []string, alphas []float64) []search.Query {
	var out []search.Query
	for _, m := range modes {
		q := base
		q.Mode = search.Mode(m)
		if q.Mode != search.Hybrid || len(alphas) == 0 {
			out = append(out, q)
			continue
		}
		for _, a := range alphas {
			q.Alpha = &a
			out = append(out, q)
		}
	}
	return out
}

// retrievalFigures is what eval prints of a retrieval set.
type retrievalFigures struct {
	Mode  string   `json:"mode"`
	Alpha *float64 `json:"alpha,omitempty"` // where it was named
	eval.Quality
	// CalibrationError is the mean difference between the scores of the first ten hits, which are
	// probabilities, and the share of them that is relevant; absent in keyword mode.
	CalibrationError *float64 `json:"calibration_error,omitempty"`

	Docs    int     `json:"docs"`
	IngestS float64 `json:"ingest_s"`
	QueryMS float64 `json:"query_ms"` // mean
}

// calibrationDepth is how many hits of a query the calibration error looks at.
const calibrationDepth = 10

// evalDataset runs the whole pipeline, as a user would: ingest into an empty data folder, then
// search.
func evalDataset(cmd *cobra.Command, f modelFlags, dir, language string, misspell bool, queries []search.Query, asJSON bool) error {
	set, err := eval.ReadCollection(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("--dataset %s: %w", dir, err)
	}
	if misspell {
		for i, q := range set.Queries {
			set.Queries[i].Text = eval.Misspell(q.Text, uint64(i))
		}
	}
	tmp, err := os.MkdirTemp("", "searchd-eval-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ef := engineFlags{modelFlags: f, data: filepath.Join(tmp, "data")}
	e, err := ef.openWith(cmd.Context(), search.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	ctx := cmd.Context()
	began := time.Now()
	stop := progress.Show(cmd.ErrOrStderr(), func() progress.State {
		c, _ := e.Collection(ctx, defaultCollection)
		return progress.State{Text: "ingesting documents", Done: int64(c.Documents), Total: int64(len(set.Documents))}
	}).Stop
	err = fillEngine(ctx, e, set, search.Settings{Language: language})
	if stop(); err != nil {
		return err
	}
	ingest := time.Since(began).Seconds()
	for _, q := range queries {
		var done atomic.Int64
		stop := progress.Show(cmd.ErrOrStderr(), func() progress.State {
			return progress.State{Text: string(q.Mode) + " queries", Done: done.Load(), Total: int64(len(set.Queries))}
		}).Stop
		fig, err := evalMode(ctx, e, set, q, &done)
		stop()
		if err != nil {
			return err
		}
		fig.IngestS = math.Round(ingest*1000) / 1000
		if err := printRetrieval(cmd.OutOrStdout(), fig, asJSON); err != nil {
			return err
		}
	}
	return nil
}

func fillEngine(ctx context.Context, e *search.Engine, set *eval.Collection, settings search.Settings) error {
	if _, err := e.CreateCollection(ctx, defaultCollection, settings); err != nil {
		return err
	}
	docs := make([]search.Document, len(set.Documents))
	for i, d := range set.Documents {
		fields, err := json.Marshal(map[string]string{"title": d.Title, "text": d.Text})
		if err != nil {
			return err
		}
		docs[i] = search.Document{ID: d.ID, Fields: fields}
	}
	results, err := e.Ingest(ctx, defaultCollection, docs)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return fmt.Errorf("document %s: %w", r.ID, r.Err)
		}
	}
	return nil
}

func evalMode(ctx context.Context, e *search.Engine, set *eval.Collection, q search.Query, done *atomic.Int64) (retrievalFigures, error) {
	limit, highlight := evalDepth, false
	q.Limit, q.Highlight = &limit, &highlight
	began := time.Now()
	run := make(map[string][]string, len(set.Queries))
	var scores []float64
	var relevant []bool
	for _, query := range set.Queries {
		q.Q = query.Text
		r, err := e.Search(ctx, defaultCollection, q)
		if err != nil {
			return retrievalFigures{}, fmt.Errorf("query %s: %w", query.ID, err)
		}
		ids := make([]string, len(r.Hits))
		for i, h := range r.Hits {
			ids[i] = h.ID
			if i < calibrationDepth {
				scores, relevant = append(scores, h.Score), append(relevant, set.Qrels[query.ID][h.ID] > 0)
			}
		}
		run[query.ID] = ids
		done.Add(1)
	}
	var off *float64
	if q.Mode != search.Keyword {
		e := math.Round(eval.CalibrationError(scores, relevant)*1000) / 1000
		off = &e
	}
	return retrievalFigures{
		CalibrationError: off,
		Mode:             string(q.Mode), Alpha: q.Alpha, Quality: eval.Measure(run, set.Qrels), Docs: len(set.Documents),
		QueryMS: math.Round(time.Since(began).Seconds()/float64(max(len(set.Queries), 1))*1e6) / 1e3,
	}, nil
}

func printRetrieval(w io.Writer, f retrievalFigures, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(f)
	}
	mode := f.Mode
	if f.Alpha != nil {
		mode = fmt.Sprintf("%s %g", f.Mode, *f.Alpha)
	}
	calibration := ""
	if f.CalibrationError != nil {
		calibration = fmt.Sprintf("calibration error %.3f  ", *f.CalibrationError)
	}
	_, err := fmt.Fprintf(w, "%-8s  nDCG@10 %.4f  recall@100 %.4f  MRR@10 %.4f  %s(%d queries, %d documents, ingest %.1f s, %.2f ms a query)\n",
		mode, f.NDCG10, f.Recall100, f.MRR10, calibration, f.Queries, f.Docs, f.IngestS, f.QueryMS)
	return err
}

// evalSTS compares cosines with graded similarity.
func evalSTS(cmd *cobra.Command, f modelFlags, path string, asJSON bool) error {
	pairs, err := eval.ReadPairs(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return fmt.Errorf("--sts %s: %w", path, err)
	}
	texts := make([]string, 0, 2*len(pairs))
	gold := make([]float64, len(pairs))
	for i, p := range pairs {
		texts = append(texts, p.A, p.B)
		gold[i] = p.Score
	}
	stop := progress.Doing(cmd.ErrOrStderr(), fmt.Sprintf("encoding %d texts", len(texts))).Stop
	cosines, err := pairCosines(cmd.Context(), f, texts)
	stop()
	if err != nil {
		return err
	}
	out := struct {
		Spearman float64 `json:"spearman"`
		Pearson  float64 `json:"pearson"`
		Pairs    int     `json:"pairs"`
	}{Pairs: len(pairs)}
	if out.Spearman, err = eval.Spearman(cosines, gold); err != nil {
		return err
	}
	if out.Pearson, err = eval.Pearson(cosines, gold); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Spearman %.4f  Pearson %.4f  (%d pairs)\n", out.Spearman, out.Pearson, out.Pairs)
	return err
}

// pairCosines encodes texts and returns the cosine of each with its neighbour: 0 and 1, 2 and 3,
// and so on.
func pairCosines(ctx context.Context, f modelFlags, texts []string) ([]float64, error) {
	vectors, err := encodeAll(ctx, f, texts)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(texts)/2)
	for i := range out {
		a, b := vectors[2*i], vectors[2*i+1]
		norm := math.Sqrt(float64(simd.Dot(a, a)) * float64(simd.Dot(b, b)))
		if norm > 0 {
			out[i] = float64(simd.Dot(a, b)) / norm
		}
	}
	return out, nil
}
