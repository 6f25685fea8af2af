package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/internal/interpose"
	"example.com/searchd/search"
)

// migrating makes the child migrate a folder instead of going through the workload.
const migrating = "RELIABILITY_MIGRATE"

// unpack writes an archive of testdata to a folder.
func unpack(t *testing.T, name, to string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err == nil && h.FileInfo().IsDir() {
			err = os.MkdirAll(filepath.Join(to, h.Name), 0o700)
		} else if err == nil {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(filepath.Join(to, h.Name), b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// migrate opens an old folder, re-embeds its collection where another model has made its vectors,
// and writes a document, which raises the format of the store. It returns what is wrong with what
// it finds.
func migrate(ctx context.Context, dir string) (err error) {
	s := &session{}
	if s.engine, err = search.Open(dir, search.Options{Alarm: func(text string) { s.alarms = append(s.alarms, text) }, Notice: func(string) {}}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.engine.Close()) }()
	if err := s.tasksEnd(ctx); err != nil {
		return err
	}
	have, err := s.documents(ctx, "docs")
	if err != nil {
		return err
	}
	for id, want := range map[string]string{"a1": "bubbles open", "a2": "rises overnight", "a3": "meadow in April"} {
		if !strings.Contains(have[id], want) {
			return fmt.Errorf("document %s is %q, want %q in it", id, have[id], want)
		}
	}
	if delete(have, "new"); len(have) != 3 {
		return fmt.Errorf("documents %v, want three", have)
	}
	if _, err := s.engine.Search(ctx, "docs", search.Query{Q: "April", Mode: search.Semantic}); errors.Is(err, search.ErrModelMismatch) {
		t, err := s.engine.Reembed(ctx, "docs", search.ReembedOptions{})
		if err := s.ended(ctx, t, err); err != nil {
			return err
		}
	}
	doc := search.Document{ID: "new", Fields: json.RawMessage(`{"text":"# A title\n\nA paragraph with structure."}`)}
	if results, err := s.engine.Ingest(ctx, "docs", []search.Document{doc}); err != nil || results[0].Err != nil {
		return fmt.Errorf("writing: %v, %w", results, err)
	}
	for _, q := range []search.Query{{Q: "April"}, {Q: "April", Mode: search.Keyword}, {Q: "flood in spring", Mode: search.Semantic}} {
		if r, err := s.engine.Search(ctx, "docs", q); err != nil || len(r.Hits) == 0 || r.Hits[0].ID != "a3" {
			return fmt.Errorf("searching %+v: %v, %w", q, r, err)
		}
	}
	if problems, err := s.engine.Check(ctx, true); err != nil || len(problems) > 0 {
		return fmt.Errorf("check --deep: %v, %w", problems, err)
	}
	return nil
}

// TestOldFolders opens data folders of the first version, of the last with format 1 and of the
// first with format 2, migrates them, and crashes and cuts the power between the calls of that.
// RELIABILITY_OLD sets the number of crashes of each.
func TestOldFolders(t *testing.T) {
	seed, crashes := seedOf(), int(number("RELIABILITY_OLD", 3))
	r := rand.New(rand.NewPCG(seed, 4))
	for _, name := range []string{"first", "format1", "format2"} {
		old := memory(t)
		unpack(t, name+".tar.gz", old)
		root := memory(t)
		unpack(t, name+".tar.gz", root)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), child+"="+root, migrating+"=1")
		cmd.Stderr = os.Stderr
		calls, err := (&interpose.Program{Cmd: cmd, Root: root}).Run()
		if errors.Is(err, interpose.ErrUnsupported) && os.Getenv("INTERPOSE_REQUIRE") == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := interpose.DiskOf(old)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for i := range crashes {
			for ; at < (i+1)*len(calls)/crashes-r.IntN(max(1, len(calls)/crashes)); at++ {
				d.Apply(calls[at])
			}
			to := memory(t)
			loss := []interpose.Loss{interpose.LoseNothing, interpose.LoseSome, interpose.LoseAll}[i%3]
			if err := d.Cut(to, loss, r); err != nil {
				t.Fatal(err)
			}
			if err := migrate(t.Context(), to); err != nil {
				t.Errorf("%s, %s after call %d of %d of its migration (seed %d): %v", name, loss, at, len(calls), seed, err)
			}
			os.RemoveAll(to)
		}
		t.Logf("%s: %d crashes in %d calls of its migration, seed %d", name, crashes, len(calls), seed)
	}
}
