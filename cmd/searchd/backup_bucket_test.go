package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/api"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/internal/objectstore/s3test"
	"example.com/searchd/search"
)

func storage(t *testing.T) *s3test.Server {
	t.Helper()
	s := s3test.New()
	t.Cleanup(s.Close)
	for k, v := range s.Environment() {
		t.Setenv(k, v)
	}
	return s
}

// TestBackupInABucket backs up a folder and a server to a bucket, lists, verifies and restores.
func TestBackupInABucket(t *testing.T) {
	s, data := storage(t), filledFolder(t)
	at := "s3://" + s3test.Bucket + "/p/"
	mustCommand(t, "backup", "--data", data, at+"a.backup")
	if _, err := runCommand(t, "backup", "--data", data, at+"a.backup"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("over an object: %v", err)
	}
	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	url, key := adminOf(t, e, func(next http.Handler) http.Handler { return next })
	mustCommand(t, "backup", "--server", url, "--key", key, at)
	if list, err := e.Snapshots(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("snapshots left on the server: %v, %v", list, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if out := mustCommand(t, "backup", "--list", at); !strings.Contains(out, "a.backup") || strings.Count(out, "\n") != 2 {
		t.Errorf("list: %s", out)
	}
	if out := mustCommand(t, "backup", "--list", "--json", at); !strings.Contains(out, `"name":"a.backup"`) {
		t.Errorf("list --json: %s", out)
	}
	for _, from := range []string{at, at + "a.backup"} {
		copied := filepath.Join(t.TempDir(), "copied")
		mustCommand(t, "restore", from, "--data", copied)
		if got := collectionsOf(t, copied)["docs"]; got.Documents != 2 {
			t.Errorf("restored from %s: %+v", from, got)
		}
	}
	mustCommand(t, "backup", "--verify", at+"a.backup")
	whole := s.Object("p/a.backup")
	for name, body := range map[string][]byte{"cut": whole[:len(whole)-100], "flipped": append([]byte{whole[0] ^ 1}, whole[1:]...), "other": []byte("<html>"), "empty": {}} {
		s.Set("p/b.backup", body)
		if _, err := runCommand(t, "backup", "--verify", at+"b.backup"); err == nil {
			t.Errorf("%s: verified", name)
		}
		copied := filepath.Join(t.TempDir(), "copied")
		if _, err := runCommand(t, "restore", at+"b.backup", "--data", copied); err == nil || !strings.Contains(err.Error(), "not a whole backup") {
			t.Errorf("%s: restored: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(copied, "searchd.db*")); len(left) > 0 {
			t.Errorf("%s: %q is left", name, left)
		}
	}
	for _, args := range [][]string{{"backup", "--data", data, "https://host/x"}, {"restore", "gs://bucket/x", "--data", t.TempDir()}, {"backup", "--list", "ftp://host"}} {
		if _, err := runCommand(t, args...); err == nil || !strings.Contains(err.Error(), "allowed: s3://BUCKET/KEY, or a path") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := runCommand(t, "restore", at+"none", "--data", t.TempDir()); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("no object: %v", err)
	}
}

// TestDamageInABucket: a backup of a damaged folder does not get the name of a good one, and a
// schedule reports it.
func TestDamageInABucket(t *testing.T) {
	s, data := storage(t), filledFolder(t)
	spoilFolder(t, data, "kitten sleeps")
	const named = `collection "docs": document "cat": fields: `
	to := "s3://" + s3test.Bucket + "/bad.backup"
	out, err := runCommand(t, "backup", "--data", data, to)
	if !errors.Is(err, command.ErrSome) || !strings.Contains(out, named) {
		t.Errorf("backup: %v, %q; want exit code 1 and %s", err, out, named)
	}
	if keys := s.Objects(); !slices.Equal(keys, []string{"bad.backup.damaged"}) {
		t.Errorf("objects: %q", keys)
	}
	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	source, err := search.BackupsOf(e)
	if err != nil {
		t.Fatal(err)
	}
	if damage, err := source.Damage(t.Context()); err != nil || len(damage) != 1 || !strings.Contains(damage[0], named) {
		t.Errorf("damage %q, %v", damage, err)
	}
}

// TestScheduledBackups of a server: metrics and a warning after a failure, without its cause; the
// log never has the secret key.
func TestScheduledBackups(t *testing.T) {
	s := storage(t)
	e, err := search.Open(filledFolder(t), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, tt := range map[string]struct {
		to         string
		want, warn string
	}{
		"a bucket":   {"s3://" + s3test.Bucket + "/q", "backup written and verified", ""},
		"a folder":   {filepath.Join(t.TempDir(), "new"), "backup written and verified", ""},
		"no bucket":  {"s3://another-bucket/q", "does not exist", "the last scheduled backup has failed; there is none yet"},
		"no folders": {filepath.Join(t.TempDir(), "no", "folder"), "the backup failed", "the last scheduled backup has failed; there is none yet"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			reported := make(chan struct{})
			cmd := newServeCommand()
			f := backupFlags{to: tt.to, every: time.Hour, keep: 2}
			if err := f.check(cmd, ""); err != nil {
				t.Fatal(err)
			}
			o := api.Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&log, signal(reported)), nil))}
			end, err := f.start(t.Context(), e, &o)
			if err != nil {
				t.Fatal(err)
			}
			<-reported
			end()
			if got := o.Warning(); got != tt.warn {
				t.Errorf("warning %q, want %q", got, tt.warn)
			}
			if !strings.Contains(log.String(), tt.want) || strings.Contains(log.String(), s3test.SecretKey) {
				t.Errorf("log: %s", &log)
			}
		})
	}
	if keys := s.Objects(); len(keys) != 1 || !strings.HasPrefix(keys[0], "q/searchd-") {
		t.Errorf("objects: %q", keys)
	}
}

// signal is closed by the first line of a log.
type signal chan struct{}

func (s signal) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("backup ")) && !bytes.Contains(p, []byte("level=WARN")) {
		close(s)
	}
	return len(p), nil
}

// TestBackupFlags that are not allowed are refused before the data folder is opened.
func TestBackupFlags(t *testing.T) {
	storage(t)
	for args, want := range map[string]string{
		"--backup-keep=2":                  "--backup-keep: name the place",
		"--backup-every=1h":                "--backup-every: name the place",
		"--backup-to=x --backup-every=1s":  "--backup-every: got 1s, allowed: at least 1m",
		"--backup-to=x --backup-keep=0":    "--backup-keep: got 0, allowed: 1 to 10000",
		"--backup-to=s3://B/x":             "--backup-to: ",
		"--backup-to=ftp://me:secret@host": `"ftp://xxxxx@host"`,
		"--backup-to=x --cluster=c":        "--backup-to: a cluster",
	} {
		data := filepath.Join(t.TempDir(), "data")
		_, err := runCommand(t, append([]string{"serve", "--data", data, "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
