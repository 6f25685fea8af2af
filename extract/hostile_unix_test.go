//go:build unix

package extract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Folders hold more than files.
func TestWalkHostile(t *testing.T) {
	root := tree(t, map[string]string{"good.txt": "good words", "sub/other.txt": "other words", "outside/secret.txt": "secret", "in/": ""})
	in := filepath.Join(root, "in")
	for _, err := range []error{
		os.Symlink(in, filepath.Join(in, "loop")),
		os.Symlink(filepath.Join(root, "outside"), filepath.Join(in, "out")),
		os.Symlink(filepath.Join(root, "nowhere"), filepath.Join(in, "dangling.txt")),
		os.Symlink("self.txt", filepath.Join(in, "self.txt")),
		syscall.Mkfifo(filepath.Join(in, "pipe.txt"), 0o644),
		os.WriteFile(filepath.Join(in, "ok.txt"), []byte("fine"), 0o644),
		os.WriteFile(filepath.Join(in, "closed.txt"), []byte("closed"), 0o000),
		os.Mkdir(filepath.Join(in, "closed"), 0o000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sparse, err := os.Create(filepath.Join(in, "sparse.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	lines, err := os.Create(filepath.Join(in, "sparse.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	rows, err := os.Create(filepath.Join(in, "sparse.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if _, err := rows.WriteString("id,text\n1,first\n"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{sparse, lines, rows} {
		if err := f.Truncate(1 << 40); err != nil {
			t.Skipf("file system without sparse files of 1 TiB: %v", err)
		}
	}
	begin := spent()
	check := func(o Options, wantIDs string, want ...string) {
		t.Helper()
		ids, fails, _ := walk(t, root, []string{in}, o)
		if got := strings.Join(ids, " "); got != wantIDs {
			t.Errorf("ids = %s, want %s", got, wantIDs)
		}
		if os.Geteuid() != 0 { // root may read everything
			want = append(want, "ROOT/in/closed: folder cannot be listed: permission denied", "ROOT/in/closed.txt: permission denied")
		}
		got := strings.Join(fails, "\n")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("want %q among\n%s", w, got)
			}
		}
		if len(fails) != len(want) {
			t.Errorf("%d errors, want %d:\n%s", len(fails), len(want), got)
		}
	}
	common := []string{
		"ROOT/in/pipe.txt: a named pipe, not a regular file",
		"ROOT/in/sparse.txt: file of 1099511627776 bytes is larger than the limit of 67108864 for plain text",
		"ROOT/in/sparse.jsonl:1: binary data (NUL bytes); the rest of the file is not read",
		"ROOT/in/sparse.csv:3: binary data (NUL bytes); the rest of the file is not read",
	}
	ids := "ok.txt 1"
	if os.Geteuid() == 0 {
		ids = "closed.txt ok.txt 1"
	}
	check(Options{}, ids, common...)
	check(Options{FollowSymlinks: true}, strings.Replace(ids, "ok.txt", "ok.txt out/secret.txt", 1), append(common,
		"ROOT/in/dangling.txt: no such file or directory",
		"ROOT/in/self.txt: too many levels of symbolic links")...)
	if d := spent() - begin; d > 30*time.Second {
		t.Errorf("took %v", d)
	}
	// A link given by name is meant.
	if ids, fails, _ := walk(t, root, []string{filepath.Join(in, "out")}, Options{}); strings.Join(ids, " ") != "secret.txt" {
		t.Errorf("link by name: %v, %v", ids, fails)
	}
	_, fails, _ := walk(t, root, []string{"/dev/null"}, Options{Format: Text})
	if len(fails) != 1 || fails[0] != "/dev/null: a device, not a regular file" {
		t.Errorf("device by name: %v", fails)
	}
}

func TestWalkDepth(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, strings.Repeat("d/", maxDepth+2))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	_, fails, s := walk(t, root, []string{root}, Options{})
	if len(fails) != 1 || !strings.Contains(fails[0], "deeper than the limit of 128") || s.Folders != maxDepth+1 {
		t.Errorf("got %v after %d folders", fails, s.Folders)
	}
}

// TestLinkInThePlaceOfAFile puts links in the place of a file, and of its folder, after they were
// found and before they are read: what lies outside the folder that was given is not read.
func TestLinkInThePlaceOfAFile(t *testing.T) {
	root := t.TempDir()
	in, outside := filepath.Join(root, "in"), filepath.Join(root, "outside")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(in, "a.txt"), "public")
	write(filepath.Join(in, "sub", "b.txt"), "public")
	write(filepath.Join(in, "sub", "c.txt"), "public")
	write(filepath.Join(outside, "a.txt"), "secret")
	write(filepath.Join(outside, "b.txt"), "secret")
	var files []File
	each := func(f File) error { files = append(files, f); return nil }
	if _, err := Files(t.Context(), []string{in}, Options{}, each, func(e ItemError) error { return e }); err != nil || len(files) != 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if err := errors.Join(os.Remove(filepath.Join(in, "a.txt")), os.Symlink(filepath.Join(outside, "a.txt"), filepath.Join(in, "a.txt")),
		os.Rename(filepath.Join(in, "sub"), filepath.Join(in, "kept")), os.Symlink(outside, filepath.Join(in, "sub"))); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fails := 0
		_, err := f.Read(t.Context(), func(d Document) error { return fmt.Errorf("read: %v", d.Fields) }, func(e ItemError) error { fails++; return nil })
		if _, _, sumErr := f.Sum(t.Context()); err != nil || fails != 1 || sumErr == nil {
			t.Errorf("%s: %v, %d failures, sum: %v", f.ID, err, fails, sumErr)
		}
	}
}
