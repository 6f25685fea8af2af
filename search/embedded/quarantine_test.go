package embedded

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// damagedFolder returns a data folder with the collections good and bad, of which bad has one value
// that is overwritten: that of the second of three documents. Its indexes are gone where without is
// true.
func damagedFolder(t *testing.T, value func(vector []byte, fields []byte) []byte, without bool) string {
	t.Helper()
	dir := t.TempDir()
	b, err := Open(dir, Options{})
	must(t, err)
	var vector []byte
	for _, name := range []string{"good", "bad"} {
		must(t, on(b).Create(t.Context(), name, backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}))
		var writes []backend.Write
		for i, x := range []float64{0.1, 0.6, 0.7} {
			text := fmt.Sprintf("%s text %d", name, i)
			v := []float32{float32(x), float32(math.Sqrt(1 - x*x))}
			if name == "good" {
				v[0] = -v[0]
			} else if i == 1 {
				vector = binary.LittleEndian.AppendUint32(vector, math.Float32bits(v[0]))
				vector = binary.LittleEndian.AppendUint32(vector, math.Float32bits(v[1]))
			}
			writes = append(writes, backend.Write{ID: fmt.Sprint("d", i), Fields: json.RawMessage(`{"text":"` + text + `"}`), Hash: [32]byte{byte(i + 1), byte(len(name))},
				Passages: []backend.Passage{{Field: "text", End: len(text)}}, Vectors: [][]float32{v}})
		}
		if _, err := on(b).Apply(t.Context(), name, writes); err != nil {
			t.Fatal(err)
		}
	}
	must(t, b.Close())
	path := filepath.Join(dir, "searchd.db")
	file, err := os.ReadFile(path)
	must(t, err)
	old := value(vector, []byte("bad text 1"))
	if !bytes.Contains(file, old) {
		t.Fatalf("the store does not hold %q", old)
	}
	must(t, os.WriteFile(path, bytes.ReplaceAll(file, old, bytes.Repeat([]byte("#"), len(old))), 0o600))
	if without {
		must(t, os.RemoveAll(filepath.Join(dir, indexFolder)))
	}
	return dir
}

func theVector(vector, _ []byte) []byte { return vector }
func theFields(_, fields []byte) []byte { return fields }

// theRecord is the hash, the length of the id and the id.
func theRecord(_, _ []byte) []byte {
	return append(append([]byte{2, 3}, make([]byte, 30)...), "\x02\x00d1"...)
}

// TestDamagedCollectionIsSetApart opens a folder of which one collection needs a damaged value. The
// other serves; that one is named with the value, listed, and dropped.
func TestDamagedCollectionIsSetApart(t *testing.T) {
	ctx := t.Context()
	for name, tt := range map[string]struct {
		value func(vector, fields []byte) []byte
		says  string
	}{
		"record": {theRecord, `document "d1", record: `},
	} {
		t.Run(name, func(t *testing.T) {
			dir := damagedFolder(t, tt.value, true)
			var notices strings.Builder
			b, err := Open(dir, Options{Notice: func(text string) { notices.WriteString(text + "\n") }})
			must(t, err)
			defer func() { b.Close() }()
			if !strings.Contains(notices.String(), "collection bad cannot be opened, the others can: "+tt.says) {
				t.Errorf("notices: %s", notices.String())
			}
			if m, err := on(b).Nearest(ctx, "good", []float32{1, 0}, 3, nil); err != nil || len(m) != 3 {
				t.Errorf("Nearest in the other = %v, %v", m, err)
			}
			for what, call := range map[string]func() error{
				"Nearest":    func() error { _, err := on(b).Nearest(ctx, "bad", []float32{1, 0}, 3, nil); return err },
				"Words":      func() error { _, err := on(b).Words(ctx, "bad", backend.Words{Text: "text"}, 3, nil); return err },
				"Apply":      func() error { _, err := on(b).Apply(ctx, "bad", []backend.Write{{ID: "x", Delete: true}}); return err },
				"Collection": func() error { _, err := on(b).Collection(ctx, "bad"); return err },
				"Update": func() error {
					return on(b).Update(ctx, "bad", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")})
				},
			} {
				if err := call(); !errors.Is(err, backend.ErrDamaged) || !strings.Contains(err.Error(), `"bad" cannot be opened: `+tt.says) {
					t.Errorf("%s = %v, want ErrDamaged with %s", what, err, tt.says)
				}
			}
			if err := on(b).Create(ctx, "bad", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}); !errors.Is(err, backend.ErrCollectionExists) {
				t.Errorf("Create = %v, want ErrCollectionExists", err)
			}
			list, err := b.Collections(ctx)
			if err != nil || len(list) != 2 || list[0].Damaged != "" || list[1].Name != "bad" || !strings.Contains(list[1].Damaged, tt.says) || list[1].Config.Language != "en" {
				t.Errorf("Collections = %+v, %v", list, err)
			}
			problems, err := on(b).Problems(ctx, true)
			if err != nil || len(problems) != 2 || !strings.Contains(fmt.Sprint(problems), "cannot be opened") {
				t.Errorf("Check = %v, %v", problems, err)
			}
			must(t, b.Drop(ctx, "bad"))
			if err := on(b).Create(ctx, "bad", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}); err != nil {
				t.Errorf("Create after Drop: %v", err)
			}
			if problems, err := on(b).Problems(ctx, true); err != nil || len(problems) != 0 {
				t.Errorf("Check after Drop = %v, %v", problems, err)
			}
		})
	}
}

