package keyword

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"example.com/searchd/index/keyword/analysis"
)

// buildIndex returns a closed index of 300 documents in one segment file: of several, a merge may
// have made some obsolete.
func buildIndex(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, Options{Identity: "store 1"})
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for no := range uint32(300) {
		entries = append(entries, Entry{No: no, Text: []Field{{"body", fmt.Sprintf("document number %d of many", no)}}})
	}
	apply(t, x, 2, entries...)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files returns what is in dir, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		content[e.Name()] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func copyIndex(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// quiet keeps bleve's own messages about damage out of the output.
func quiet(t *testing.T) {
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

// openWithin is Open with a limit, for damage that makes it hang.
func openWithin(t *testing.T, dir string, o Options) (*Index, error) {
	t.Helper()
	type result struct {
		x   *Index
		err error
	}
	done := make(chan result, 1)
	go func() {
		x, err := Open(dir, o)
		done <- result{x, err}
	}()
	select {
	case r := <-done:
		return r.x, r.err
	case <-time.After(10 * time.Second):
		t.Fatalf("Open(%s) hangs", dir)
		return nil, nil
	}
}

func TestDamagedFolder(t *testing.T) {
	quiet(t)
	good := buildIndex(t)
	segments, _ := filepath.Glob(filepath.Join(good, "*.zap"))
	if len(segments) != 1 {
		t.Fatalf("%d segment files, want 1", len(segments))
	}
	zap := filepath.Base(segments[0])
	edit := func(name string, f func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, f(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		damage func(*testing.T, string)
	}{
		{"root.bolt missing", remove("root.bolt")},
		{"root.bolt empty", edit("root.bolt", func([]byte) []byte { return nil })},
		{"root.bolt half", edit("root.bolt", func(b []byte) []byte { return b[:len(b)/2] })},
		{"root.bolt zeros", edit("root.bolt", func(b []byte) []byte { clear(b); return b })},
		{"root.bolt without data pages", edit("root.bolt", func(b []byte) []byte { clear(b[2*4096:]); return b })},
		{"root.bolt of another program", edit("root.bolt", func([]byte) []byte { return []byte(strings.Repeat("text ", 10000)) })},
		{"segment missing", remove(zap)},
		{"segment empty", edit(zap, func([]byte) []byte { return nil })},
		{"segment half", edit(zap, func(b []byte) []byte { return b[:len(b)/2] })},
		{"segment flipped bit", edit(zap, func(b []byte) []byte { b[len(b)/3] ^= 4; return b })},
		{"segment flipped checksum", edit(zap, func(b []byte) []byte { b[len(b)-1] ^= 4; return b })},
		{"segment longer", edit(zap, func(b []byte) []byte { return append(b, 0) })},
		{"settings deleted", deleteSettings},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := copyIndex(t, good)
			tt.damage(t, dir)
			before := files(t, dir)
			x, err := openWithin(t, dir, Options{Identity: "store 1"})
			if err == nil {
				x.Close()
			}
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("Open = %v, want ErrDamaged", err)
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("error does not name the folder: %v", err)
			}
			after := files(t, dir)
			for name, b := range before {
				if after[name] != b {
					t.Errorf("Open changed %s of a damaged index", name)
				}
			}
		})
	}
	// The copies were damaged by what was done to them, not by copying.
	x, err := Open(copyIndex(t, good), Options{Identity: "store 1"})
	if err != nil {
		t.Fatalf("Open of an undamaged copy: %v", err)
	}
	defer x.Close()
	if n, err := x.Count(); n != 300 || err != nil || x.Seq() != 2 {
		t.Errorf("Count = %d, %v, Seq = %d, want 300, 2", n, err, x.Seq())
	}
}

// deleteSettings removes what says how the index was built, as bleve's mapping would be.
func deleteSettings(t *testing.T, dir string) {
	changeInternal(t, dir, func(b *index.Batch) { b.DeleteInternal(keySettings) })
}

