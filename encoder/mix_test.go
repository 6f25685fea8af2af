package encoder

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"
	"testing"
	"testing/fstest"
)

const mixText = "A man is playing a guitar in the street."

// layered copies the bundled BERT and returns it with a WeightedLayerPooling module between
// transformer and pooling.
func layered(t *testing.T, config string, layerWeights []float32) fstest.MapFS {
	t.Helper()
	base := os.DirFS("testdata/bert-mean")
	out := fstest.MapFS{}
	err := fs.WalkDir(base, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(base, path)
		out[path] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out["modules.json"] = &fstest.MapFile{Data: []byte(`[
		{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
		{"idx":1,"name":"1","path":"1_WeightedLayerPooling","type":"sentence_transformers.models.WeightedLayerPooling"},
		{"idx":2,"name":"2","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`)}
	out["1_WeightedLayerPooling/config.json"] = &fstest.MapFile{Data: []byte(config)}
	learned := &array{shape: []int{len(layerWeights)}}
	for _, w := range layerWeights {
		learned.x = append(learned.x, float64(w))
	}
	out["1_WeightedLayerPooling/model.safetensors"] = &fstest.MapFile{Data: weights{"layer_weights": learned}.safetensors()}
	return out
}

// slowMean averages token states [L*H] by weights, in float64.
func slowMean(states []float32, hidden int, weight func(row int) float64) []float64 {
	out, total := make([]float64, hidden), 0.0
	for row := 0; row*hidden < len(states); row++ {
		w := weight(row)
		total += w
		for j := range out {
			out[j] += w * float64(states[row*hidden+j])
		}
	}
	for j := range out {
		out[j] /= total
	}
	return out
}

func unit(v []float64) []float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	for i := range v {
		v[i] /= math.Sqrt(sum)
	}
	return v
}

func wantVector(t *testing.T, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d dimensions, want %d", len(got), len(want))
	}
	for j := range want {
		if math.Abs(float64(got[j])-want[j]) > 1e-6 {
			t.Fatalf("dimension %d is %v, want %v", j, got[j], want[j])
		}
	}
}

// TestWeightedLayerPooling compares the module with the states of the layers, averaged the plain
// way.
func TestWeightedLayerPooling(t *testing.T) {
	plain, err := Load(os.DirFS("testdata/bert-mean"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := plain.Inspect(t.Context(), mixText, InspectOptions{States: true})
	if err != nil {
		t.Fatal(err)
	}
	layers := plain.Info().Layers
	weights := make([]float32, layers) // from layer 1 on
	for i := range weights {
		weights[i] = float32(i + 1)
	}
	mixed := make([]float32, len(in.States[0]))
	total := float32(0)
	for n, w := range weights {
		total += w
		for i, x := range in.States[n+1] {
			mixed[i] += w * x
		}
	}
	for i := range mixed {
		mixed[i] /= total
	}
	hidden := plain.Info().Hidden
	want := slowMean(mixed, hidden, func(int) float64 { return 1 })
	config := `{"word_embedding_dimension":` + strconv.Itoa(hidden) + `,"layer_start":1,"num_hidden_layers":` + strconv.Itoa(layers) + `}`
	m, err := Load(layered(t, config, weights), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Encode(t.Context(), []string{"Another text.", mixText}, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantVector(t, r.Vectors[1], want)
	for name, bad := range map[string]fstest.MapFS{
		"too many layers": layered(t, `{"num_hidden_layers":99}`, weights),
		"too few weights": layered(t, config, weights[:1]),
		"sum of nothing":  layered(t, config, make([]float32, layers)),
	} {
		if _, err := Load(bad, Options{}); !errors.Is(err, ErrConfig) && !errors.Is(err, ErrWeights) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPoolingWithoutAnythingLeft cuts queries inside their prompt, which does not count: nothing is
// left to pool, in any mode.
func TestPoolingWithoutAnythingLeft(t *testing.T) {
	fsys := variant(t, map[string]string{
		"config_sentence_transformers.json": `{"prompts":{"query":"the quick brown fox and the dog: "}}`,
		"sentence_bert_config.json":         `{"query_length":4}`,
		"1_Pooling/config.json":             edited(t, "1_Pooling/config.json", map[string]string{"include_prompt": "false"})})
	for _, mode := range []string{"cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"} {
		m := mustLoad(t, fsys, Options{Pooling: mode})
		wantVector(t, encode(t, m, EncodeOptions{Prompt: PromptQuery}, "sun")[0], make([]float64, m.Dim()))
	}
}
