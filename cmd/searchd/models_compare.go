package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/encoder"
	"example.com/searchd/internal/settings"
	"example.com/searchd/internal/simd"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// Bounds of what models compare takes from a document.
const (
	minCompared     = 20   // documents
	passageBytes    = 2000 // of a text
	minQuestion     = 15   // bytes
	maxQuestion     = 300
	minPassage      = 100
	comparedDefault = 1000
)

// trial is a question with the number of the passage that answers it, its own.
type trial struct{ question, passage string }

// modelFigures is what models compare prints of one model.
type modelFigures struct {
	Model      string  `json:"model"`
	NDCG       float64 `json:"ndcg_at_10"`
	Recall1    float64 `json:"recall_at_1"`
	Questions  float64 `json:"questions_per_second"`
	Passages   float64 `json:"passages_per_second"`
	Dimension  int     `json:"dimension"`
	Parameters int     `json:"parameters"`
	Bytes      int     `json:"weight_bytes"`
	PerVector  int     `json:"bytes_per_vector"`

	gains []float64 // nDCG of each question
}

// comparison is the result of models compare.
type comparison struct {
	Texts      int             `json:"texts"`
	Kind       string          `json:"kind"` // what the questions are
	Models     [2]modelFigures `json:"models"`
	Difference float64         `json:"difference"` // of nDCG@10, second minus first
	Margin     float64         `json:"margin"`     // half of the 95% interval of the difference
}

func newModelsCompareCommand() *cobra.Command {
	var f engineFlags
	var collection string
	var texts int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "compare MODEL MODEL", Short: "Compare two models on a collection's own texts",
		Long: `Takes titles of a collection's documents as questions, or without titles a sentence of each text, which is taken out of it, and finds the text
that each belongs to among all that were drawn. Prints nDCG@10, recall@1, speed and memory of both models. The same documents are drawn each time.
Questions of this kind are easier than those of people: what counts is the difference, and whether it is larger than its margin.`,
		Example: "  searchd models compare embedded sentence-transformers/all-MiniLM-L6-v2 --data data",
		Args:    cobra.ExactArgs(2), PreRunE: command.Fill,
	}
	cmd.Flags().StringVar(&f.data, "data", "", dataUsage)
	settings.Folders(cmd, "data")
	f.addPrecision(cmd)
	cmd.Flags().StringVar(&collection, "collection", "", "collection (default docs, or else the one there is)")
	cmd.Flags().IntVar(&texts, "texts", comparedDefault, "documents that are drawn at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		const most = 20000
		if texts < minCompared || texts > most {
			return fmt.Errorf("--texts: got %d, allowed: %d to %d", texts, minCompared, most)
		}
		o, err := f.options()
		if err != nil {
			return err
		}
		trials, kind, err := f.trials(cmd, collection, texts)
		if err != nil {
			return err
		}
		c := comparison{Texts: len(trials), Kind: kind}
		for i, name := range args {
			stop := progress.Doing(cmd.ErrOrStderr(), "measuring "+name).Stop
			c.Models[i], err = measureModel(cmd.Context(), name, o, trials)
			stop()
			if err != nil {
				return err
			}
		}
		c.Difference, c.Margin = pairedDifference(c.Models[0].gains, c.Models[1].gains)
		return c.write(cmd.OutOrStdout(), asJSON)
	}
	return cmd
}

