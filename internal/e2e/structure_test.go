package e2e

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/extract"
	"example.com/searchd/search"
	"example.com/searchd/search/passage"
)

// TestStructuredQuestions asks for rows of tables, items of sections and lines of code in 20
// documents of five kinds, whose parts differ in little but their headings. A hit counts if it is
// the document and its first passage has the answer.
func TestStructuredQuestions(t *testing.T) {
	const folder = "testdata/structured"
	e, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	_, err = extract.Walk(t.Context(), []string{folder}, extract.Options{}, func(d extract.Document) error {
		if filepath.Ext(d.Source) != ".md" {
			return nil
		}
		fields, err := json.Marshal(d.Fields)
		if err != nil {
			return err
		}
		doc := search.Document{ID: strings.TrimSuffix(filepath.Base(d.Source), ".md"), Fields: fields, Blocks: map[string][]passage.Block{}}
		for _, b := range d.Blocks {
			doc.Blocks["text"] = append(doc.Blocks["text"], passage.Block{Kind: passage.Kind(b.Kind), Level: b.Level, Start: b.Start, End: b.End, Head: b.Head, Language: b.Language, Page: b.Page})
		}
		docs = append(docs, doc)
		return nil
	}, func(e extract.ItemError) error { return e })
	if err != nil || len(docs) != 20 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	results, err := e.Ingest(t.Context(), "docs", docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	ofDocuments, ofAnswers := askStructured(t, folder, func(q string) (hits []structuredHit) {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			hits = append(hits, structuredHit{h.ID, h.Passages[0].Text})
		}
		return hits
	})
	t.Logf("nDCG@10 %.3f, with the answer %.3f", ofDocuments, ofAnswers)
	if ofAnswers < 0.85 {
		t.Errorf("nDCG@10 with the answer is %.3f", ofAnswers)
	}
	if *before == "" {
		return
	}
	_, without := askStructured(t, folder, askCommands(t, folder))
	t.Logf("%s: with the answer %.3f", *before, without)
	if ofAnswers < without+0.05 {
		t.Errorf("nDCG@10 with the answer rises by %.3f only", ofAnswers-without)
	}
}

var before = flag.String("before", "", "`folder` of the commands searchd and ingest of another version, for TestStructuredQuestions to compare with:\n"+
	"go test ./internal/e2e -run StructuredQuestions -v -before FOLDER")

type structuredHit struct{ id, passage string }

// askCommands returns the search of the version in the folder that -before names.
func askCommands(t *testing.T, folder string) func(q string) []structuredHit {
	data := filepath.Join(t.TempDir(), "data")
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(*before, "ingest"), append([]string{"--data", data}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(q string) (hits []structuredHit) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(*before, "searchd"), "query", "--data", data, "--json", q).Output()
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Hits []struct {
				ID       string
				Passages []struct{ Text string }
			}
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			hits = append(hits, structuredHit{strings.TrimSuffix(filepath.Base(h.ID), ".md"), h.Passages[0].Text})
		}
		return hits
	}
}

// askStructured asks the 60 questions and returns the mean nDCG@10, and that of hits whose first
// passage has the answer.
func askStructured(t *testing.T, folder string, ask func(q string) []structuredHit) (ofDocuments, ofAnswers float64) {
	questions, err := os.ReadFile(filepath.Join(folder, "questions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for line := range strings.Lines(string(questions)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		n++
		found := false
		for i, h := range ask(part[0]) {
			if h.id != part[1] {
				continue
			}
			gain := 1 / math.Log2(float64(i+2))
			ofDocuments += gain
			if found = strings.Contains(h.passage, part[2]); found {
				ofAnswers += gain
			}
		}
		if !found {
			t.Logf("%s: no answer %q of %s", part[0], part[2], part[1])
		}
	}
	if n != 60 {
		t.Fatalf("%.0f questions", n)
	}
	return ofDocuments / n, ofAnswers / n
}
