package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string) string // returns the folder to open
		opts    Options
		want    error
		text    string
	}{
		{"a file in place of the folder", func(t *testing.T, dir string) string {
			writeFile(t, filepath.Join(dir, "f"), "x")
			return filepath.Join(dir, "f")
		}, Options{}, nil, "not a directory"},
		{"a folder in place of the file", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(filepath.Join(dir, fileName), 0o755))
			return dir
		}, Options{}, nil, "not a regular file"},
		{"no folder, must exist", func(t *testing.T, dir string) string { return filepath.Join(dir, "none") }, Options{MustExist: true}, ErrNoStore, "none"},
		{"no file, must exist", func(t *testing.T, dir string) string { return dir }, Options{MustExist: true}, ErrNoStore, fileName},
		{"no file, and what goes with one", func(t *testing.T, dir string) string {
			writeFile(t, filepath.Join(dir, "indexes"), "precious")
			return dir
		}, Options{Remains: []string{"other", "indexes"}}, ErrLost, "has indexes, but searchd.db is missing"},
		{"empty file", func(t *testing.T, dir string) string { writeFile(t, filepath.Join(dir, fileName), ""); return dir }, Options{}, ErrDamaged, "0 bytes"},
		{"text file", func(t *testing.T, dir string) string {
			writeFile(t, filepath.Join(dir, fileName), strings.Repeat("hello ", 5000))
			return dir
		}, Options{}, ErrDamaged, "no store"},
		{"another program's bbolt file", func(t *testing.T, dir string) string { otherBolt(t, dir); return dir }, Options{}, ErrDamaged, "meta"},
		{"newer format", func(t *testing.T, dir string) string { newerFormat(t, dir); return dir }, Options{}, ErrNewerFormat, "format 5"},
		{"options", func(t *testing.T, dir string) string { return dir }, Options{PageSize: 5000}, ErrInvalid, "PageSize is 5000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.prepare(t, t.TempDir())
			before := listing(t, dir)
			s, err := Open(dir, tt.opts)
			if err == nil {
				s.Close()
				t.Fatal("Open succeeded")
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Open = %v, want %v with %q", err, tt.want, tt.text)
			}
			if after := listing(t, dir); after != before {
				t.Errorf("Open changed the folder from\n%sto\n%s", before, after)
			}
		})
	}
}

// listing returns names and contents of a folder, without the lock file, which Open may leave.
func listing(t *testing.T, dir string) string {
	var b strings.Builder
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != lockName {
			content, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			fmt.Fprintf(&b, "%s %x\n", e.Name(), content)
		}
	}
	return b.String()
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func otherBolt(t *testing.T, dir string) {
	db, err := bbolt.Open(filepath.Join(dir, fileName), 0o644, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err }))
	db.Close()
}

func newerFormat(t *testing.T, dir string) {
	s := open(t, dir)
	err := s.update(context.Background(), func(tx *bbolt.Tx) error {
		meta, err := openTop(tx, kindMeta)
		if err != nil {
			return err
		}
		return meta.put(formatKey, binary.LittleEndian.AppendUint32(nil, formatVersion+1))
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestOpenReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	if _, err := Open(dir, Options{}); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) {
		t.Errorf("Open = %v, want a permission error that names the folder", err)
	}
}

// TestSecondProcess starts another process on an open folder. It fails at once and names the
// holder.
func TestSecondProcess(t *testing.T) {
	s, _ := newCollection(t)
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	start := time.Now()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+s.dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprint("process ", os.Getpid())) || !strings.Contains(string(out), s.dir) {
		t.Errorf("second process: %v, %s", err, out)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("second process took %v", d)
	}
}

// TestUnfinishedCreation leaves what a crash during creation may leave.
func TestUnfinishedCreation(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, newName), "half a file")
	writeFile(t, filepath.Join(dir, lockName), "4711\n")
	s := open(t, dir)
	if _, err := s.CreateCollection(context.Background(), "docs", []byte(`{}`), 0); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, newName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", newName, err)
	}
}

func TestVerifyLimit(t *testing.T) {
	file, want := sample(t)
	path := filepath.Join(t.TempDir(), fileName)
	writeFile(t, path, string(file))
	s, err := Open(filepath.Dir(path), Options{VerifyLimit: -1})
	must(t, err)
	defer s.Close()
	if got := readAll(s, want); len(got.errs) > 0 {
		t.Error(got.errs)
	}
}

