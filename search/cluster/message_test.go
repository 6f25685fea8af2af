package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/wire"
)

var messages = []backend.Write{
	{ID: "a", Delete: true},
	{ID: "b", Fields: json.RawMessage(`{ "a" : 1 }`), Hash: [32]byte{1, 2}, Passages: []backend.Passage{}},
	{ID: "c", Fields: json.RawMessage(`{}`), Passages: []backend.Passage{{Field: "text", Start: 1, End: 900}, {Field: "title"}}, Vectors: [][]float32{{1, -2}, {0.5, 3e-9}}},
}

// TestMessage encodes and decodes writes.
func TestMessage(t *testing.T) {
	for _, w := range messages {
		for _, number := range []uint32{0, 7} {
			e, ok, err := decodeMessage(encodeMessage(w, number), 1012, 1000)
			if e.Blocks = nil; err != nil || !ok || !reflect.DeepEqual(e.Write, w) || e.Revision != 1012 || e.Number != max(number, 12) && number == 0 || number == 7 && e.Number != 7 {
				t.Errorf("%+v with the number %d is decoded as %+v, %t, %v", w, number, e, ok, err)
			}
		}
	}
	for _, w := range messages[1:] {
		e, ok, err := decodeMessage(encodeCopy(w, 7, 1003), 1012, 1000)
		if e.Blocks = nil; err != nil || !ok || !reflect.DeepEqual(e.Write, w) || e.Revision != 1003 || e.Place != 1012 || e.Number != 7 {
			t.Errorf("a copy of %+v is decoded as %+v, %t, %v", w, e, ok, err)
		}
		if _, _, err := decodeMessage(encodeCopy(w, 7, 1013), 1012, 1000); !errors.Is(err, errMessage) {
			t.Errorf("a copy of a later revision than its place: %v", err)
		}
	}
	for _, b := range [][]byte{barrier(), mark()} {
		if _, ok, err := decodeMessage(b, 1, 0); ok || err != nil {
			t.Errorf("%x is decoded as %t, %v", b, ok, err)
		}
	}
	for _, place := range []uint64{0, 1000, 1001 + 1<<32} {
		if _, _, err := decodeMessage(encodeMessage(messages[0], 0), place, 1000); !errors.Is(err, errMessage) {
			t.Errorf("at place %d: %v, want an error", place, err)
		}
	}
}

// FuzzMessage decodes bytes with a right checksum: what is a message is one again when it is
// encoded.
func FuzzMessage(f *testing.F) {
	for _, w := range messages {
		b := encodeMessage(w, 3)
		f.Add(b[:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := decodeMessage(b, 5, 0); err == nil && len(b) < 6 {
			t.Errorf("%x is a message", b)
		}
		e, ok, err := decodeMessage(wire.Seal(bytes.Clone(b)), 5, 0)
		if err != nil || !ok {
			return
		}
		revision := min(e.Place, e.Revision) // 0: of no copy
		again, ok, err := decodeMessage(encodeCopy(e.Write, e.Number, revision), 5, 0)
		if err != nil || !ok || !bytes.Equal(encodeCopy(again.Write, again.Number, revision), encodeCopy(e.Write, e.Number, revision)) {
			t.Errorf("%x is decoded as %+v and then as %+v, %v", b, e, again, err)
		}
	})
}
