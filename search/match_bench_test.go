package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/inference"
)

// BenchmarkMatch searches 1,000 documents of sentences of the bundled notes, with titles of up to
// eight words, by meaning, compared token by token: with the tokens of what is compared known, and
// with none known.
func BenchmarkMatch(b *testing.B) {
	notes, err := filepath.Glob("../testdata/notes/*.md")
	if err != nil || len(notes) == 0 {
		b.Fatal(notes, err)
	}
	var sentences []string
	for _, path := range notes {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		sentences = append(sentences, strings.Split(string(text), ". ")...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	docs := make([]search.Document, 1000)
	for i := range docs {
		var text strings.Builder
		for range 8 {
			text.WriteString(sentences[rng.IntN(len(sentences))] + ". ")
		}
		title := strings.Fields(sentences[rng.IntN(len(sentences))])
		docs[i] = doc(fmt.Sprint(i), fmt.Sprintf(`{"title":%q,"text":%q}`, strings.Join(title[:min(8, len(title))], " "), text.String()))
	}
	c, err := models.Open("", encoder.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, warm := range []bool{true, false} {
		b.Run(map[bool]string{true: "known", false: "unknown"}[warm], func(b *testing.B) {
			e, err := search.Open(b.TempDir(), search.Options{Embedder: inference.NewEmbedder(c)})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			if _, err := e.CreateCollection(b.Context(), "docs", search.Settings{}); err != nil {
				b.Fatal(err)
			}
			put(b, e, search.Created, docs...)
			match := 0.0
			for b.Loop() {
				if !warm {
					e.ForgetTokens()
				}
				r, err := e.Search(b.Context(), "docs", search.Query{Q: "sourdough starter flour yeast dough bread", Mode: search.Semantic})
				if err != nil {
					b.Fatal(err)
				}
				match += r.TimingsMS["match"]
			}
			b.ReportMetric(match/float64(b.N), "match-ms/op")
		})
	}
}
