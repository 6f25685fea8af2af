package store

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.etcd.io/bbolt"
)

// breakFile makes every write to the file of s fail, by putting a read-only descriptor in the place
// of bbolt's.
func breakFile(t *testing.T, s *Store) {
	t.Helper()
	ro, err := os.Open(s.path)
	must(t, err)
	defer ro.Close()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	n := 0
	for _, e := range fds {
		var fd int
		fmt.Sscan(e.Name(), &fd)
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && to == s.path && fd != int(ro.Fd()) {
			must(t, syscall.Dup3(int(ro.Fd()), fd, syscall.O_CLOEXEC))
			n++
		}
	}
	if n != 1 {
		t.Fatalf("found %d descriptors of %s", n, s.path)
	}
}

// TestFailedCommit makes a commit fail. Its outcome is unknown, so the store must not write again
// until it is reopened, while reads go on.
func TestFailedCommit(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a", 1, 1, 3))
	breakFile(t, s)
	ctx := context.Background()
	_, _, first := s.Apply(ctx, col, []Write{write("b", 1, 1, 3)})
	if !errors.Is(first, ErrReadOnly) || !errors.Is(first, ErrOutcomeUnknown) || !strings.Contains(first.Error(), "unknown") || !errors.Is(first, syscall.EBADF) {
		t.Errorf("Apply = %v, want ErrReadOnly with its cause", first)
	}
	_, err := s.CreateCollection(ctx, "more", []byte(`{}`), 0)
	for what, err := range map[string]error{"CreateCollection": err, "TrimChanges": s.TrimChanges(ctx, col, 1), "ReadOnly": s.ReadOnly()} {
		if !errors.Is(err, ErrReadOnly) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("%s = %v, want ErrReadOnly of a write that was not carried out", what, err)
		}
	}
	err = s.View(ctx, col, func(tx *Tx) error { _, err := tx.Document("a"); return err })
	if err != nil {
		t.Errorf("reading after the failure: %v", err)
	}
	s.Close()
	s = open(t, s.dir)
	mustApply(t, s, col, write("b", 1, 1, 3))
}

// fillUp writes until the store is full, and checks it and what it does then.
func fillUp(t *testing.T, s *Store, room int) {
	t.Helper()
	ctx := context.Background()
	col, err := s.CreateCollection(ctx, "docs", []byte(`{}`), 0)
	must(t, err)
	n := 0
	for ; err == nil; n++ {
		var ws []Write
		for i := range 10 {
			ws = append(ws, write(fmt.Sprint(n, "-", i), 1, 10, 384))
		}
		_, _, err = s.Apply(ctx, col.ID, ws)
	}
	if !errors.Is(err, ErrNoSpace) || errors.Is(err, ErrReadOnly) {
		t.Fatalf("Apply = %v, want ErrNoSpace", err)
	}
	if bytes := (n - 1) * 10 * 10 * 384 * 4; bytes < room*6/10 {
		t.Errorf("full after %d bytes of vectors in %d", bytes, room)
	}
	if err := s.ReadOnly(); err != nil {
		t.Errorf("ReadOnly = %v", err)
	}
	check := func(want int) {
		t.Helper()
		ps, err := s.Check(ctx, true)
		if err != nil || len(ps) > 0 {
			t.Errorf("Check = %v, %v", ps, err)
		}
		docs := 0
		if err := s.Documents(ctx, col.ID, 0, func(Document) error { docs++; return nil }); err != nil || docs != want {
			t.Errorf("%d documents, %v; want %d", docs, err, want)
		}
	}
	check(10 * (n - 1))
	var gone []Write
	for i := range n / 2 {
		for j := range 10 {
			gone = append(gone, Write{ID: fmt.Sprint(i, "-", j), Delete: true})
		}
	}
	if _, _, err := s.Apply(ctx, col.ID, gone); err != nil {
		t.Errorf("deleting from a full store: %v", err)
	}
	mustApply(t, s, col.ID, write("after", 1, 1, 384)) // pages freed by one transaction serve the next
	check(10*(n-1) - len(gone) + 1)
}

// TestDiskFull fills a store to a limit on file sizes, which acts as a full disk: a typed error,
// nothing half written, reads and deletions go on. It runs in a process of its own, since the limit
// holds for all of it.
func TestDiskFull(t *testing.T) {
	if os.Getenv("SEARCHD_STORE_FULL") == "" {
		rerun(t, "TestDiskFull", "SEARCHD_STORE_FULL=1")
		return
	}
	ignoreFileSizeSignal()
	limit := syscall.Rlimit{Cur: 8 << 20, Max: 8 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	s := open(t, t.TempDir())
	fillUp(t, s, 8<<20)
}

// TestCompactUnreadable compacts a store of which some pages can no longer be read: the error says
// so, and the store goes on with the file that it has.
func TestCompactUnreadable(t *testing.T) {
	s, col := newCollection(t)
	large := write("large", 1, 1, 3)
	large.Fields = fmt.Appendf(nil, `{"body":%q}`, strings.Repeat("x", 1<<18))
	mustApply(t, s, col, large)
	var pages []byte // of the memory map, behind the one where the value begins
	err := s.db.View(func(tx *bbolt.Tx) error {
		rm, err := openRoom(tx, col)
		if err == nil {
			v := rm.fields.Get(key32(1))
			skip := -uintptr(unsafe.Pointer(&v[1<<16])) & uintptr(os.Getpagesize()-1)
			pages = v[1<<16+skip:][:1<<16]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	must(t, syscall.Mprotect(pages, syscall.PROT_NONE))
	compacted := make(chan error)
	go func() { compacted <- s.copyTo(t.Context(), filepath.Join(s.dir, newName)) }()
	select {
	case err = <-compacted:
	case <-time.After(20 * time.Second):
		log.Fatal("copyTo does not return") // and so would Close
	}
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("copyTo = %v, want ErrDamaged", err)
	}
	must(t, syscall.Mprotect(pages, syscall.PROT_READ))
	mustApply(t, s, col, write("b", 1, 1, 3))
	if err := s.copyTo(t.Context(), filepath.Join(s.dir, newName)); err != nil {
		t.Error(err)
	}
}
