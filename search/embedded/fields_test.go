package embedded

import (
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
)

// TestAsideInEveryWay puts a document with a field that nobody declared into each way to the
// keyword index.
func TestAsideInEveryWay(t *testing.T) {
	for _, tc := range []struct {
		name   string
		o      Options
		damage func(t *testing.T, l *library, seq uint64, identity string)
	}{
		{"applied", Options{}, func(*testing.T, *library, uint64, string) {}},
		{"rebuilt", Options{}, func(t *testing.T, l *library, _ uint64, _ string) { l.lose(t, keywordFolder) }},
		{"rebuilt in the background", Options{RebuildFrom: 2}, func(t *testing.T, l *library, _ uint64, _ string) { l.lose(t, keywordFolder) }},
		{"of an index without such fields", Options{}, func(t *testing.T, l *library, seq uint64, identity string) {
			l.lose(t, keywordFolder)
			x, err := keyword.Open(filepath.Join(l.dir, "indexes", "00000001", keywordFolder), keyword.Options{Language: "en", Identity: identity})
			must(t, err)
			var entries []keyword.Entry
			for no := range uint32(4) {
				entries = append(entries, keyword.Entry{No: no, Text: []keyword.Field{{Name: "text", Text: "word"}}})
			}
			must(t, x.Apply(t.Context(), entries, seq))
			must(t, x.Close())
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLibrary(t, "", 3)
			b, err := Open(l.dir, Options{})
			must(t, err)
			w := l.write("aside")
			w.Fields = json.RawMessage(`{"text":"word","notes":"owes me a ladder","tags":["step ladder","tall"]}`)
			l.apply(t, b, []backend.Write{w})
			c := b.mu.byName["docs"]
			id := c.store.ID()
			seq := c.seq.Load()
			must(t, b.Close())
			tc.damage(t, l, seq, hex.EncodeToString(id[:]))
			b, err = Open(l.dir, tc.o)
			must(t, err)
			defer b.Close()
			b.mu.byName["docs"].rebuild.fillers.Wait()
			if n := l.words(t, b, "ladder"); n != 1 {
				t.Errorf("%d documents have the word, want 1", n)
			}
			for want, s := range map[int]backend.SelectRequest{
				1: {With: []string{"step ladder"}, Fields: []string{"tags"}},
				0: {With: []string{"step ladder"}, Fields: []string{"notes", "text"}},
				3: {Without: []string{"a ladder"}},
			} {
				s.Collection = "docs"
				if sel, err := b.Select(t.Context(), s); err != nil || sel.Len() != want {
					t.Errorf("Select(%+v) = %d documents, %v, want %d", s, sel.Len(), err, want)
				}
			}
			got, err := b.Aggregate(t.Context(), backend.AggregateRequest{Collection: "docs", Fields: backend.FieldNames{Texts: []string{"text", "notes", "nots"}, Values: []string{"tags", "tgas"}}})
			if err != nil || !slices.Equal(got.Missing.Texts, []string{"nots"}) || !slices.Equal(got.Missing.Values, []string{"tgas"}) {
				t.Errorf("Aggregate = %+v, %v", got, err)
			}
			if problems, err := on(b).Problems(t.Context(), true); err != nil || len(problems) != 0 {
				t.Errorf("Check: %v, %v", problems, err)
			}
		})
	}
}

// TestLanguages finds a document by the language of its code, which its text does not name, before
// and after the keyword index is rebuilt.
func TestLanguages(t *testing.T) {
	b := openDocs(t, Options{})
	const text = "x := 1"
	_, err := on(b).Apply(t.Context(), "docs", []backend.Write{{ID: "a", Fields: json.RawMessage(`{"text":"` + text + `"}`), Passages: []backend.Passage{{Field: "text", End: len(text)}},
		Vectors: [][]float32{{1, 0}}, Blocks: map[string][]passage.Block{"text": {{Kind: passage.Code, End: len(text), Language: "golang"}}}}})
	must(t, err)
	for _, when := range []string{"written", "rebuilt"} {
		found, err := on(b).Words(t.Context(), "docs", backend.Words{Text: "golang"}, 10, nil)
		must(t, err)
		docs, err := on(b).Lookup(t.Context(), "docs", []string{"a"})
		if err != nil || len(found.Matches) != 1 || len(docs[0].Blocks["text"]) != 1 {
			t.Errorf("%s: %+v, %+v, %v", when, found, docs[0], err)
		}
		sound(t, b)
		must(t, b.Close())
		_, err = QuarantineIndexes(b.dir)
		must(t, err)
		b, err = Open(b.dir, Options{})
		must(t, err)
		defer b.Close()
	}
}
