package encoder

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// TestLate wants the token vectors and scores of sentence-transformers' MultiVectorEncoder.
func TestLate(t *testing.T) {
	root := os.Getenv("LATE_FIXTURES")
	if root == "" {
		root = "testdata/late"
	}
	for _, name := range []string{"native", "pylate"} {
		t.Run(name, func(t *testing.T) {
			fsys := os.DirFS(root + "/" + name)
			b, err := os.ReadFile(root + "/" + name + "/expected.json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Queries, Texts []string
				QueryVectors   [][][]float32 `json:"query_vectors"`
				TextVectors    [][][]float32 `json:"text_vectors"`
				Scores         [][]float64
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			m := mustLoad(t, fsys, Options{Threads: 2})
			for _, side := range []struct {
				texts []string
				want  [][][]float32
				query bool
			}{{want.Queries, want.QueryVectors, true}, {want.Texts, want.TextVectors, false}} {
				r, err := m.EncodeLate(t.Context(), side.texts, side.query)
				if err != nil {
					t.Fatal(err)
				}
				for i, rows := range side.want {
					var flat []float32
					for _, row := range rows {
						flat = append(flat, row...)
					}
					if d := difference(r.Vectors[i], flat); !(d <= tolerance) {
						t.Errorf("query %v, text %d: %d numbers, want %d; difference %.2g", side.query, i, len(r.Vectors[i]), len(flat), d)
					}
				}
			}
			var pairs [][2]string
			for _, q := range want.Queries {
				for _, d := range want.Texts {
					pairs = append(pairs, [2]string{q, d})
				}
			}
			scores, err := m.Score(t.Context(), pairs)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range scores.Logits {
				q, d := i/len(want.Texts), i%len(want.Texts)
				if w := want.Scores[q][d] / float64(len(want.QueryVectors[q])); math.Abs(float64(got)-w) > tolerance {
					t.Errorf("pair %d: score %v, want %v", i, got, w)
				}
			}
			if _, err := m.Encode(t.Context(), want.Texts, EncodeOptions{}); !errors.Is(err, ErrNotDense) {
				t.Errorf("Encode: %v, want ErrNotDense", err)
			}
		})
	}
	if _, err := mustLoad(t, os.DirFS("testdata/bert-mean"), Options{}).EncodeLate(t.Context(), []string{"a"}, true); !errors.Is(err, ErrNotLate) {
		t.Errorf("EncodeLate of a model with pooling: %v, want ErrNotLate", err)
	}
}

// TestLateSettings wants errors that name the wrong setting.
func TestLateSettings(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"strategy":            {"sentence_bert_config.json": `{"query_expansion":{"strategy":"often","length":8}}`},
		"length is missing":   {"sentence_bert_config.json": `{"query_expansion":{"strategy":"fixed"}}`},
		"keep_only_token_ids": {"2_MultiVectorMask/config.json": `{"keep_only_token_ids":[1]}`},
		"skiplist_tasks":      {"2_MultiVectorMask/config.json": `{"skiplist_tasks":["query"]}`},
		"module_input_name":   {"1_Dense/config.json": `{"in_features":32,"out_features":16,"module_input_name":"sentence_embedding"}`},
		"in_features":         {"1_Dense/config.json": `{"in_features":33,"out_features":16}`},
		"similarity_fn_name":  {"config_sentence_transformers.json": `{"similarity_fn_name":"sum"}`},
	} {
		_, err := Load(overlay{os.DirFS("testdata/late/native"), files}, Options{})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", files, err, want)
		}
	}
}
