package encoder

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

const spladeModules = `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.sparse_encoder.models.MLMTransformer.MLMTransformer"},
	{"idx":1,"name":"1","path":"1_SpladePooling","type":"sentence_transformers.sparse_encoder.models.SpladePooling.SpladePooling"}]`

// mlmFiles is the small BERT with a masked-language head; tied leaves the decoder's weight out.
func mlmFiles(t *testing.T, w weights, tied bool) map[string]string {
	t.Helper()
	header, data := splitFile(t, variant(t, nil)["model.safetensors"].Data)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if tied && strings.HasSuffix(name, "decoder.weight") {
			continue
		}
		extra, e := splitFile(t, weights{name: w[name]}.safetensors())
		header[name] = entry{"F32", extra[name].Shape, [2]int{len(data), len(data) + len(e)}}
		data = append(data, e...)
	}
	return map[string]string{"model.safetensors": joinFile(header, data)}
}

// refusedPooling requires that Load refuses Options.Pooling with an error that names it.
func refusedPooling(t *testing.T, fsys fs.FS, pooling string) {
	t.Helper()
	if _, err := Load(fsys, Options{Pooling: pooling}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Options.Pooling") {
		t.Errorf("pooling %s: %v, want an error that names Options.Pooling", pooling, err)
	}
}

func TestSparse(t *testing.T) {
	const h, vocab = 48, 818
	w := draw(6, map[string][]int{
		"cls.predictions.transform.dense.weight": {h, h}, "cls.predictions.transform.dense.bias": {h},
		"cls.predictions.transform.LayerNorm.weight": {h}, "cls.predictions.transform.LayerNorm.bias": {h},
		"cls.predictions.decoder.weight": {vocab, h}, "cls.predictions.bias": {vocab},
	})
	for _, test := range []struct {
		name    string
		tied    bool
		config  string // of SpladePooling; "": no modules.json
		sum     bool
		twice   bool
		modules string // "": spladeModules
	}{
		{"plain folder", false, "", false, false, ""},
		{"tied", true, `{"pooling_strategy":"max","activation_function":"relu","word_embedding_dimension":null}`, false, false, ""},
		{"sum", false, `{"pooling_strategy":"sum"}`, true, false, ""},
		{"two logarithms", false, `{"activation_function":"log1p_relu"}`, false, true, ""},
		{"newer modules", false, `{"embedding_dimension":818}`, false, false, strings.ReplaceAll(spladeModules, "MLMTransformer", "Transformer")},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := mlmFiles(t, w, test.tied)
			files["modules.json"] = ""
			if test.modules == "" {
				test.modules = spladeModules
			}
			if test.config != "" {
				files["modules.json"], files["1_SpladePooling/config.json"] = test.modules, test.config
			}
			fsys := variant(t, files)
			m := mustLoad(t, fsys, Options{Sparse: true})
			if test.config != "" {
				refusedPooling(t, fsys, "mean")
			}
			got, err := m.EncodeSparse(t.Context(), sampleTexts, EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			decoder := w["cls.predictions.decoder.weight"]
			if test.tied {
				decoder = readArray(t, m, vocab, h)
			}
			head := weights{"d.weight": decoder, "d.bias": w["cls.predictions.bias"]}
			for n, text := range sampleTexts {
				flat, x := tokenStates(t, m, text), states(nil)
				for i := 0; i < len(flat); i += h {
					row := make([]float64, h)
					for j := range row {
						row[j] = float64(flat[i+j])
					}
					x = append(x, row)
				}
				x = w.layerNorm(apply(w.linear(x, "cls.predictions.transform.dense"), gelu), "cls.predictions.transform.LayerNorm", 1e-12)
				want := make([]float64, vocab)
				for _, row := range head.linear(x, "d") {
					for j, v := range row {
						v = math.Log1p(max(0, v))
						if test.twice {
							v = math.Log1p(v)
						}
						want[j] = max(want[j], v)
					}
				}
				if test.sum {
					want = sumOver(head.linear(x, "d"), vocab)
				}
				for _, e := range got.Vectors[n] {
					if math.Abs(want[e.ID]-float64(e.Weight)) > 1e-5*max(1, want[e.ID]) {
						t.Fatalf("text %d: word %d is %v, want %v", n, e.ID, e.Weight, want[e.ID])
					}
					want[e.ID] = 0
				}
				if left := slices.Max(want); left > 1e-5 {
					t.Errorf("text %d: a word of weight %v is missing", n, left)
				}
			}
			if test.config != "" {
				if _, err := m.Encode(t.Context(), sampleTexts, EncodeOptions{}); !errors.Is(err, ErrNotDense) {
					t.Errorf("Encode: %v, want ErrNotDense", err)
				}
			}
		})
	}
	if _, err := mustLoad(t, variant(t, nil), Options{}).EncodeSparse(t.Context(), nil, EncodeOptions{}); !errors.Is(err, ErrNotSparse) {
		t.Errorf("EncodeSparse of a dense model: %v, want ErrNotSparse", err)
	}
	if _, err := Load(variant(t, map[string]string{"modules.json": ""}), Options{Sparse: true}); !errors.Is(err, ErrWeights) || !strings.Contains(err.Error(), "cls.predictions") {
		t.Errorf("Options.Sparse without a head: %v, want ErrWeights that names it", err)
	}
}

func sumOver(logits states, vocab int) []float64 {
	out := make([]float64, vocab)
	for _, row := range logits {
		for j, v := range row {
			out[j] += math.Log1p(max(0, v))
		}
	}
	return out
}

// readArray is the word table of m.
func readArray(t *testing.T, m *Model, rows, width int) *array {
	t.Helper()
	a := &array{shape: []int{rows, width}}
	for _, v := range m.stack.wordTable {
		a.x = append(a.x, float64(v))
	}
	return a
}

func TestSparseNotFinite(t *testing.T) {
	const h, vocab = 48, 818
	for _, name := range []string{"dense.weight", "LayerNorm.weight", "decoder.weight"} {
		w := draw(6, map[string][]int{
			"cls.predictions.transform.dense.weight": {h, h}, "cls.predictions.transform.dense.bias": {h},
			"cls.predictions.transform.LayerNorm.weight": {h}, "cls.predictions.transform.LayerNorm.bias": {h},
			"cls.predictions.decoder.weight": {vocab, h}, "cls.predictions.bias": {vocab},
		})
		for tensor, a := range w {
			if strings.HasSuffix(tensor, name) {
				for i := range a.x {
					a.x[i] = 3e38
				}
			}
		}
		files := mlmFiles(t, w, false)
		files["modules.json"] = ""
		m := mustLoad(t, variant(t, files), Options{Sparse: true})
		if r, err := m.EncodeSparse(t.Context(), []string{"the fox"}, EncodeOptions{}); !errors.Is(err, ErrNotFinite) {
			t.Errorf("%s: %v, %v, want ErrNotFinite", name, r, err)
		}
	}
}
