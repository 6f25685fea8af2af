package extract

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const versions = "testdata/versions.txt"

// What is read of the files of testdata is what it was when each was noted, with the version of
// then; who changes it raises [Version]. -update notes files that read otherwise only under a
// higher version than they have.
func TestVersion(t *testing.T) {
	b, err := os.ReadFile(versions)
	if err != nil && !*update {
		t.Fatal(err)
	}
	noted := map[string]string{} // name of the file -> version and sum
	for line := range strings.Lines(string(b)) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			noted[name] = rest
		}
	}
	goldens, err := filepath.Glob("testdata/golden/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for _, golden := range goldens {
		name := strings.TrimSuffix(filepath.Base(golden), ".golden")
		b, err := os.ReadFile(strings.TrimSuffix(golden, ".golden"))
		if err != nil {
			t.Fatal(err)
		}
		documents := outcome{docs: readBytes(t, b, name, Options{}).docs}
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(documents.String())))[:16]
		version, before := Version, ""
		if _, err := fmt.Sscan(noted[name], &version, &before); before != "" && err != nil {
			t.Fatalf("%s: %s: %v", versions, name, err)
		}
		switch {
		case before == "" && !*update:
			t.Errorf("%s is not noted; -update notes it", name)
		case before != "" && before != sum && version >= Version:
			t.Errorf("%s reads otherwise than in version %d: raise Version, then note it with -update", name, version)
			sum = before
		case before != sum && !*update:
			t.Errorf("%s reads otherwise than in version %d; -update notes it under %d", name, version, Version)
		case before != sum:
			version = Version
		}
		fmt.Fprintln(&now, name, version, sum)
	}
	if *update {
		if err := os.WriteFile(versions, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
