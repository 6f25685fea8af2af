package disk

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGlob looks into folders whose paths have the signs of patterns: they have no meaning there.
func TestGlob(t *testing.T) {
	for _, name := range []string{"plain", "[a", "[ab]", "a*", `b\`} {
		folder := filepath.Join(t.TempDir(), name)
		for _, f := range []string{filepath.Join(folder, "one.part"), filepath.Join(folder, "two"), filepath.Join(folder, "in", "three.part"), filepath.Join(folder, "..", "a", "four.part")} {
			if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Glob(folder, "*.part")
		if want := []string{filepath.Join(folder, "one.part")}; err != nil || !slices.Equal(got, want) {
			t.Errorf("Glob in %q = %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := Glob(filepath.Join(t.TempDir(), "none"), "*"); err != nil || len(got) > 0 {
		t.Errorf("Glob where there is no folder = %q, %v", got, err)
	}
}
