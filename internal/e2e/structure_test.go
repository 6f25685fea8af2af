package e2e

import (
	"encoding/json"
	"math"
	"os"
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
	questions, err := os.ReadFile(filepath.Join(folder, "questions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n, ofDocuments, ofAnswers := 0.0, 0.0, 0.0
	for line := range strings.Lines(string(questions)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		r, err := e.Search(t.Context(), "docs", search.Query{Q: part[0]})
		if err != nil {
			t.Fatal(err)
		}
		n++
		found := false
		for i, h := range r.Hits {
			if h.ID != part[1] {
				continue
			}
			gain := 1 / math.Log2(float64(i+2))
			ofDocuments += gain
			if found = strings.Contains(h.Passages[0].Text, part[2]); found {
				ofAnswers += gain
			}
		}
		if !found {
			t.Logf("%s: no answer %q of %s", part[0], part[2], part[1])
		}
	}
	t.Logf("%.0f questions: nDCG@10 %.3f, with the answer %.3f", n, ofDocuments/n, ofAnswers/n)
	if n != 60 || ofAnswers/n < 0.85 { // .76 without the structure
		t.Errorf("%.0f questions: nDCG@10 with the answer is %.3f", n, ofAnswers/n)
	}
}