func TestClosed(t *testing.T) {
	s, col := newCollection(t)
	ctx := context.Background()
	started, finish := make(chan struct{}), make(chan struct{})
	inner := make(chan error, 1)
	go s.View(ctx, col, func(tx *Tx) error {
		close(started)
		<-finish
		_, err := s.Collection("docs") // Close is waiting: this must not wait for it in turn
		inner <- err
		return nil
	})
	<-started
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
		t.Fatal("Close did not wait for the view")
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	if err := <-inner; !errors.Is(err, ErrClosed) {
		t.Errorf("call during Close = %v, want ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	_, _, applyErr := s.Apply(ctx, col, []Write{write("a", 1, 1, 1)})
	_, checkErr := s.Check(ctx, false)
	_, backupErr := s.Backup(ctx, nil)
	for name, err := range map[string]error{"Apply": applyErr, "Check": checkErr, "Backup": backupErr,
		"View": s.View(ctx, col, func(*Tx) error { return nil }), "SetValue": s.SetValues(ctx, map[string][]byte{"a": nil})} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
}

// TestTxAfterView keeps a Tx longer than its view.
func TestTxAfterView(t *testing.T) {
	s, col := newCollection(t)
	var kept *Tx
	must(t, s.View(context.Background(), col, func(tx *Tx) error { kept = tx; return nil }))
	if _, err := kept.Document("a"); !errors.Is(err, ErrClosed) {
		t.Errorf("Document after the view = %v, want ErrClosed", err)
	}
}

// TestFormatRises writes a document with a structure: the file then has the format that older
// programs refuse, and keeps it.
func TestFormatRises(t *testing.T) {
	s, col := newCollection(t)
	format := func() (v uint32) {
		must(t, s.view(func(tx *bbolt.Tx) error {
			meta, err := openTop(tx, kindMeta)
			if err == nil {
				v, err = readFormat(meta)
			}
			return err
		}))
		return v
	}
	plain, structured := write("a", 1, 2, 3), write("b", 1, 2, 3)
	structured.Structure = []byte{1, 2, 3}
	for _, step := range []struct {
		w    Write
		want uint32
	}{{plain, 1}, {structured, 2}, {Write{ID: "b", Delete: true}, 2}, {structured, 2}} {
		if mustApply(t, s, col, step.w); format() != step.want {
			t.Errorf("after %q the format is %d, want %d", step.w.ID, format(), step.want)
		}
	}
	must(t, s.Close())
	_, _, err := Compact(t.Context(), s.dir, Options{})
	must(t, err)
	s = open(t, s.dir)
	must(t, s.View(t.Context(), col, func(tx *Tx) error {
		a, err := tx.Head("a")
		must(t, err)
		b, err := tx.Head("b")
		if err != nil || len(a.Structure) != 0 || string(b.Structure) != "\x01\x02\x03" || len(b.Passages) != 2 {
			t.Errorf("documents %+v and %+v, %v", a, b, err)
		}
		return nil
	}))
	if format() != 2 {
		t.Errorf("compacted, the format is %d, want 2", format())
	}
}

// TestMovedWhileOpen removes and replaces the folder of an open store: what would be written could
// not be found again, so nothing is acknowledged; reads go on, and so do writes when the folder is
// back.
func TestMovedWhileOpen(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "data")
	s := open(t, dir)
	col, err := s.CreateCollection(ctx, "docs", []byte(`{}`), 0)
	must(t, err)
	mustApply(t, s, col.ID, write("a", 1, 1, 3))
	refused := func(when string) {
		t.Helper()
		_, _, err := s.Apply(ctx, col.ID, []Write{write("b", 1, 1, 3)})
		var moved *MovedError
		if !errors.Is(err, ErrReadOnly) || !errors.As(err, &moved) || s.ReadOnly() == nil {
			t.Errorf("%s: Apply = %v, want a *MovedError", when, err)
		}
		if err := s.View(ctx, col.ID, func(tx *Tx) error { _, err := tx.Document("a"); return err }); err != nil {
			t.Errorf("%s: reading: %v", when, err)
		}
	}
	must(t, os.Rename(dir, dir+"-away"))
	refused("moved away")
	other := open(t, dir)
	refused("replaced")
	must(t, other.Close())
	must(t, os.RemoveAll(dir))
	must(t, os.Rename(dir+"-away", dir))
	mustApply(t, s, col.ID, write("b", 1, 1, 3))
	must(t, os.Remove(filepath.Join(dir, fileName)))
	refused("removed")
}