// trials draws documents of the collection.
func (f *engineFlags) trials(cmd *cobra.Command, collection string, most int) (list []trial, kind string, err error) {
	e, err := f.openToRead(cmd)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	ctx := cmd.Context()
	if collection, err = folderCollection(ctx, e, collection); err != nil {
		return nil, "", err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var titled, plain []trial
	seen := [2]int{}
	for cursor := ""; ; {
		docs, next, err := e.Documents(ctx, collection, cursor, 100)
		if err != nil {
			return nil, "", err
		}
		for _, d := range docs {
			title, text := titleAndText(d)
			titled = draw(rng, titled, titleTrial(title, text), most, &seen[0])
			plain = draw(rng, plain, sentenceTrial(rng, text), most, &seen[1])
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	switch {
	case len(titled) >= minCompared && 2*len(titled) >= len(plain):
		return titled, "title", nil
	case len(plain) >= minCompared:
		return plain, "sentence", nil
	}
	return nil, "", fmt.Errorf("collection %s: %d documents have a title and a text, and %d a text of several sentences; want at least %d", collection, len(titled), len(plain), minCompared)
}

// draw keeps each of the trials so far with the same probability, at most the given number.
func draw(rng *rand.Rand, list []trial, t trial, most int, seen *int) []trial {
	if t.question == "" {
		return list
	}
	if *seen++; len(list) < most {
		return append(list, t)
	}
	if i := rng.IntN(*seen); i < most {
		list[i] = t
	}
	return list
}

// titleAndText returns the title of a document and its longest other text.
func titleAndText(d search.StoredDocument) (title, text string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(d.Fields, &fields) != nil {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var s string
		if json.Unmarshal(fields[name], &s) != nil {
			continue
		}
		switch {
		case mapping.IsTitle(name):
			title = cmp.Or(title, strings.TrimSpace(s))
		case len(s) > len(text):
			text = s
		}
	}
	return title, strings.TrimSpace(text)
}

// titleTrial asks with the title; the question is empty if it is none.
func titleTrial(title, text string) trial {
	text = strings.TrimSpace(strings.TrimPrefix(text, title))
	if len(title) < minQuestion || len(title) > maxQuestion || len(text) < minPassage {
		return trial{}
	}
	return trial{title, text[:passage.RuneEnd(text, min(len(text), passageBytes))]}
}

// sentenceTrial asks with one of the sentences, which it takes out of the text.
func sentenceTrial(rng *rand.Rand, text string) trial {
	text = text[:passage.RuneEnd(text, min(len(text), passageBytes))]
	var fit []passage.Span
	for _, s := range passage.Sentences(text, 0) {
		if n := s.End - s.Start; n >= minQuestion && n <= maxQuestion {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return trial{}
	}
	s := fit[rng.IntN(len(fit))]
	rest := strings.TrimSpace(text[:s.Start] + " " + text[s.End:])
	if len(rest) < minPassage {
		return trial{}
	}
	return trial{strings.TrimSpace(text[s.Start:s.End]), rest}
}

// measureModel runs the trials through one model.
func measureModel(ctx context.Context, name string, o encoder.Options, trials []trial) (f modelFigures, err error) {
	m, err := models.Open(name, o)
	if err != nil {
		return f, err
	}
	questions, passages := make([]string, len(trials)), make([]string, len(trials))
	for i, t := range trials {
		questions[i], passages[i] = t.question, t.passage
	}
	encode := func(texts []string, prompt string) ([][]float32, float64, error) {
		began := time.Now()
		r, err := m.Encode(ctx, texts, encoder.EncodeOptions{Prompt: prompt})
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		return r.Vectors, float64(len(texts)) / time.Since(began).Seconds(), nil
	}
	i := m.Info()
	f = modelFigures{Model: m.Name, Dimension: m.Dim(), Parameters: i.Parameters, PerVector: 4 * m.Dim(), Bytes: 4 * i.Parameters}
	if i.Precision == encoder.Int8 { // the word table stays in float32
		f.Bytes = i.Parameters + 3*i.Vocab*i.Hidden
	}
	var q, p [][]float32
	if p, f.Passages, err = encode(passages, encoder.PromptDocument); err != nil {
		return f, err
	}
	if q, f.Questions, err = encode(questions, encoder.PromptQuery); err != nil {
		return f, err
	}
	n, first := float64(len(q)), 0
	for i := range q {
		rank := 1 + above(q[i], p, i)
		gain := 0.0
		if rank <= 10 {
			gain = 1 / math.Log2(float64(rank)+1)
		}
		if rank == 1 {
			first++
		}
		f.gains = append(f.gains, gain)
		f.NDCG += gain
	}
	f.NDCG, f.Recall1 = f.NDCG/n, float64(first)/n
	return f, nil
}

// above counts the vectors that are nearer to q than the one with the given number, by the cosine;
// equal ones count as nearer.
func above(q []float32, all [][]float32, own int) (n int) {
	cosine := func(v []float32) float64 {
		return float64(simd.Dot(q, v)) / math.Sqrt(max(1e-30, float64(simd.Dot(v, v))))
	}
	mine := cosine(all[own])
	for i, v := range all {
		if i != own && cosine(v) >= mine {
			n++
		}
	}
	return n
}

// pairedDifference returns the mean of b-a and half of its 95% interval.
func pairedDifference(a, b []float64) (mean, margin float64) {
	n := float64(len(a))
	for i := range a {
		mean += (b[i] - a[i]) / n
	}
	square := 0.0
	for i := range a {
		square += (b[i] - a[i] - mean) * (b[i] - a[i] - mean)
	}
	return mean, 1.96 * math.Sqrt(square/(n-1)/n)
}

func (c comparison) write(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(c)
	}
	fmt.Fprintf(w, "%d texts; each question is a %s\n\n", c.Texts, c.Kind)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tNDCG@10\tRECALL@1\tQUESTIONS/S\tPASSAGES/S\tDIMENSION\tWEIGHTS\tVECTOR")
	for _, m := range c.Models {
		fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.0f\t%.1f\t%d\t%s\t%d B\n", m.Model, m.NDCG, m.Recall1, m.Questions, m.Passages, m.Dimension, megabytes(int64(m.Bytes)), m.PerVector)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n"+c.verdict())
	return err
}

// verdict says which model is better, if the texts can tell.
func (c comparison) verdict() string {
	better := c.Models[0].Model
	if c.Difference > 0 {
		better = c.Models[1].Model
	}
	if math.Abs(c.Difference) <= c.Margin {
		return fmt.Sprintf("No clear difference: %+.4f ± %.4f of nDCG@10.", c.Difference, c.Margin)
	}
	return fmt.Sprintf("%s is better by %.4f ± %.4f of nDCG@10.", better, math.Abs(c.Difference), c.Margin)
}
