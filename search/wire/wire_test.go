package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"searchd/store"
)

func example() *store.News {
	d := &store.Document{ID: "ä/<b>", No: 2, Revision: 8, Hash: [32]byte{1, 2}, Fields: []byte("{ \"a\": \"<\"}"),
		Passages: []store.Passage{{Slot: 5, Field: "text", Start: 1, End: 3}, {Slot: 6, Field: "title"}}}
	col := store.Collection{ID: 3, Name: "docs~2", Settings: []byte("{ }"), Generation: 4}
	return &store.News{
		Collections: []store.Stand{{Collection: col, Seq: 7}},
		Entries: []store.Entry{
			{Collection: 3, Change: store.Change{Seq: 8, No: 2, ID: d.ID, Op: store.OpPut, OldSlots: []uint32{1}, NewSlots: []uint32{5, 6}}, Document: d, Vectors: [][]float32{{1, -0.5}, nil}},
			{Collection: 3, Change: store.Change{Seq: 9, No: 1, ID: "gone", Op: store.OpDelete, OldSlots: []uint32{0}}},
			{Collection: 3, Change: store.Change{Seq: 10, No: 4, ID: "later", Op: store.OpPut, NewSlots: []uint32{7}}},
		},
		All: []uint32{3, 9}, Values: map[string][]byte{"alias/a": []byte("docs"), "key/x": {0, 255}}, Version: 1 << 62,
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	var b bytes.Buffer
	if err := Write(&b, want, 12); err != nil {
		t.Fatal(err)
	}
	got := &store.News{}
	end, err := Read(&b, func(n *store.News) error {
		got.Collections, got.Entries = append(got.Collections, n.Collections...), append(got.Entries, n.Entries...)
		got.All, got.Values, got.Version = n.All, n.Values, n.Version
		return nil
	})
	if err != nil || end.Commits != 12 || end.Version != want.Version {
		t.Fatal(end, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Read mismatch:\ngot  %+v\nwant %+v", got, want)
	}
}

// Names and values come when no change is left, so that none leads to what is not there.
func TestNamesComeLast(t *testing.T) {
	n := example()
	n.Behind = 1
	var b bytes.Buffer
	if err := Write(&b, n, 0); err != nil {
		t.Fatal(err)
	}
	_, err := Read(&b, func(n *store.News) error {
		if n.All != nil || n.Values != nil {
			t.Errorf("names before the changes: %+v", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, example(), 1); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	all := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	cut := strings.Join(all[:len(all)-1], "")
	none := func(*store.News) error { return nil }
	if _, err := Read(strings.NewReader(cut), none); !errors.Is(err, ErrCut) {
		t.Errorf("an answer that was cut: %v, want ErrCut", err)
	}
	for name, change := range map[string][2]string{
		"op":              {`"op":"put"`, `"op":"fly"`},
		"too many slots":  {`"new":[5,2]`, `"new":[5,65537]`},
		"slots past all":  {`"new":[5,2]`, `"new":[4294967295,2]`},
		"no slots":        {`"new":[5,2]`, `"new":[5,0]`},
		"missing passage": {`"new":[5,2]`, `"new":[5,1]`},
		"hash":            {`"hash":"AQ`, `"hash":"AQAA`},
		"vector":          {`"vector":"AACAPwAAAL8="`, `"vector":"AACAPwAAAL8AAA=="`},
		"line":            {`{"end":`, `{"other":`},
		"text":            {`{"end":`, `{"end"`},
		"negative":        {`"no":2`, `"no":-2`},
	} {
		if !strings.Contains(whole, change[0]) {
			t.Fatalf("%s: %s is not in %s", name, change[0], whole)
		}
		if _, err := Read(strings.NewReader(strings.Replace(whole, change[0], change[1], 1)), none); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, example(), 1); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Read(bytes.NewReader(b), func(n *store.News) error {
			var again bytes.Buffer
			return Write(&again, n, 0)
		})
	})
}