// changeInternal changes the values beside the documents of a closed index.
func changeInternal(t *testing.T, dir string, change func(*index.Batch)) {
	t.Helper()
	queue := index.NewAnalysisQueue(1)
	defer queue.Close()
	s, err := newScorch(dir, queue, false)
	if err == nil {
		err = s.Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	b := index.NewBatch()
	change(b)
	written := make(chan struct{})
	b.SetPersistedCallback(func(error) { close(written) })
	if err := s.Batch(b); err != nil {
		t.Fatal(err)
	}
	<-written
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTruncatedRoot cuts root.bolt at many lengths: bbolt's reaction ranges from a panic to SIGBUS.
func TestTruncatedRoot(t *testing.T) {
	quiet(t)
	good := buildIndex(t)
	root, err := os.ReadFile(filepath.Join(good, "root.bolt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := copyIndex(t, good)
	opened := 0
	for i := range 40 {
		n := len(root) * i / 40
		if err := os.WriteFile(filepath.Join(dir, "root.bolt"), root[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := openWithin(t, dir, Options{Identity: "store 1"})
		if err == nil { // only free pages are gone
			opened++
			if n, err := x.Count(); n != 300 || err != nil {
				t.Errorf("at %d bytes: Count = %d, %v", n, n, err)
			}
			x.Close()
			dir = copyIndex(t, good)
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("at %d bytes: Open = %v, want ErrDamaged", n, err)
		}
	}
	if opened > 20 {
		t.Errorf("%d of 40 truncations were not noticed", opened)
	}
}

// TestFlippedBits damages root.bolt, whose data pages carry no checksum: Open refuses, or the index
// works.
func TestFlippedBits(t *testing.T) {
	quiet(t)
	good := buildIndex(t)
	root, err := os.ReadFile(filepath.Join(good, "root.bolt"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 8))
	refused := 0
	for range 30 {
		dir := copyIndex(t, good)
		b := slices.Clone(root)
		at := r.IntN(len(b))
		b[at] ^= 1 << r.IntN(8)
		if err := os.WriteFile(filepath.Join(dir, "root.bolt"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := openWithin(t, dir, Options{Identity: "store 1"})
		if err != nil {
			refused++
			continue
		}
		_, total, err := x.Search(context.Background(), Query{Text: "document"}, 10, nil)
		if err == nil && total > 300 {
			t.Errorf("bit at %d: %d hits", at, total)
		}
		_ = x.Apply(context.Background(), []Entry{{No: 1, Text: []Field{{"body", "document"}}}}, 1<<63)
		x.Close()
	}
	t.Logf("refused %d of 30", refused)
}

// TestOpenRefusesOlderAnalysis: its terms of numbers are others.
func TestOpenRefusesOlderAnalysis(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	batch := index.NewBatch()
	batch.SetInternal(keySettings, []byte(`{"analysis":1,"language":"en","identity":""}`))
	if err := errors.Join(x.index(t.Context(), batch), x.Sync(t.Context()), x.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrMismatch) {
		t.Errorf("Open = %v, want ErrMismatch", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := buildIndex(t)
	if _, err := Open(dir, Options{Identity: "store 2"}); !errors.Is(err, ErrMismatch) {
		t.Errorf("Open with another identity = %v, want ErrMismatch", err)
	}
	if _, err := Open(dir, Options{Identity: "store 1", Language: "de"}); !errors.Is(err, ErrMismatch) {
		t.Errorf("Open with another language = %v, want ErrMismatch", err)
	}
	_, err := Open(dir, Options{Language: "klingon", BM25: BM25{K1: -1, B: 2}})
	for _, want := range []string{"klingon", "K1 is -1", "B is 2"} {
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open with bad options = %v, want ErrOptions with %q", err, want)
		}
	}
	if _, err := Open("", Options{SkipVerify: true}); !errors.Is(err, ErrOptions) {
		t.Errorf("Open without a folder = %v, want ErrOptions", err)
	}
	x, err := Open(dir, Options{Identity: "store 1"})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := openWithin(t, dir, Options{Identity: "store 1"}); !errors.Is(err, ErrLocked) {
		t.Errorf("second Open = %v, want ErrLocked", err)
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(os.DevNull, Options{}); err == nil {
		t.Error("Open of a file: no error")
	}
}

// TestOldAnalysis: an index whose texts were analysed otherwise is refused.
func TestOldAnalysis(t *testing.T) {
	for _, language := range analysis.Languages() {
		dir := t.TempDir()
		x, err := Open(dir, Options{Language: language})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		old := fmt.Sprintf(`{"analysis":2,"language":%q,"identity":""}`, language)
		changeInternal(t, dir, func(b *index.Batch) { b.SetInternal(keySettings, []byte(old)) })
		x, err = Open(dir, Options{Language: language})
		if err == nil {
			err = x.Close()
		}
		if refused := errors.Is(err, ErrMismatch); !refused || err != nil && !refused {
			t.Errorf("%s: Open of version 2 = %v", language, err)
		}
	}
}

// TestBrokenDisk takes the folder away, so that the writer fails as on a full disk.
func TestBrokenDisk(t *testing.T) {
	quiet(t)
	dir := buildIndex(t)
	x, err := Open(dir, Options{Identity: "store 1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	more := Entry{No: 1000, Text: []Field{{"body", "document"}}}
	err = x.Apply(ctx, []Entry{more}, 3)
	if err == nil {
		err = x.Sync(ctx)
	}
	if !errors.Is(err, ErrBroken) {
		t.Fatalf("Apply and Sync = %v, want ErrBroken", err)
	}
	if err := x.Apply(ctx, []Entry{more}, 4); !errors.Is(err, ErrBroken) {
		t.Errorf("next Apply = %v, want ErrBroken", err)
	}
	for closing := false; !closing && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		x.breaker.mu.Lock()
		closing = x.breaker.mu.closed
		x.breaker.mu.Unlock()
	}
	x.breaker.closeOnce.Do(func() { t.Error("the failing writer was not closed") })
	if _, total, err := x.Search(ctx, Query{Text: "document"}, 1, nil); err != nil || total < 300 {
		t.Errorf("Search of a broken index = %d, %v, want 300 or more", total, err)
	}
	if err := x.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if _, _, err := x.Search(ctx, Query{Text: "document"}, 1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Search after Close = %v, want ErrClosed", err)
	}
	if err := x.Apply(ctx, []Entry{more}, 4); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply after Close = %v, want ErrClosed", err)
	}
	if err := x.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
}

// TestTruncatedWhileOpen cuts the mapped file of an open index: an error, not the end of the
// process. There is one segment, because bleve's merger, which reads several, has no such
// protection.
func TestTruncatedWhileOpen(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", "document"}}})
	if err := x.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	segments, _ := filepath.Glob(filepath.Join(x.dir, "*.zap"))
	if len(segments) != 1 {
		t.Fatalf("%d segments, want 1", len(segments))
	}
	if err := os.Truncate(segments[0], 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Search(context.Background(), Query{Text: "document"}, 1, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("Search = %v, want ErrDamaged", err)
	}
}

// TestCleanupErrorsDoNotBreak: a file that cannot be removed is no reason to stop.
func TestCleanupErrorsDoNotBreak(t *testing.T) {
	x := openTemp(t, Options{})
	onAsyncError(scorch.NewScorchError("persister", "cannot remove", scorch.ErrCleanup), x.dir)
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", "still works"}}})
	onAsyncError(scorch.NewScorchError("merger", "no space left on device", scorch.ErrPersist), x.dir)
	if err := x.Apply(context.Background(), nil, 2); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("Apply after a failed merge = %v, want ErrBroken with its cause", err)
	}
}
