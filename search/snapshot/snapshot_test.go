package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileNames: an id is a name of the folder's own files, never a path, and a link or a folder
// under such a name is no snapshot.
func TestHostileNames(t *testing.T) {
	root := t.TempDir()
	f := Folder{Dir: filepath.Join(root, "snapshots")}
	outside := filepath.Join(root, "outside.backup")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(f.Dir, "folder.backup"), 0o700),
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(f.Dir, "sound.backup"), []byte("x"), 0o600),
		os.Symlink(outside, filepath.Join(f.Dir, "link.backup")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"", ".", "..", "../outside", "..%2foutside", `..\outside`, "/etc/passwd", "a/b", "sound\x00", "sound\n", "sound.backup", "\u202esound", "\xff",
		strings.Repeat("x", 65), "link", "folder", "none"} {
		if file, _, err := f.Open(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Open(%q) = %v, want ErrNotFound", id, err)
			if err == nil {
				file.Close()
			}
		}
		if err := f.Delete(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Delete(%q) = %v, want ErrNotFound", id, err)
		}
	}
	if list, err := f.List(); err != nil || len(list) != 1 || list[0].ID != "sound" {
		t.Errorf("List = %+v, %v, want the sound one", list, err)
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "secret" {
		t.Errorf("the file outside holds %q, %v", b, err)
	}
}
