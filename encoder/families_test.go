package encoder

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
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
			worst := 0.0
			for prompt, r := range encodeByPrompt(t, m, list, texts) {
				for i, e := range list {
					if cmp.Or(e.Prompt, PromptNone) != prompt {
						continue
					}
					if !slices.Equal(r.IDs[i], e.IDs) {
						t.Fatalf("text %d: ids %v, want %v", i, r.IDs[i], e.IDs)
					}
					worst = max(worst, difference(r.Vectors[i], e.Embedding), difference(encode(t, m, EncodeOptions{Prompt: prompt}, e.Text)[0], e.Embedding))
				}
			}
			t.Logf("max difference %.2g", worst)
			if worst > tolerance {
				t.Errorf("max difference %.2g, want at most %g", worst, tolerance)
			}
			cosine := 1.0
			for prompt, r := range encodeByPrompt(t, mustLoad(t, os.DirFS(dir), Options{Precision: Int8}), list, texts) {
				for i, e := range list {
					if cmp.Or(e.Prompt, PromptNone) == prompt {
						cosine = min(cosine, dot(r.Vectors[i], e.Embedding))
					}
				}
			}
			t.Logf("int8: least cosine %.5f", cosine)
			if cosine < 0.98 {
				t.Errorf("int8: least cosine %.5f", cosine)
			}
		})
	}
}

// encodeByPrompt encodes all texts with each prompt that the list has.
func encodeByPrompt(t *testing.T, m *Model, list []expectation, texts []string) map[string]*Result {
	t.Helper()
	results := map[string]*Result{}
	for _, e := range list {
		prompt := cmp.Or(e.Prompt, PromptNone)
		if results[prompt] != nil {
			continue
		}
		r, err := m.Encode(t.Context(), texts, EncodeOptions{KeepIDs: true, Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		results[prompt] = r
	}
	return results
}

// TestAdaptersOfBothSides wants the adapters of queries and of documents where texts of both kinds
// are computed in one batch.
func TestAdaptersOfBothSides(t *testing.T) {
	m := mustLoad(t, os.DirFS("testdata/families/jina-v3"), Options{})
	const text = "river harbour engine"
	q, d := encode(t, m, EncodeOptions{Prompt: PromptQuery}, text)[0], encode(t, m, EncodeOptions{Prompt: PromptDocument}, text)[0]
	c, err := m.Contributions(t.Context(), [2]string{text, text}, [2]string{PromptQuery, PromptDocument})
	if err != nil {
		t.Fatal(err)
	}
	if want := dot(q, d); math.Abs(c.Cosine-want) > 1e-5 || want > 0.999 {
		t.Errorf("cosine %v, want %v, below .999", c.Cosine, want)
	}
	cosines, err := m.LayerCosines(t.Context(), [2]string{text, text}, [2]string{PromptQuery, PromptDocument})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cosines[len(cosines)-1], dot(q, d); math.Abs(got-want) > 1e-5 {
		t.Errorf("cosine after the last layer %v, want %v", got, want)
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestFamilyConfigsChanged puts wrong values into each member of config.json and wants an error or
// a model that encodes, never a panic.
func TestFamilyConfigsChanged(t *testing.T) {
	for _, dir := range familyFolders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(filepath.Join(dir, "config.json"))
			if err != nil {
				t.Fatal(err)
			}
			var config map[string]json.RawMessage
			if err := json.Unmarshal(b, &config); err != nil {
				t.Fatal(err)
			}
			loaded := 0
			for member := range config {
				for _, value := range []string{"null", "0", "-1", "1", "7", "999999999", `"x"`, "[]", "true", "false"} {
					changed := maps.Clone(config)
					changed[member] = json.RawMessage(value)
					text, err := json.Marshal(changed)
					if err != nil {
						t.Fatal(err)
					}
					m, err := Load(overlay{os.DirFS(dir), map[string]string{"config.json": string(text)}}, Options{Threads: 1})
					if err != nil {
						continue
					}
					loaded++
					if _, err := m.Encode(t.Context(), []string{"river harbour engine"}, EncodeOptions{}); err != nil && !errors.Is(err, ErrNotFinite) {
						t.Errorf("%s = %s: %v", member, value, err)
					}
				}
			}
			if loaded == 0 {
				t.Error("no changed config loads")
			}
		})
	}
}
