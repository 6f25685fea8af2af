package search_test

import (
	"testing"

	"example.com/searchd/search"
)

// BenchmarkSearch is one search of 1,000 documents of a line each, with an encoder that costs
// nothing: what the pipeline itself takes.
func BenchmarkSearch(b *testing.B) {
	e := open(b, b.TempDir(), &fakeEmbedder{})
	put(b, e, search.Created, numbered(1000)...)
	for _, mode := range []search.Mode{search.Keyword, search.Hybrid} {
		b.Run("mode="+string(mode), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Search(b.Context(), "docs", search.Query{Q: "common word7", Mode: mode}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
