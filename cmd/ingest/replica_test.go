package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"searchd/search"
)

// TestReplicaFolder: the folder of a replica is refused, also where its primary has the same documents, and no journal is left in it.
func TestReplicaFolder(t *testing.T) {
	ctx := t.Context()
	dir, replica, notes := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "a.md")
	write(t, notes, "# Beans\n\nSow them after the last frost.\n")
	f := flags{collection: "docs", language: "en", onError: "skip", workers: 1, data: dir}
	if err := run(ctx, f, []string{notes}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if _, err := e.Copy(ctx, "b", &backup); err != nil {
		t.Fatal(err)
	}
	m := search.Marker{Primary: e.StoreID(), URL: "http://primary:8080", Name: "b"}
	if _, _, err := search.FetchCopy(ctx, &backup, replica, m, func(text string) { t.Error(text) }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(search.InstallCopy(replica), e.Close()); err != nil {
		t.Fatal(err)
	}
	f.data = replica
	if err := run(ctx, f, []string{notes}, nil, io.Discard, io.Discard); !errors.Is(err, search.ErrReplica) || !strings.Contains(err.Error(), m.URL) {
		t.Errorf("run = %v, want ErrReplica with the primary's URL", err)
	}
	if _, err := os.Lstat(filepath.Join(replica, "ingest")); !os.IsNotExist(err) {
		t.Errorf("the journal's folder: %v, want none", err)
	}
}
