package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// TestLostStore takes the store out of a folder: nothing is made in its place and nothing else is
// touched, until a backup is restored.
func TestLostStore(t *testing.T) {
	l := newLibrary(t, "", 20)
	var told []string
	o := Options{Notice: func(text string) { told = append(told, text) }}
	b, err := Open(l.dir, o)
	must(t, err)
	var backup bytes.Buffer
	if _, err := b.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	must(t, errors.Join(b.Close(), os.Remove(filepath.Join(l.dir, "searchd.db")), os.Mkdir(filepath.Join(l.dir, "ingest"), 0o755)))
	before := files(t, l.dir)
	for name, open := range map[string]func() error{
		"Open":      func() error { _, err := Open(l.dir, o); return err },
		"OpenVault": func() error { _, err := OpenVault(l.dir, false); return err },
	} {
		err := open()
		if !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "indexes, ingest") || !strings.Contains(err.Error(), "restore a backup") {
			t.Errorf("%s: %v, want %v that names what is there and the way out", name, err, store.ErrLost)
		}
		if after := files(t, l.dir); !slices.Equal(after, before) {
			t.Errorf("%s left %q of %q", name, after, before)
		}
	}
	must(t, Restore(t.Context(), &backup, l.dir, nil))
	b, err = Open(l.dir, o)
	must(t, err)
	if c, err := on(b).Collection(t.Context(), "docs"); err != nil || c.Documents != 20 {
		t.Errorf("restored: %+v, %v", c, err)
	}
	must(t, b.Close())
	isNew := func(text string) bool { return strings.HasPrefix(text, "new data folder") }
	if slices.ContainsFunc(told, isNew) {
		t.Errorf("told %q of a folder that was there", told)
	}
	b, err = Open(filepath.Join(t.TempDir(), "new"), o)
	must(t, err)
	if err := b.Close(); err != nil || !slices.ContainsFunc(told, isNew) {
		t.Errorf("told %q, %v, want that the folder is new", told, err)
	}
}

// files lists a folder with what is in it.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRestoredNotices opens a folder that was restored: the indexes, which are not there, are made
// anew, and none is called unusable. A copy that was set aside earlier stays.
func TestRestoredNotices(t *testing.T) {
	l := newLibrary(t, "", 20)
	b, err := Open(l.dir, Options{})
	must(t, err)
	var backup bytes.Buffer
	if _, err := b.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	must(t, b.Close())
	dir := t.TempDir()
	must(t, Restore(t.Context(), &backup, dir, nil))
	kept := filepath.Join(dir, indexFolder, "00000001", keywordFolder+quarantineMark+"20200101T000000")
	must(t, os.MkdirAll(kept, 0o755))
	var told []string
	b, err = Open(dir, Options{Notice: func(text string) { told = append(told, text) }})
	must(t, err)
	if problems, err := on(b).Problems(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
	must(t, b.Close())
	if len(told) != 2 || !strings.Contains(told[0], "vector index is rebuilt from the store") || !strings.Contains(told[1], "keyword index is rebuilt from the store") {
		t.Errorf("told %q, want that the two indexes are rebuilt", told)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the copy: %v", err)
	}
}

// TestOneCopySetAside sets indexes aside in a folder whose name has signs of patterns: of what was
// set aside before nothing is kept.
func TestOneCopySetAside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of [a")
	b, err := Open(dir, Options{})
	if err == nil {
		err = errors.Join(on(b).Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}), b.Close())
	}
	graph := filepath.Join(dir, indexFolder, "00000001", graphFile)
	oldGraph, oldIndexes := graph+quarantineMark+"20200101T000000", filepath.Join(dir, indexFolder+quarantineMark+"20200101T000000")
	err = errors.Join(err, os.WriteFile(graph, []byte("no graph"), 0o600), os.Mkdir(oldGraph, 0o700), os.Mkdir(oldIndexes, 0o700))
	must(t, err)
	if b, err = Open(dir, Options{}); err == nil {
		err = b.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(oldGraph); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", oldGraph, err)
	}
	if to, err := QuarantineIndexes(dir); err != nil || to == "" {
		t.Errorf("QuarantineIndexes = %q, %v", to, err)
	}
	if _, err := os.Stat(oldIndexes); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", oldIndexes, err)
	}
}
