package interpose

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const child = "INTERPOSE_CHILD"

func TestMain(m *testing.M) {
	if err := Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(127)
	}
	if dir := os.Getenv(child); dir != "" {
		if err := work(dir); err != nil {
			fmt.Println("failed:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work changes a folder in every way that the log has a word for.
func work(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	f, err := os.Create(at("a"))
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("hello"), 700)
	steps := []func() error{
		func() error { return err },
		func() error { _, err := f.Write([]byte("start")); return err },
		func() error { return f.Truncate(703) },
		f.Sync,
		func() error { _, err := fmt.Println("synced"); return err },
		func() error { _, err := f.WriteAt(bytes.Repeat([]byte("x"), 1500), 100); return err },
		func() error { return os.MkdirAll(at("b/c"), 0o700) },
		func() error { return os.Rename(at("a"), at("b/c/a")) },
		func() error { return os.WriteFile(at("b/gone"), []byte("gone"), 0o600) },
		func() error { return os.WriteFile(at("b/gone"), []byte("again"), 0o600) },
		func() error { return os.Rename(at("b/c"), at("d")) },
		func() error { return os.RemoveAll(at("b")) },
		func() error {
			g, err := os.OpenFile(at("log"), os.O_APPEND|os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
			if err != nil {
				return err
			}
			for range 3 {
				if _, err := fmt.Fprintln(g, "line"); err != nil {
					return err
				}
			}
			_, err = io.Copy(g, io.NewSectionReader(f, 0, 10))
			return errors.Join(err, g.Close())
		},
		func() error {
			d, err := os.Open(dir)
			if err != nil {
				return err
			}
			return errors.Join(d.Sync(), d.Close())
		},
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		time.Sleep(time.Millisecond) // lets signals of the scheduler come in between
	}
	return nil
}

// start returns a program that works on an empty folder.
func start(t *testing.T, decide func(n int, c Call) syscall.Errno) *Program {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	return &Program{Cmd: cmd, Root: dir, Decide: decide}
}

func mustRun(t *testing.T, p *Program) []Call {
	t.Helper()
	calls, err := p.Run()
	if errors.Is(err, ErrUnsupported) && os.Getenv("INTERPOSE_REQUIRE") == "" {
		t.Skip(err)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return calls
}

// contents returns a folder as a list of lines.
func contents(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if err != nil || d.IsDir() {
			out = append(out, rel)
			return err
		}
		b, err := os.ReadFile(p)
		out = append(out, fmt.Sprintf("%s %q", rel, b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLogIsWhatHappened replays the log and wants the folder that the program has left.
func TestLogIsWhatHappened(t *testing.T) {
	p := start(t, nil)
	calls := mustRun(t, p)
	d := NewDisk()
	for _, c := range calls {
		d.Apply(c)
	}
	if string(d.Output) != "synced\n" {
		t.Errorf("output %q", d.Output)
	}
	again := t.TempDir()
	if err := d.Cut(again, LoseNothing, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, again), contents(t, p.Root); !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("the log leads to\n%s\nwant\n%s\nof\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), calls)
	}
}

// TestKilled ends the program before each of its calls: the files are those of the calls before.
func TestKilled(t *testing.T) {
	var all []Call
	mustRun(t, start(t, func(_ int, c Call) syscall.Errno { all = append(all, c); return 0 }))
	for n := range all {
		p := start(t, func(i int, _ Call) syscall.Errno {
			if i == n {
				return Kill
			}
			return 0
		})
		calls := mustRun(t, p)
		if len(calls) > n || len(calls) < n-2 { // some fail, as those on folders that are not empty
			t.Fatalf("%d calls before the kill, want %d", len(calls), n)
		}
		d, again := NewDisk(), t.TempDir()
		for _, c := range calls {
			d.Apply(c)
		}
		if err := d.Cut(again, LoseNothing, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, again), contents(t, p.Root); !slices.Equal(got, want) {
			t.Errorf("before call %d, %s: the log leads to\n%s\nwant\n%s", n, all[n], strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestFails lets calls of one kind fail: the program gets the error.
func TestFails(t *testing.T) {
	for _, op := range []Op{Create, Write, Truncate, Sync, SyncFolder, Rename, Remove, Mkdir} {
		p := start(t, func(_ int, c Call) syscall.Errno {
			if c.Op == op {
				return syscall.EIO
			}
			return 0
		})
		mustRun(t, p)
		if out := p.Cmd.Stdout.(*bytes.Buffer).String(); !strings.Contains(out, "input/output error") {
			t.Errorf("%s: the program says %q", op, out)
		}
	}
}

// TestFailedFlush: what a flush that failed was to write is lost, also after one that did not.
func TestFailedFlush(t *testing.T) {
	d := NewDisk()
	for _, c := range []Call{
		{Op: Create, Path: "a"}, {Op: SyncFolder}, {Op: Write, Path: "a", Data: []byte("lost")}, {Op: Sync, Path: "a", Failed: true},
		{Op: Write, Path: "a", Data: []byte("flushed"), Offset: 4}, {Op: Sync, Path: "a"},
	} {
		d.Apply(c)
	}
	for l, want := range map[Loss]string{LoseNothing: `a "lostflushed"`, LoseAll: `a "\x00\x00\x00\x00flushed"`} {
		to := t.TempDir()
		if err := d.Cut(to, l, nil); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, to); len(got) != 2 || got[1] != want {
			t.Errorf("%s: %q, want %q", l, got, want)
		}
	}
}

// TestLosses: what was flushed survives every loss.
func TestLosses(t *testing.T) {
	d := NewDisk()
	for _, c := range []Call{
		{Op: Create, Path: "a"}, {Op: Write, Path: "a", Data: []byte("flushed")}, {Op: Sync, Path: "a"}, {Op: SyncFolder},
		{Op: Write, Path: "a", Data: bytes.Repeat([]byte("x"), 2000), Offset: 7},
		{Op: Create, Path: "b"}, {Op: Write, Path: "b", Data: []byte("lost")},
	} {
		d.Apply(c)
	}
	want := map[Loss][]string{
		LoseAll:     {".", `a "flushed"`},
		LoseContent: {".", `a "flushed` + strings.Repeat(`\x00`, 2000) + `"`, `b "\x00\x00\x00\x00"`},
	}
	seen := map[string]bool{}
	for seed := range 50 {
		for _, l := range Losses() {
			to := t.TempDir()
			if err := d.Cut(to, l, rand.New(rand.NewPCG(uint64(seed), 0))); err != nil {
				t.Fatal(err)
			}
			got := contents(t, to)
			if want[l] != nil && !slices.Equal(got, want[l]) {
				t.Errorf("%s: %s, want %s", l, got, want[l])
			}
			if len(got) < 2 || !strings.HasPrefix(got[1], `a "flushed`) {
				t.Errorf("%s: %s", l, got)
			}
			seen[fmt.Sprint(got)] = true
		}
	}
	if len(seen) < 8 {
		t.Errorf("%d different states in 50 power cuts", len(seen))
	}
}
