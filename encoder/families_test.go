package encoder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// familyFolders returns the checkpoints of testdata/families, or those of the folder in
// FAMILY_FIXTURES, made by testdata/families/make.py with another seed.
func familyFolders(t testing.TB) []string {
	t.Helper()
	root := os.Getenv("FAMILY_FIXTURES")
	if root == "" {
		root = "testdata/families"
	}
	found, err := filepath.Glob(filepath.Join(root, "*", "expected.json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no expected.json below %s: %v", root, err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// TestFamilies wants the ids and vectors of the reference, for single texts, for all texts in one
// call, and with several goroutines.
func TestFamilies(t *testing.T) {
	for _, dir := range familyFolders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			list := readExpectations(t, dir)
			texts := make([]string, len(list))
			for i, e := range list {
				texts[i] = e.Text
			}
			m := mustLoad(t, os.DirFS(dir), Options{Threads: 2})
			r, err := m.Encode(t.Context(), texts, EncodeOptions{KeepIDs: true, Prompt: PromptNone})
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, e := range list {
				if !slices.Equal(r.IDs[i], e.IDs) {
					t.Fatalf("text %d: ids %v, want %v", i, r.IDs[i], e.IDs)
				}
				worst = max(worst, difference(r.Vectors[i], e.Embedding), difference(encode(t, m, EncodeOptions{Prompt: PromptNone}, e.Text)[0], e.Embedding))
			}
			t.Logf("max difference %.2g", worst)
			if worst > tolerance {
				t.Errorf("max difference %.2g, want at most %g", worst, tolerance)
			}
			cosine := 1.0
			for i, v := range encode(t, mustLoad(t, os.DirFS(dir), Options{Precision: Int8}), EncodeOptions{Prompt: PromptNone}, texts...) {
				cosine = min(cosine, dot(v, list[i].Embedding))
			}
			t.Logf("int8: least cosine %.5f", cosine)
			if cosine < 0.98 {
				t.Errorf("int8: least cosine %.5f", cosine)
			}
		})
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
