package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestModelsCompare compares a model with itself and with one that knows nothing.
func TestModelsCompare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	words := []string{"rivers", "bread", "engines", "violins", "glaciers", "taxes", "vaccines", "chess", "bees", "treaties", "photons", "carpets", "sheep",
		"bridges", "novels", "storms", "dentists", "olives", "rockets", "elections", "kites", "harbours"}
	var docs []search.Document
	for i, w := range words {
		fields, err := json.Marshal(map[string]string{"title": "All about " + w + " for beginners",
			"text": fmt.Sprintf("Whoever wants to learn about %s begins here. There are many things to know of %s, and this text says where to look for them.", w, w)})
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, search.Document{ID: fmt.Sprint(i), Fields: fields})
	}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	const random = "../../encoder/testdata/families/nomic"
	for _, tt := range []struct{ models, want string }{
		{"embedded embedded", "No clear difference: +0.0000"},
		{"embedded " + random, "embedded is better by 0."},
		{random + " embedded", "embedded is better by 0."},
	} {
		stdout, stderr, err := execute(t, "", append(strings.Fields("models compare "+tt.models), "--data", dir)...)
		if err != nil || !strings.Contains(stdout, tt.want) || !strings.Contains(stdout, "22 texts; each question is a title") {
			t.Errorf("%s: %q, error %v, want %q; standard error %s", tt.models, stdout, err, tt.want, stderr)
		}
	}
	for args, want := range map[string]string{
		"embedded":                                               "arg",
		"embedded embedded --texts 3":                            "--texts",
		"embedded embedded --collection x":                       "x",
		"embedded ../../encoder/testdata/late/native":            "re-ranker",
		"embedded ../../encoder/testdata/families/nomic/nowhere": "nowhere",
	} {
		if _, _, err := execute(t, "", append(strings.Fields("models compare "+args), "--data", dir)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", args, err, want)
		}
	}
}

// TestSentenceTrial wants a sentence of the text, and the text without it.
func TestSentenceTrial(t *testing.T) {
	text := "The river rises in spring. Ships wait in the harbour for days. Nobody knows when the ice will melt, and the pilots drink tea until it does."
	text += " When it melts, the first ships leave within the hour, and the harbour is empty by noon."
	for seed := range uint64(20) {
		got := sentenceTrial(rand.New(rand.NewPCG(seed, 1)), text)
		if got.question == "" || strings.Contains(got.passage, got.question) || !strings.Contains(text, got.question) {
			t.Fatalf("trial %+v", got)
		}
	}
	if got := sentenceTrial(rand.New(rand.NewPCG(1, 1)), "Too short."); got.question != "" {
		t.Errorf("trial %+v of a short text", got)
	}
}

// TestPairedDifference compares with figures computed by hand.
func TestPairedDifference(t *testing.T) {
	mean, margin := pairedDifference([]float64{0, 0, 1, 1}, []float64{1, 0, 1, 1})
	if mean != 0.25 || math.Abs(margin-1.96*0.25) > 1e-12 {
		t.Errorf("difference %v ± %v, want .25 ± .49", mean, margin)
	}
}

// TestAbove counts by the cosine, not by the length.
func TestAbove(t *testing.T) {
	all := [][]float32{{1, 0}, {10, 10}, {0, 5}}
	if got := above([]float32{1, 0.1}, all, 1); got != 1 {
		t.Errorf("%d vectors are nearer, want 1", got)
	}
}
