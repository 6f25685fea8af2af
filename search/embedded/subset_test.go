package embedded

import (
	"encoding/json"
	"fmt"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// TestPhraseBounds reads fewer texts than have all words of a phrase: the best are read, and what
// is left out is said.
func TestPhraseBounds(t *testing.T) {
	b, c := openThree(t)
	var writes []backend.Write
	for i := range 300 {
		text := "alpha beta"
		if i%3 == 0 {
			text += " gamma"
		}
		writes = append(writes, backend.Write{ID: fmt.Sprint(i), Fields: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), Hash: [32]byte{1, byte(i), byte(i >> 8)},
			Passages: []backend.Passage{{Field: "text", End: len(text)}}, Vectors: [][]float32{{1, 0}}})
	}
	if _, err := on(b).Apply(t.Context(), "docs", writes); err != nil {
		t.Fatal(err)
	}
	phrase := c.keyword.Phrase("alpha beta")
	for _, tc := range []struct {
		name      string
		documents int
		bytes     int64
		least     int
		most      int
		whole     bool
	}{
		{"all", 300, 1 << 20, 300, 300, true},
		{"documents", 100, 1 << 20, 100, 100, false},
		{"bytes", 300, 1, 1, 299, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, err := c.keyword.WithTerms(t.Context(), phrase, nil)
			must(t, err)
			p := phraseCheck{c: c, with: []keyword.Phrase{phrase}, doubtful: all, documents: tc.documents, bytes: tc.bytes}
			passed, _, whole, err := p.run(t.Context(), keyword.Query{Text: "gamma"})
			if n := int(passed.GetCardinality()); err != nil || n < tc.least || n > tc.most || whole != tc.whole {
				t.Fatalf("%d passed, whole %t, %v, want %d to %d, %t", n, whole, err, tc.least, tc.most, tc.whole)
			}
			gamma, err := c.keyword.WithTerms(t.Context(), c.keyword.Phrase("gamma"), nil)
			if err != nil || tc.name == "documents" && passed.AndCardinality(gamma) != 100 {
				t.Errorf("%d of the 100 best are among those that passed, %v", passed.AndCardinality(gamma), err)
			}
		})
	}
	whole, err := b.Select(t.Context(), backend.SelectRequest{Collection: "docs", With: []string{"alpha beta"}, Without: []string{"beta gamma"}})
	if err != nil || whole.Partial || whole.Len() != 200 {
		t.Errorf("Select = %d documents, partial %t, %v, want 200", whole.Len(), whole.Partial, err)
	}
}
