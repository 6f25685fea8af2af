package ingest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneFileForBothPrograms: a config file may have settings of searchd.
func TestOneFileForBothPrograms(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "settings")
	write(t, filepath.Join(dir, "a.txt"), "text")
	for text, want := range map[string]string{"max-conns = 7\nrate-limit = 5\nworkers = 2\n": "", "wrokers = 2\n": `unknown setting "wrokers"`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := Program()
		cmd.SetArgs([]string{"--config", file, "--data", filepath.Join(dir, "data"), "--dry-run", filepath.Join(dir, "a.txt")})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestEncodingName: a wrong name is told, with names that are right, before a data folder is made.
func TestEncodingName(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "text")
	cmd := Program()
	cmd.SetArgs([]string{"--encoding", "cp-1251", "--data", filepath.Join(dir, "data"), filepath.Join(dir, "a.txt")})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), `--encoding: extract: unknown encoding "cp-1251"; allowed are`) || !absent(filepath.Join(dir, "data")) {
		t.Errorf("%v, want an error with names that are allowed", err)
	}
}

// TestOpeningIsInterrupted: a folder whose indexes are to be filled is not waited for by who has
// interrupted it.
func TestOpeningIsInterrupted(t *testing.T) {
	data, text := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "a.txt")
	write(t, text, "text")
	ingest := func(ctx context.Context) error {
		cmd := Program()
		cmd.SetArgs([]string{"--data", data, text})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		return cmd.ExecuteContext(ctx)
	}
	if err := ingest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(data, "indexes")); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := ingest(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was interrupted", err)
	}
	if left, err := filepath.Glob(filepath.Join(data, "indexes", "*", "keyword")); err != nil || len(left) > 0 {
		t.Errorf("the index was filled: %s, %v", left, err)
	}
	if err := ingest(t.Context()); err != nil {
		t.Error(err)
	}
}
