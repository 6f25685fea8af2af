package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/searchd/api"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/search"
)

// spoilFolder overwrites part of a text in the store of a folder, wherever it stands.
func spoilFolder(t *testing.T, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, "searchd.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(text)) {
		t.Fatalf("%s does not hold %q", path, text)
	}
	b = bytes.ReplaceAll(b, []byte(text), bytes.Repeat([]byte("#"), len(text)))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackupOfDamage takes backups of a folder with a damaged value: they fail, are kept by another
// name, and can be restored.
func TestBackupOfDamage(t *testing.T) {
	data := filledFolder(t)
	dir := t.TempDir()
	sound, file := filepath.Join(dir, "sound"), filepath.Join(dir, "backup")
	mustCommand(t, "backup", "--data", data, sound)
	mustCommand(t, "backup", "--verify", sound)
	spoilFolder(t, data, "kitten sleeps")
	const named = `collection "docs": document "cat": fields: `

	backup := func(args ...string) {
		t.Helper()
		out, err := runCommand(t, append([]string{"backup"}, args...)...)
		if !errors.Is(err, command.ErrSome) || !strings.Contains(out, named) {
			t.Fatalf("backup %q: %v, %q; want exit code 1 and %s", args, err, out, named)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Fatalf("backup %q: the damaged backup has the name of a good one", args)
		}
	}
	backup("--data", data, file)
	if out, err := runCommand(t, "backup", "--verify", file+".damaged"); !errors.Is(err, command.ErrSome) || !strings.Contains(out, named) {
		t.Errorf("backup --verify: %v, %q", err, out)
	}

	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := api.New(api.Options{Engine: e, Inference: e.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	backup("--server", server.URL, file)
	if list, err := e.Snapshots(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("snapshots left on the server: %v, %v", list, err)
	}
	for range 2 { // of those with damage the newest is kept
		task, err := e.CreateSnapshot(t.Context())
		for ; err == nil && !task.Ended(); time.Sleep(time.Millisecond) {
			task, err = e.Task(t.Context(), task.ID)
		}
		if err != nil || task.State != search.TaskFailed || !strings.Contains(task.Error, named) {
			t.Errorf("task of a snapshot with damage: %+v, %v", task, err)
		}
		if list, err := e.Snapshots(t.Context()); err != nil || len(list) != 1 || list[0].ID != task.ID || !list[0].Damaged {
			t.Errorf("snapshots: %+v, %v; want %s, damaged", list, err, task.ID)
		}
	}
	server.Close()
	e.Close()

	for _, damaged := range []string{file + ".damaged", file + ".damaged.2"} {
		to := filepath.Join(t.TempDir(), "data")
		if _, err := runCommand(t, "restore", damaged, "--data", to); err == nil {
			t.Errorf("restore took %s", damaged)
		}
		if out, err := runCommand(t, "restore", damaged, "--damaged", "--data", to); !errors.Is(err, command.ErrSome) || !strings.Contains(out, named) {
			t.Errorf("restore --damaged: %v, %q", err, out)
		}
		if got := collectionsOf(t, to)["docs"]; got.DamagedDocuments != 1 {
			t.Errorf("the restored collection: %+v, want a damaged document", got)
		}
		if out, err := runCommand(t, "check", "--data", to, "--repair"); !errors.Is(err, command.ErrSome) || !strings.Contains(out, named) || strings.Contains(out, "anew") {
			t.Errorf("check --repair: %v, %q", err, out)
		}
		out, err := runCommand(t, "check", "--data", to, "--repair", "--drop-damaged")
		if err != nil || !strings.Contains(out, `deleted: collection "docs": document "cat"`) || !strings.Contains(out, "\n0 differences") {
			t.Errorf("check --repair --drop-damaged: %v, %q", err, out)
		}
		if got := collectionsOf(t, to)["docs"]; got.Documents != 1 || got.Damaged != "" {
			t.Errorf("the repaired collection: %+v", got)
		}
	}
}

// TestLastCommitDamaged damages the page that names the last commit: nothing opens until check
// gives it up.
func TestLastCommitDamaged(t *testing.T) {
	data := filledFolder(t)
	path := filepath.Join(data, "searchd.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newest := 16 // bbolt's page header; the size of a page is at byte 8 of a head, the transaction at byte 48
	if next := int(binary.NativeEndian.Uint32(b[newest+8:])) + 16; binary.NativeEndian.Uint64(b[next+48:]) > binary.NativeEndian.Uint64(b[newest+48:]) {
		newest = next
	}
	b[newest+16] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"check", "--repair"}, {"query", "kitten"}} {
		if _, err := runCommand(t, append(args, "--data", data)...); err == nil || !strings.Contains(err.Error(), "searchd check --repair --drop-damaged") {
			t.Errorf("%s: %v, want how to go on", args, err)
		}
	}
	out, err := runCommand(t, "check", "--data", data, "--repair", "--drop-damaged")
	if err != nil || !strings.Contains(out, "the last commit was damaged and was rolled back") || !strings.HasSuffix(out, "\n0 differences") {
		t.Errorf("check --repair --drop-damaged: %v, %q", err, out)
	}
	if out := mustCommand(t, "check", "--data", data, "--deep"); out != "0 differences" {
		t.Errorf("check --deep: %q", out)
	}
}

// TestDamagedCollection runs commands on a folder of which one collection cannot be opened: the
// other is searched, and the log and the gauges tell.
func TestDamagedCollection(t *testing.T) {
	data := filledFolder(t)
	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "other", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "other", []search.Document{{ID: "dog", Fields: []byte(`{"text":"a puppy barks"}`)}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	spoilFolder(t, data, "\x03\x00cat\x01\x00\x00\x00\x04\x00text") // of its record: id, number of fields with passages, the first

	if out, err := runCommand(t, "query", "--data", data, "--collection", "other", "puppy"); err != nil || !strings.Contains(out, "dog") {
		t.Errorf("query of the other collection: %v, %q", err, out)
	}
	if _, err := runCommand(t, "query", "--data", data, "--collection", "docs", "kitten"); err == nil || !strings.Contains(err.Error(), `"docs" cannot be opened: document "cat", record: `) {
		t.Errorf("query of the damaged collection: %v", err)
	}
	if out, err := runCommand(t, "check", "--data", data, "--deep"); !errors.Is(err, command.ErrSome) || !strings.Contains(out, `collection "docs": document "cat": record: `) {
		t.Errorf("check --deep: %v, %q", err, out)
	}

	if e, err = search.Open(data, search.Options{}); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var log bytes.Buffer
	logDamaged(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), e)
	if strings.Count(log.String(), "level=ERROR") != 1 || !strings.Contains(log.String(), "collection=docs") {
		t.Errorf("log: %s", log.String())
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Damaged != 1 || len(s.Collections) != 1 {
		t.Errorf("Stats: %+v, %v", s, err)
	}
	if _, err := e.SetAlias(t.Context(), "docs", "other"); !errors.Is(err, search.ErrCollectionExists) {
		t.Errorf("an alias of the damaged collection's name: %v", err)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if list, err := e.Collections(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("Collections: %v, %v", list, err)
	}
}
