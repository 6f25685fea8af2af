package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"searchd/index/keyword"
	"searchd/search/backend"
)

// TestLongDocumentsCostLittle counts what a keyword search analyses of a long document, to show its
// passages or to re-rank them, and wants the passage with the word that is at its end.
func TestLongDocumentsCostLittle(t *testing.T) {
	e, err := Open(t.TempDir(), Options{Embedder: &slowEmbedder{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := t.Context()
	if _, err := e.CreateCollection(ctx, "docs", Settings{}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&b, "There is so much more to be said about the other things of place %d, an ornament for one.\n\n", i)
	}
	text := b.String() + "At the end stands one kitten."
	if _, err := e.Ingest(ctx, "docs", []Document{{ID: "a", Fields: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))}}); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{"kitten": "kitten", "ornament": "ornament", "ornament kitten": "kitten"} {
		s, err := e.newSearch(ctx, "docs", Query{Q: q, Mode: Keyword})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(ctx, slices.Concat(s.reading(), s.ranking())); err != nil || len(s.candidates) != 1 {
			t.Fatal(s.candidates, err)
		}
		ref := s.candidates[0].ref
		have, err := e.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: []backend.Ref{ref}, Documents: true})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.record.Settings.Fields.SplitStored(have.Documents[0].Fields)
		if err != nil {
			t.Fatal(err)
		}
		var texts []PassageHit
		for _, p := range have.Documents[0].Passages {
			texts = append(texts, passageHit(parts, p))
		}
		ch, err := s.chooser(ctx)
		if err != nil {
			t.Fatal(err)
		}
		analysed, analyze := 0, ch.marks.analyze
		ch.marks.analyze = func(text string) []keyword.Token {
			analysed += min(len(text), analysedBytes)
			return analyze(text)
		}
		best, err := ch.choose(ctx, ref, parts, texts, nil)
		if err != nil || len(best) == 0 || !strings.Contains(texts[best[0]].Text, want) {
			t.Errorf("%s: passage %v of %d, %v", q, best, len(texts), err)
		}
		if most := analysedBytes + choiceBytes + 4096; analysed > most {
			t.Errorf("%s: %d bytes of %d were analysed, want at most %d", q, analysed, len(text), most)
		}
		pairs, _, err := s.pairs(ctx)
		if err != nil || len(pairs) != 1 || !strings.Contains(pairs[0][1], want) {
			t.Errorf("%s: re-ranks %.200q, %v", q, pairs, err)
		}
	}
}