// TestCheckGoesOnPastDamage checks a folder with a damaged vector that no index needs: it is named
// with its document, and what comes after and before it is compared.
func TestCheckGoesOnPastDamage(t *testing.T) {
	ctx := t.Context()
	b, err := Open(damagedFolder(t, theVector, false), Options{})
	must(t, err)
	defer b.Close()
	b.mu.byName["bad"].graph.Delete(0)
	b.mu.byName["bad"].graph.Delete(2)
	problems, err := on(b).Problems(ctx, true)
	must(t, err)
	said := fmt.Sprint(problems)
	for _, want := range []string{`collection "bad": document "d1": vector of passage 0: `, "slot 0 is missing or differs", "slot 2 is missing or differs", "holds 1 passages, the store 3"} {
		if !strings.Contains(said, want) {
			t.Errorf("Check found %s, want %s", said, want)
		}
	}
	if len(problems) != 4 {
		t.Errorf("Check found %d problems, want 4: %s", len(problems), said)
	}
}

// TestDropDamaged drops the document with damaged fields, and opens what is left. One with a
// damaged vector stays.
func TestDropDamaged(t *testing.T) {
	for name, value := range map[string]func(vector, fields []byte) []byte{"vector": theVector, "fields": theFields} {
		dir := damagedFolder(t, value, false)
		var dropped []string
		if _, err := DropDamaged(t.Context(), dir, func(text string) { dropped = append(dropped, text) }); err != nil {
			t.Fatal(err)
		}
		want, documents, problems := `[collection "bad": document "d1"]`, 2, 0
		if name == "vector" {
			want, documents, problems = "[]", 3, 1
		}
		if fmt.Sprint(dropped) != want {
			t.Errorf("%s: dropped %q, want %s", name, dropped, want)
		}
		b, err := Open(dir, Options{})
		must(t, err)
		if found, err := on(b).Problems(t.Context(), true); err != nil || len(found) < problems || len(found) > 2*problems {
			t.Errorf("%s: Check = %v, %v", name, found, err)
		}
		if c, err := on(b).Collection(t.Context(), "bad"); err != nil || c.Documents != documents {
			t.Errorf("%s: Collection = %+v, %v", name, c, err)
		}
		b.Close()
	}
}

// TestNameOfUnread gives a collection whose name cannot be read one that nobody has.
func TestNameOfUnread(t *testing.T) {
	b := openDocs(t, Options{})
	must(t, on(b).Create(t.Context(), "damaged-7", settings("")))
	for range 2 {
		b.quarantineUnread(store.DamagedCollection{ID: 7, Err: errors.New("torn")})
	}
	if _, err := on(b).Collection(t.Context(), "damaged-7"); err != nil {
		t.Error(err)
	}
	if list, err := b.Collections(t.Context()); err != nil || len(list) != 4 {
		t.Errorf("Collections = %+v, %v, want 4", list, err)
	}
}

// TestOpenedSince tries to open a collection that has been opened since it was set apart.
func TestOpenedSince(t *testing.T) {
	b := openDocs(t, Options{})
	c := b.mu.byName["docs"]
	if again := b.tryOpen(t.Context(), &quarantined{id: c.id, name: "docs"}); again || b.mu.byName["docs"] != c {
		t.Errorf("tryOpen: again %t", again)
	}
}

// TestDamagedSince tries to open a collection that had no room, and that has a damaged value: it is
// tried no more, and says so.
func TestDamagedSince(t *testing.T) {
	b, err := Open(damagedFolder(t, theRecord, true), Options{})
	must(t, err)
	defer func() { b.Close() }()
	id := b.mu.quarantined["bad"].id
	a := &quarantined{id: id, name: "bad", config: backend.Config{Language: "en"}, reason: "nothing is lost"}
	b.mu.quarantined["bad"] = a
	if b.tryOpen(t.Context(), a) {
		t.Error("it is tried again")
	}
	list, err := b.Collections(t.Context())
	if err != nil || !strings.HasPrefix(list[1].Damaged, `document "d1", record: `) || list[1].Config.Language != "en" {
		t.Errorf("Collections = %+v, %v", list, err)
	}
}
