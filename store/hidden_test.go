package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestHiddenKey flips bits inside the keys of bucket ids. The keys often stay in order, so that the
// pages look sound and the record is only reached by its neighbours: a lookup must not answer that
// there is no such document.
func TestHiddenKey(t *testing.T) {
	dir := memoryDir(t)
	s, err := Open(dir, Options{PageSize: 4096})
	must(t, err)
	col, err := s.CreateCollection(context.Background(), "docs", []byte(`{}`), 0)
	must(t, err)
	const n = 9
	var ws []Write
	for i := range n { // far enough apart that a flipped bit seldom breaks the order
		ws = append(ws, write(fmt.Sprintf("id-%c-key", 'A'+i*5), 1, 0, 0))
	}
	mustApply(t, s, col.ID, ws...)
	var file bytes.Buffer
	if _, err := s.Backup(context.Background(), &file); err != nil {
		t.Fatal(err)
	}
	s.Close()
	var refused, reported, smaller, larger int
	for i, w := range ws {
		// An entry of ids is key, u32 number, u32 checksum.
		entry := append([]byte(w.ID), byte(i+1), 0, 0, 0)
		at := bytes.LastIndex(file.Bytes(), entry)
		if at < 0 {
			t.Fatalf("no entry of %q in the file", w.ID)
		}
		for bit := range 8 * len(w.ID) {
			flipped := bytes.Clone(file.Bytes())
			flipped[at+bit/8] ^= 1 << (bit % 8)
			s, err := reopened(t, dir, flipped)
			if err != nil {
				refused++
				continue
			}
			err = s.View(context.Background(), col.ID, func(tx *Tx) error { _, err := tx.Head(w.ID); return err })
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("bit %d of id %q flipped: Head = %v, want ErrCorrupt", bit, w.ID, err)
			}
			if _, _, err := s.Apply(context.Background(), col.ID, []Write{w}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("bit %d of id %q flipped: Apply = %v, want ErrCorrupt", bit, w.ID, err)
			}
			reported++
			if string(flipped[at:at+len(w.ID)]) < w.ID {
				smaller++
			} else {
				larger++
			}
			s.Close()
		}
	}
	if smaller == 0 || larger == 0 {
		t.Errorf("%d flips reported, %d moved the key down, %d up: want both", reported, smaller, larger)
	}
	t.Logf("%d refused by Open, %d reported when read", refused, reported)
}
