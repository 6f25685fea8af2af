package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// openThree returns a backend with three documents in a collection named docs.
func openThree(t *testing.T) (*Backend, *collection) {
	t.Helper()
	b := openDocs(t, Options{})
	var writes []backend.Write
	for i, text := range []string{"one", "two words", "three more words"} {
		writes = append(writes, backend.Write{ID: text, Fields: json.RawMessage(`{"text":"` + text + `"}`), Hash: [32]byte{byte(i + 1)},
			Passages: []backend.Passage{{Field: "text", End: len(text)}}, Vectors: [][]float32{{1, 0}}})
	}
	if _, err := on(b).Apply(t.Context(), "docs", writes); err != nil {
		t.Fatal(err)
	}
	return b, b.mu.byName["docs"]
}

// TestCheckFindsDifferences makes each kind of difference and wants it named.
func TestCheckFindsDifferences(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name   string
		damage func(c *collection) error
		want   string
	}{
		{"none", func(*collection) error { return nil }, ""},
		{"vector missing", func(c *collection) error { c.graph.Delete(1); return nil }, "slot 1 is missing"},
		{"vector too much", func(c *collection) error { return c.graph.Add(77, []float32{0, 1}) }, "holds 4 passages, the store 3"},
		{"words missing", func(c *collection) error {
			return c.keyword.Apply(ctx, []keyword.Entry{{No: 2, Delete: true}}, c.seq.Load())
		}, "document number 2 is missing"},
		{"words too much", func(c *collection) error {
			return c.keyword.Apply(ctx, []keyword.Entry{{No: 9, Text: []keyword.Field{{Name: "text", Text: "x"}}}}, c.seq.Load())
		}, "document number 9 is in no store"},
		{"words of a document that is gone", func(c *collection) error {
			_, _, err := c.store.Apply(ctx, c.id, []store.Write{{ID: "one", Delete: true}})
			return err
		}, "document number 1 is in no store"},
		{"other words", func(c *collection) error {
			return c.keyword.Apply(ctx, []keyword.Entry{{No: 1, Text: []keyword.Field{{Name: "text", Text: "red blue green"}}}}, c.seq.Load())
		}, "document number 1 has other terms than its text, map[text:1]"},
		{"words in another field", func(c *collection) error {
			return c.keyword.Apply(ctx, []keyword.Entry{{No: 1, Text: []keyword.Field{{Name: "title", Text: "one"}}}}, c.seq.Load())
		}, "document number 1 has other terms than its text, map[text:1]"},
		{"behind", func(c *collection) error { c.seq.Add(1); return nil }, "has applied sequence"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, c := openThree(t)
			must(t, tc.damage(c))
			problems, err := on(b).Problems(ctx, true)
			must(t, err)
			var all strings.Builder
			for _, p := range problems {
				all.WriteString(p.Where + ": " + p.What + "\n")
			}
			if tc.want == "" && all.Len() > 0 || !strings.Contains(all.String(), tc.want) {
				t.Errorf("Check found %q, want %q", all.String(), tc.want)
			}
		})
	}
}

// TestCheckOfADroppedCollection drops a collection while it is checked: it is no difference, and no
// error.
func TestCheckOfADroppedCollection(t *testing.T) {
	b, c := openThree(t)
	c.write.Lock() // the check waits for it
	type answer struct {
		problems []backend.Problem
		err      error
	}
	checked := make(chan answer)
	go func() {
		problems, err := on(b).Problems(context.Background(), true)
		checked <- answer{problems, err}
	}()
	for c.use.TryLock() { // until the check has begun with the collection
		c.use.Unlock()
		time.Sleep(time.Millisecond)
	}
	err := b.Drop(t.Context(), "docs")
	c.write.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if a := <-checked; a.err != nil || len(a.problems) > 0 {
		t.Errorf("Check = %v, %v", a.problems, a.err)
	}
}

// TestManyFields wants no difference where texts of many names share a field, and the usual names
// to have their own.
func TestManyFields(t *testing.T) {
	b, c := openThree(t)
	var writes []backend.Write
	write := func(id, fields string) {
		writes = append(writes, backend.Write{ID: id, Fields: json.RawMessage(fields), Hash: [32]byte{2, byte(len(writes)), byte(len(writes) >> 8)},
			Passages: []backend.Passage{{Field: "any", End: 1}}, Vectors: [][]float32{{1, 0}}})
	}
	for i := range keyword.MaxTextFields + 200 {
		write(fmt.Sprint(i), fmt.Sprintf(`{"key%d":"own text"}`, i))
	}
	write("last", `{"title":"heading","body":"last text"}`)
	if _, err := on(b).Apply(t.Context(), "docs", writes); err != nil {
		t.Fatal(err)
	}
	sound(t, b)
	for name, want := range map[string]string{"key5": "key5", "key1100": keyword.OtherFields, "title": "title", "body": "body"} {
		if got := c.keyword.FieldOf(name); got != want {
			t.Errorf("FieldOf(%s) = %s, want %s", name, got, want)
		}
	}
	sel, err := b.Select(t.Context(), backend.SelectRequest{Collection: "docs", With: []string{"own text"}, Without: []string{"last text"}})
	if err != nil || sel.Len() != len(writes)-1 {
		t.Errorf("Select finds %d, %v, want %d", sel.Len(), err, len(writes)-1)
	}
}

func TestSlotTable(t *testing.T) {
	var s slotTable
	s.load(3, 10, 2)
	s.apply([]move{{no: 4, slots: []uint32{12}, exists: true}})
	before := s.version()
	if no, ord, ok := s.document(11); !ok || no != 3 || ord != 1 {
		t.Errorf("document(11) = %d, %d, %t", no, ord, ok)
	}
	s.apply([]move{{3, []uint32{10, 11, 15}, []uint32{20, 21, 22}, true, true}}) // 15: written and replaced in one call
	if s.version() == before {
		t.Error("slots were freed, and the version is the same")
	}
	if _, _, ok := s.document(10); ok {
		t.Error("a freed slot still has a document")
	}
	if docs, slots := s.counts(); docs != 2 || slots != 4 {
		t.Errorf("counts = %d, %d, want 2, 4", docs, slots)
	}
	s.apply([]move{{no: 4, oldSlots: []uint32{12}, existed: true}})
	if docs, slots := s.counts(); docs != 1 || slots != 3 {
		t.Errorf("counts = %d, %d, want 1, 3", docs, slots)
	}
	if r := s.slots(4); r.n != 0 {
		t.Errorf("slots of a deleted document: %+v", r)
	}
	s.load(5, 0, 0) // without slots
	s.apply([]move{{no: 6, exists: true}, {no: 3, oldSlots: []uint32{20, 21, 22}, existed: true, exists: true}})
	if docs, slots := s.counts(); docs != 3 || slots != 0 || !slices.Equal(s.documents().ToArray(), []uint32{3, 5, 6}) {
		t.Errorf("documents without slots: %d with %d slots, %v", docs, slots, s.documents())
	}
	if _, _, ok := s.document(0); ok {
		t.Error("a document without slots has slot 0")
	}
	s.apply([]move{{no: 3, slots: []uint32{23}, existed: true, exists: true}, {no: 5, existed: true}, {no: 6, existed: true, exists: true}, {no: 7, oldSlots: []uint32{24}}})
	if docs, slots := s.counts(); docs != 2 || slots != 1 || !slices.Equal(s.documents().ToArray(), []uint32{3, 6}) || s.slots(3) != (slotRange{23, 1}) {
		t.Errorf("%d documents with %d slots, %v", docs, slots, s.documents())
	}
}
