package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
)

// TestDamagedDocumentIsLeftOut opens a folder of which a collection has one document with a damaged
// value: the others are found, the document is reported, and writing it again repairs it.
func TestDamagedDocumentIsLeftOut(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct {
		name     string
		value    func(vector, fields []byte) []byte
		says     string
		near     int // documents found by vector
		words    int
		quantize string
		from     int
	}{
		{"fields", theFields, `document "d1", fields: `, 3, 2, "", 0},
		{"fields in the background", theFields, `document "d1", fields: `, 3, 2, "", 1},
		{"vector", theVector, `document "d1", vector of passage 0: `, 2, 3, "", 0},
		{"vector in the background", theVector, `document "d1", vector of passage 0: `, 2, 3, "", 1},
		{"vector of a graph of codes", theVector, `document "d1", vector of passage 0: `, 2, 3, backend.QuantizeInt8, 0},
		{"and in the background", theVector, `document "d1", vector of passage 0: `, 2, 3, backend.QuantizeInt8, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := damagedFolder(t, tt.value, true)
			var alarms notices
			b, err := Open(dir, Options{RebuildFrom: tt.from, Alarm: alarms.tell})
			must(t, err)
			defer func() { b.Close() }()
			if tt.quantize != "" {
				must(t, on(b).Update(ctx, "bad", backend.Config{Dimension: 2, Language: "en", Quantize: tt.quantize, Payload: json.RawMessage("{}")}))
			}
			served := func(when string) {
				t.Helper()
				alarms.has(t, "left out of searches; write it again, or delete it: "+tt.says)
				if m, err := on(b).Nearest(ctx, "bad", []float32{1, 0}, 3, nil); err != nil || len(m) != tt.near {
					t.Errorf("%s: Nearest = %v, %v, want %d", when, m, err, tt.near)
				}
				if m, err := on(b).Words(ctx, "bad", backend.Words{Text: "text"}, 3, nil); err != nil || len(m.Matches) != tt.words || m.Partial {
					t.Errorf("%s: Words = %v, %v, want %d", when, m, err, tt.words)
				}
				docs, err := on(b).Documents(ctx, "bad", []backend.Ref{1, 2, 3})
				if err != nil || docs[0] == nil || docs[2] == nil || (docs[1] == nil) != (tt.words == 2) {
					t.Errorf("%s: Fetch = %v, %v", when, docs, err)
				}
				if c, err := on(b).Collection(ctx, "bad"); err != nil || c.Documents != 3 || c.DamagedDocuments != 1 {
					t.Errorf("%s: Collection = %+v, %v", when, c, err)
				}
				if problems, err := on(b).Problems(ctx, false); err != nil || !strings.Contains(fmt.Sprint(problems), "left out of searches: "+tt.says) {
					t.Errorf("%s: Check = %v, %v", when, problems, err)
				}
			}
			c := b.mu.byName["bad"]
			c.rebuild.fillers.Wait()
			served("opened")
			must(t, b.Close())
			alarms = notices{}
			b, err = Open(dir, Options{RebuildFrom: tt.from, Alarm: alarms.tell})
			must(t, err)
			b.mu.byName["bad"].rebuild.fillers.Wait()
			served("opened again")
			if tt.words == 2 {
				var damaged *backend.DamagedError
				if _, err := on(b).Lookup(ctx, "bad", []string{"d0", "d1"}); !errors.As(err, &damaged) || !damaged.Document || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("Lookup: %v", err)
				}
				if _, err := b.List(ctx, backend.ListRequest{Collection: "bad", Limit: 10}); !errors.As(err, &damaged) || !damaged.Document {
					t.Errorf("List: %v", err)
				}
			} else if d, err := on(b).Lookup(ctx, "bad", []string{"d1"}); err != nil || d[0].Hash != [32]byte{} {
				t.Errorf("Lookup = %+v, %v, want no hash", d[0], err)
			}
			if h, err := b.Lookup(ctx, backend.LookupRequest{Collection: "bad", IDs: []string{"d1"}, NoFields: true}); err != nil || h[0].ID != "d1" || h[0].Hash != [32]byte{} {
				t.Errorf("Lookup without fields = %+v, %v, want no hash", h, err)
			}
			outcomes, err := on(b).Apply(ctx, "bad", []backend.Write{{ID: "d1", Fields: json.RawMessage(`{"text":"bad text 1"}`), Hash: [32]byte{2, 3},
				Passages: []backend.Passage{{Field: "text", End: 10}}, Vectors: [][]float32{{0.6, 0.8}}}})
			if err != nil || outcomes[0].Status != backend.Updated {
				t.Fatalf("Apply = %v, %v", outcomes, err)
			}
			if m, err := on(b).Nearest(ctx, "bad", []float32{1, 0}, 3, nil); err != nil || len(m) != 3 {
				t.Errorf("Nearest = %v, %v", m, err)
			}
			if c, err := on(b).Collection(ctx, "bad"); err != nil || c.DamagedDocuments != 0 {
				t.Errorf("written again: %+v, %v", c, err)
			}
			sound(t, b)
		})
	}
}

