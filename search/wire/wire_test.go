package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
)

var documents = []backend.Write{
	{ID: "a", Delete: true},
	{ID: "b", Fields: json.RawMessage(`{"n":1}`), Hash: [32]byte{1, 2}, Passages: []backend.Passage{}},
	{ID: "c", Fields: json.RawMessage(`{"text":"x"}`), Passages: []backend.Passage{{Field: "text", Start: 0, End: 900}, {Field: "title"}},
		Blocks: map[string][]passage.Block{"text": {{Start: 0, End: 1}}}, Vectors: [][]float32{{1, -2}, {0.5, 3e-9}}},
}

func sequence() (b []byte) {
	for _, w := range documents {
		b = AppendCopy(b, w)
	}
	return b
}

// TestCopies: a sequence of documents comes back as it was, and one that is cut off, changed or too
// long does not come back at all.
func TestCopies(t *testing.T) {
	b := sequence()
	got, err := Copies(b, 3)
	if err != nil || !reflect.DeepEqual(got, documents) {
		t.Fatalf("Copies = %+v, %v, want %+v", got, err, documents)
	}
	if _, err := Copies(b, 2); !errors.Is(err, ErrForm) {
		t.Errorf("more than are allowed: %v", err)
	}
	whole := map[int]bool{len(b): true}
	for n, at := 0, 0; n < len(documents); n++ {
		whole[at] = true
		at += len(AppendCopy(nil, documents[n]))
	}
	for n := range b {
		if _, err := Copies(b[:n], 9); (err == nil) != whole[n] {
			t.Errorf("cut off at %d: %v", n, err)
		}
		changed := bytes.Clone(b)
		changed[n] ^= 0x40
		if _, err := Copies(changed, 9); !errors.Is(err, ErrForm) {
			t.Errorf("byte %d changed: %v", n, err)
		}
	}
}

// TestDigest: everything that is stored counts, but the revision.
func TestDigest(t *testing.T) {
	document := func() *backend.Document {
		return &backend.Document{ID: "c", Fields: documents[2].Fields, Passages: documents[2].Passages, Blocks: documents[2].Blocks, Vectors: [][]float32{{1, -2}, {0.5, 3e-9}}}
	}
	want := Digest(document())
	same := document()
	if same.Revision, same.Ref = 7, 3; Digest(same) != want {
		t.Error("the revision counts")
	}
	for name, change := range map[string]func(d *backend.Document){
		"hash": func(d *backend.Document) { d.Hash[31] = 1 }, "fields": func(d *backend.Document) { d.Fields = json.RawMessage(`{}`) },
		"passage": func(d *backend.Document) { d.Passages = []backend.Passage{{Field: "text"}, {Field: "title"}} },
		"blocks":  func(d *backend.Document) { d.Blocks = nil },
		"vector":  func(d *backend.Document) { d.Vectors[1][1] = 3.1e-9 },
	} {
		if d := document(); Digest(d) != want {
			t.Fatal("two digests of one document")
		} else if change(d); Digest(d) == want {
			t.Errorf("%s does not count", name)
		}
	}
}

// FuzzCopies reads any bytes: what is a sequence is the same one when it is written again.
func FuzzCopies(f *testing.F) {
	f.Add(sequence())
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := Copies(b, 100)
		if err != nil {
			return
		}
		var again []byte
		for _, w := range list {
			again = AppendCopy(again, w)
		}
		if twice, err := Copies(again, 100); err != nil || len(twice) != len(list) {
			t.Errorf("%x is read as %+v and then as %+v, %v", b, list, twice, err)
		}
	})
}
