//go:build unix

package embedded

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/searchd/search/backend"
)

// TestNobodyElseReads: what a data folder holds is for its owner alone, whatever the umask; an
// operator who lets others read the store is obeyed, also by a compaction.
func TestNobodyElseReads(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "made", "data")
	b, err := Open(dir, Options{})
	must(t, err)
	must(t, on(b).Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}))
	colour(t, b, "a", "red")
	must(t, b.Close())
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 && filepath.Base(filepath.Dir(path)) != "store" { // bleve's own, in a folder of 0700
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "searchd.db")
	must(t, os.Chmod(path, 0o640))
	if _, _, err := Compact(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("after a compaction: %v, %v, want the mode of before, 0640", fi.Mode(), err)
	}
}
