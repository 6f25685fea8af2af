package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvalClassesNeedsBothParts: texts to test by no others, and the other way round, have no
// accuracy.
func TestEvalClassesNeedsBothParts(t *testing.T) {
	const text = "a\tsome words\n"
	for parts, want := range map[[2]string]string{{"", text}: "0 and 1 texts", {text, ""}: "1 and 0 texts", {text, text}: ""} {
		dir := t.TempDir()
		for i, name := range []string{"train.tsv", "test.tsv"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(parts[i]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, _, err := execute(t, "", "eval", "--classes", dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || want == "" && !strings.Contains(out, "nearest centroid: 1.0000") {
			t.Errorf("train.tsv %q, test.tsv %q: %q, %v, want %q", parts[0], parts[1], out, err, want)
		}
	}
}
