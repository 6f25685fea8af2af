package ingest

import (
	"path/filepath"
	"testing"

	"example.com/searchd/extract"
)

// The journal of a server lies in the user's folder for settings. A run over a folder above it does
// not read it, nor does a watch for ever.
func TestJournalOfServerIsNotRead(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("AppData", filepath.Join(home, "AppData"))
	write(t, filepath.Join(home, "a.txt"), "text")
	write(t, filepath.Join(home, ".config", "b.txt"), "text")
	for range 2 {
		f, to := flags{server: "http://127.0.0.1:1", collection: "docs", hidden: true, workers: 1}, shelf{}
		p := pipelineOf(t, f, to)
		if err := p.run(t.Context(), []string{home}, extract.Options{Exclude: f.exclude(), Hidden: f.hidden}); err != nil {
			t.Fatal(err)
		}
		for id := range to {
			if id != "a.txt" && id != ".config/b.txt" {
				t.Errorf("%q is a document", id)
			}
		}
	}
}
