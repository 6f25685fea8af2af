package ingest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/models"
	"example.com/searchd/search"
)

func TestLanguage(t *testing.T) {
	notes := t.TempDir()
	write(t, notes+"/hefe.md", "# Hefe\n\n"+strings.Repeat("Die Hefe muss vor dem Backen eine Stunde an einem warmen Ort stehen, damit der Teig aufgeht, und sie ist nicht zu salzen. ", 5))
	write(t, notes+"/leer.md", "")
	english := t.TempDir()
	write(t, english+"/yeast.md", strings.Repeat("The yeast has to rest in a warm place for an hour before you bake, so that the dough can rise. ", 5))
	for _, sink := range []string{"folder", "server"} {
		t.Run(sink, func(t *testing.T) {
			base, with := into(t, sink)
			settings := func(collection string) (language string) {
				with(func(e *search.Engine) {
					c, err := e.Collection(t.Context(), collection)
					if err != nil {
						t.Fatal(err)
					}
					language = c.Settings.Language
				})
				return language
			}
			ingest := func(args ...string) (said string, err error) {
				var stderr strings.Builder
				cmd := Program()
				cmd.SetArgs(append(args, base...))
				cmd.SetOut(&stderr)
				cmd.SetErr(&stderr)
				err = cmd.ExecuteContext(t.Context())
				return stderr.String(), err
			}

			if said, err := ingest("--collection", "notizen", notes); err != nil || settings("notizen") != "de" || !strings.Contains(said, `uses "de" for keyword search`) {
				t.Errorf("German notes: language %q, %v, %s", settings("notizen"), err, said)
			}
			if said, err := ingest("--collection", "notizen", "--language", "de-AT", notes); err != nil || strings.Contains(said, "new collection") {
				t.Errorf("again, with the language: %v, %s", err, said)
			}
			if _, err := ingest("--collection", "notizen", "--language", "fr", notes); err == nil || !strings.Contains(err.Error(), `got "fr", but the collection notizen is there already, with "de"`) ||
				!strings.Contains(err.Error(), map[string]string{"folder": "`searchd reembed --data " + base[len(base)-1] + " --collection notizen", "server": "POST /v1/collections/notizen/reembed"}[sink]) {
				t.Errorf("another language: %v", err)
			}
			if said, err := ingest("--collection", "notes", english); err != nil || settings("notes") != "" || strings.Contains(said, "new collection") {
				t.Errorf("English notes: language %q, %v, %s", settings("notes"), err, said)
			}
			if _, err := ingest("--collection", "named", "--language", "sv", notes); err != nil || settings("named") != "sv" {
				t.Errorf("a language that was named: %q, %v", settings("named"), err)
			}
			if _, err := ingest("--collection", "wrong", "--language", "klingon", notes); err == nil || !strings.Contains(err.Error(), "klingon") {
				t.Errorf("a language that is none: %v", err)
			}
		})
	}
}

// TestNothingThere: a path that is misspelled makes nothing, neither a folder nor a collection in
// the language of no text.
func TestNothingThere(t *testing.T) {
	dir := t.TempDir()
	data, none := filepath.Join(dir, "data"), filepath.Join(dir, "none")
	ingest := func(paths ...string) (string, error) {
		var b strings.Builder
		cmd := Program()
		cmd.SetArgs(append([]string{"--data", data}, paths...))
		cmd.SetOut(&b)
		cmd.SetErr(&b)
		err := cmd.ExecuteContext(t.Context())
		return b.String(), err
	}
	if _, err := ingest(none); err == nil || !strings.HasPrefix(err.Error(), none+": no such file or folder") {
		t.Errorf("%v, want that there is nothing", err)
	}
	if !absent(data) {
		t.Error("a data folder was made")
	}
	write(t, filepath.Join(dir, "a.txt"), "text")
	if out, err := ingest(none, filepath.Join(dir, "a.txt")); !errors.Is(err, command.ErrSome) || !strings.Contains(out, "1 created") {
		t.Errorf("with another path that is there: %v, %s", err, out)
	}
	if out, err := ingest(none); err == nil || !strings.HasPrefix(err.Error(), none+": no such file or folder") || out != "" {
		t.Errorf("where there is a collection: %v, %s", err, out)
	}
	if out, err := ingest("--delete-missing", none); !errors.Is(err, command.ErrSome) || !strings.Contains(out, "1 failed") {
		t.Errorf("a path of which documents may be deleted: %v, %s", err, out)
	}
	if _, err := ingest("--collection", "other", none); err == nil || !strings.HasPrefix(err.Error(), none) {
		t.Errorf("another collection: %v", err)
	}
}

// TestMissingCheckpointIsToldOnce: what the opening tells of a collection is also why nothing can
// be put into it.
func TestMissingCheckpointIsToldOnce(t *testing.T) {
	data, small, text := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "small"), filepath.Join(t.TempDir(), "a.txt")
	if err := os.CopyFS(small, os.DirFS("../../../encoder/testdata/bert-mean")); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	ingest := func(content string) error {
		write(t, text, content)
		cmd := Program()
		cmd.SetArgs([]string{"--data", data, "--model", small, text})
		cmd.SetErr(&stderr)
		return cmd.ExecuteContext(t.Context())
	}
	if err := ingest("The yeast has to rest."); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(small); err != nil {
		t.Fatal(err)
	}
	small = models.Embedded
	if err := ingest("The dough can rise."); !errors.Is(err, errReported) || strings.Count(stderr.String(), "searchd reembed") != 1 {
		t.Errorf("%v, told %s, want it once", err, stderr.String())
	}
}
