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

	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/encoder"
	"example.com/searchd/internal/eval"
	"example.com/searchd/models"
)

// labelFigures is what eval prints of a set of texts with labels: of our vectors, and of bags of
// words under the same method.
type labelFigures struct {
	Measure string  `json:"measure"`
	Vectors float64 `json:"vectors"`
	Bags    float64 `json:"bag_of_words"`
	Classes int     `json:"classes"`
	Texts   int     `json:"texts"`
}

// evalClasses classifies texts by the nearest centroid. dir holds train.tsv and test.tsv,
// or all.tsv for a cross-validation.
func evalClasses(cmd *cobra.Command, f modelFlags, dir string, asJSON bool) error {
	fsys := os.DirFS(dir)
	texts, err := eval.ReadLabelled(fsys, "all.tsv")
	train, crossed := 0, !errors.Is(err, fs.ErrNotExist)
	if !crossed {
		if texts, err = eval.ReadLabelled(fsys, "train.tsv"); err == nil {
			train = len(texts)
			var test []eval.Labelled
			test, err = eval.ReadLabelled(fsys, "test.tsv")
			texts = append(texts, test...)
			if err == nil && (train == 0 || len(test) == 0) {
				err = fmt.Errorf("%d and %d texts", train, len(test))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("--classes %s: want train.tsv and test.tsv, or all.tsv: %w", dir, err)
	}
	measure := "accuracy, nearest centroid"
	if crossed {
		measure = fmt.Sprintf("%s, %d-fold", measure, min(eval.Folds, len(texts)))
	}
	return compareLabels(cmd, f, texts, measure, asJSON, func(p eval.Points, class []int, classes int) float64 {
		if crossed {
			return eval.CrossValidated(p, class, classes)
		}
		all := make([]int, len(texts))
		for i := range all {
			all[i] = i
		}
		return eval.Accuracy(p, class, classes, all[:train], all[train:])
	})
}

// evalClusters clusters the texts of a file into as many clusters as it has labels.
func evalClusters(cmd *cobra.Command, f modelFlags, path string, asJSON bool) error {
	texts, err := eval.ReadLabelled(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return fmt.Errorf("--clusters %s: %w", path, err)
	}
	return compareLabels(cmd, f, texts, "V-measure, k-means", asJSON, func(p eval.Points, class []int, classes int) float64 {
		return eval.VMeasure(class, eval.Cluster(p, classes, 1))
	})
}

// compareLabels measures our vectors of the texts and, beside them, bags of words.
func compareLabels(cmd *cobra.Command, f modelFlags, texts []eval.Labelled, name string, asJSON bool, measure func(p eval.Points, class []int, classes int) float64) error {
	if len(texts) == 0 {
		return fmt.Errorf("no texts to measure")
	}
	numbers := eval.Classes(texts)
	class, words := make([]int, len(texts)), make([]string, len(texts))
	for i, t := range texts {
		class[i], words[i] = numbers[t.Label], t.Text
	}
	stop := progress.Doing(cmd.ErrOrStderr(), fmt.Sprintf("encoding and sorting %d texts", len(texts))).Stop
	defer stop()
	vectors, err := encodeAll(cmd.Context(), f, words)
	if err != nil {
		return err
	}
	out := labelFigures{
		Measure: name, Classes: len(numbers), Texts: len(texts),
		Vectors: measure(eval.Unit(vectors), class, len(numbers)), Bags: measure(eval.NewBags(words), class, len(numbers)),
	}
	stop()
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %.4f, bags of words %.4f  (%d texts, %d classes)\n", out.Measure, out.Vectors, out.Bags, out.Texts, out.Classes)
	return err
}

func encodeAll(ctx context.Context, f modelFlags, texts []string) ([][]float32, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	m, err := models.Open(f.model, o)
	if err != nil {
		return nil, err
	}
	r, err := m.Encode(ctx, texts, encoder.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	return r.Vectors, nil
}
