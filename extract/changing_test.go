package extract

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFileChangesWhileRead: a file that grows or shrinks while it is read is reported as changed,
// so that the next run reads it again.
func TestFileChangesWhileRead(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"grows": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(`{"id":"3","text":"three"}` + "\n")
			return err
		},
		"shrinks": func(path string) error { return os.Truncate(path, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			if err := os.WriteFile(path, []byte(`{"id":"1","text":"one"}`+"\n"+`{"id":"2","text":"two"}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var file File
			if _, err := Files(t.Context(), []string{path}, Options{}, func(f File) error { file = f; return nil }, func(e ItemError) error { return e }); err != nil {
				t.Fatal(err)
			}
			docs := 0
			res, err := file.Read(t.Context(), func(Document) error {
				if docs++; docs == 1 {
					return change(path)
				}
				return nil
			}, func(ItemError) error { return nil })
			if err != nil || docs < 2 || res.Moved != (name != "nothing") {
				t.Errorf("%d documents, Moved %v, %v", docs, res.Moved, err)
			}
		})
	}
}
