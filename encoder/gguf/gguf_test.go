package gguf_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/gguf"
)

// root is the folder of the fixtures, or of others made by testdata/make.py with another seed.
func root() string {
	if dir := os.Getenv("GGUF_FIXTURES"); dir != "" {
		return dir
	}
	return "testdata"
}

// TestFiles wants the ids and the vectors that transformers gives for the weights in each file.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(), "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			fsys, err := gguf.Open(os.DirFS(root()), filepath.Base(file))
			if err != nil {
				t.Fatal(err)
			}
			m, err := encoder.Load(fsys, encoder.Options{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(strings.TrimSuffix(file, "gguf") + "json")
			if err != nil {
				t.Fatal(err)
			}
			var list []struct {
				Text      string
				IDs       []int32
				Embedding []float32
			}
			if err := json.Unmarshal(b, &list); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, e := range list {
				r, err := m.Encode(t.Context(), []string{e.Text}, encoder.EncodeOptions{KeepIDs: true, Prompt: encoder.PromptNone})
				if err != nil {
					t.Fatal(err)
				}
				if len(e.IDs) <= m.MaxSeqLength() && !slices.Equal(r.IDs[0], e.IDs) {
					t.Errorf("text %d: ids %v, want %v", i, r.IDs[0], e.IDs)
					continue
				}
				for j, v := range e.Embedding {
					if len(e.IDs) <= m.MaxSeqLength() {
						worst = max(worst, math.Abs(float64(v-r.Vectors[0][j])))
					}
				}
			}
			t.Logf("max difference %.2g", worst)
			if !(worst <= 2e-5) {
				t.Errorf("max difference %.2g, want at most 2e-5", worst)
			}
		})
	}
}

// TestBlocks wants the numbers of random blocks of every type as gguf-py expands them.
func TestBlocks(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root(), "blocks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Type    string
		Bytes   string
		Numbers []float64
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range list {
		raw, err := hex.DecodeString(e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		seen[e.Type] = true
		got := gguf.Expand(e.Type, raw)
		for i, want := range e.Numbers {
			if math.Abs(float64(got[i])-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("%s: number %d is %v, want %v", e.Type, i, got[i], want)
			}
		}
	}
	for _, k := range gguf.Types {
		if !seen[k.Name] && k.Name != "F32" {
			t.Errorf("no blocks of type %s", k.Name)
		}
	}
}