// TestDamageAmongSearches damages what an open folder has read already: searches go on.
func TestDamageAmongSearches(t *testing.T) {
	dir := damagedFolder(t, theFields, false)
	var alarms notices
	b, err := Open(dir, Options{Alarm: alarms.tell})
	must(t, err)
	defer b.Close()
	b.mu.byName["bad"].damage = damage{} // as if it were not known
	docs, err := on(b).Documents(t.Context(), "bad", []backend.Ref{1, 2, 3})
	if err != nil || docs[0] == nil || docs[1] != nil || docs[2] == nil {
		t.Errorf("Fetch = %v, %v", docs, err)
	}
	if c, err := on(b).Collection(t.Context(), "bad"); err != nil || c.DamagedDocuments != 1 {
		t.Errorf("Collection = %+v, %v", c, err)
	}
	if out, err := on(b).Apply(t.Context(), "bad", []backend.Write{{ID: "d1", Delete: true}}); err != nil || out[0].Status != backend.Deleted {
		t.Errorf("Apply = %v, %v", out, err)
	}
	sound(t, b)
}

// TestDamagedChange opens a folder with a damaged change that the indexes lack, or that one lacks
// which is gone: they are made anew.
func TestDamagedChange(t *testing.T) {
	for _, gone := range []bool{false, true} {
		dir := t.TempDir()
		b, err := Open(dir, Options{})
		must(t, err)
		must(t, on(b).Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}))
		if _, err := b.Changes(t.Context(), backend.ChangesRequest{Collection: "docs", Keep: true}); err != nil {
			t.Fatal(err)
		}
		colour(t, b, "d0", "red")
		indexes, before := filepath.Join(dir, indexFolder), filepath.Join(dir, "before")
		must(t, b.Close())
		must(t, os.CopyFS(before, os.DirFS(indexes)))
		b, err = Open(dir, Options{})
		must(t, err)
		if _, err := b.Changes(t.Context(), backend.ChangesRequest{Collection: "docs", Keep: true}); err != nil {
			t.Fatal(err)
		}
		colour(t, b, "d1", "blue")
		must(t, b.Close())
		must(t, os.RemoveAll(indexes))
		if !gone {
			must(t, os.Rename(before, indexes))
		}
		path := filepath.Join(dir, "searchd.db")
		file, err := os.ReadFile(path)
		must(t, err)
		change := []byte("\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02\x00d1")
		if !bytes.Contains(file, change) {
			t.Fatal("the store does not hold the change")
		}
		must(t, os.WriteFile(path, bytes.ReplaceAll(file, change, bytes.Repeat([]byte("#"), len(change))), 0o600))
		b, err = Open(dir, Options{})
		must(t, err)
		for word, want := range map[string]string{"red": "d0", "blue": "d1"} {
			if byValue, byWord, partial := coloured(t, b, word); byValue != want || byWord != want || partial {
				t.Errorf("%s is %q by value, %q by word, partial %t", word, byValue, byWord, partial)
			}
		}
		if m, err := on(b).Nearest(t.Context(), "docs", []float32{1, 0}, 3, nil); err != nil || len(m) != 2 {
			t.Errorf("Nearest = %v, %v", m, err)
		}
		if problems, err := on(b).Problems(t.Context(), false); err != nil || !strings.Contains(fmt.Sprint(problems), "collection 1/log: key 2") {
			t.Errorf("Check = %v, %v", problems, err)
		}
		if err := b.Close(); err != nil { // the log goes
			t.Fatal(err)
		}
		b, err = Open(dir, Options{})
		must(t, err)
		sound(t, b)
		b.Close()
	}
}
