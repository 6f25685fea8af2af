package encoder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/searchd/pooling"
)

const oldModules = `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
	{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}%s]`

// variant is the small BERT of testdata with files replaced; an empty text takes a file away.
func variant(t testing.TB, files map[string]string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	root := os.DirFS("testdata/bert-mean")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, name)
		out[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
		if text == "" {
			delete(out, name)
		}
	}
	return out
}

// edited is a JSON file of the small BERT with fields set to raw values; an empty value takes a
// field away.
func edited(t testing.TB, name string, set map[string]string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/bert-mean/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	for k, v := range set {
		if o[k] = json.RawMessage(v); v == "" {
			delete(o, k)
		}
	}
	if b, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// mustLoad loads a checkpoint. Check passes it, too.
func mustLoad(t testing.TB, fsys fs.FS, o Options) *Model {
	t.Helper()
	m, err := Load(fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(withoutWeights{fsys}); err != nil {
		t.Errorf("Check: %v", err)
	}
	return m
}

// withoutWeights hides weights and their indexes.
type withoutWeights struct{ fs.FS }

func (w withoutWeights) Open(name string) (fs.File, error) {
	if strings.Contains(name, "safetensors") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return w.FS.Open(name)
}

func encode(t testing.TB, m *Model, o EncodeOptions, texts ...string) [][]float32 {
	t.Helper()
	r, err := m.Encode(context.Background(), texts, o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Vectors
}

// tokenStates returns the states before pooling, by way of Inspect.
func tokenStates(t testing.TB, m *Model, text string) []float32 {
	t.Helper()
	in, err := m.Inspect(context.Background(), text, InspectOptions{Prompt: PromptNone, States: true})
	if err != nil {
		t.Fatal(err)
	}
	return in.States[len(in.States)-1]
}

var sampleTexts = []string{"A man is playing a guitar.", "", "Query: what is self-attention?", strings.Repeat("the quick brown fox ", 40)}

// TestPoolingLayouts writes the same poolings in each layout and compares with the states, pooled
// by hand.
func TestPoolingLayouts(t *testing.T) {
	plain := fmt.Sprintf(oldModules, "")
	newer := strings.NewReplacer("sentence_transformers.models.Transformer", "sentence_transformers.base.modules.transformer.Transformer",
		"sentence_transformers.models.Pooling", "sentence_transformers.sentence_transformer.modules.pooling.Pooling").Replace(plain)
	tests := []struct {
		name    string
		modules string
		config  string
		option  string
		want    []pooling.Mode
	}{
		{"old, cls", plain, `{"word_embedding_dimension":48,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`, "", []pooling.Mode{pooling.CLSMode}},
		{"old, no flag", plain, `{"word_embedding_dimension":48}`, "", []pooling.Mode{pooling.MeanMode}},
		{"old, all flags", plain, `{"word_embedding_dimension":48,"pooling_mode_lasttoken":true,"pooling_mode_weightedmean_tokens":true,
			"pooling_mode_mean_sqrt_len_tokens":true,"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":true,"pooling_mode_cls_token":true}`, "",
			[]pooling.Mode{pooling.CLSMode, pooling.MaxMode, pooling.MeanMode, pooling.MeanSqrtLenMode, pooling.WeightedMeanMode, pooling.LastTokenMode}},
		{"new, name", newer, `{"embedding_dimension":48,"pooling_mode":"lasttoken","include_prompt":true}`, "", []pooling.Mode{pooling.LastTokenMode}},
		{"new, list", newer, `{"embedding_dimension":48,"pooling_mode":["mean","cls"]}`, "", []pooling.Mode{pooling.MeanMode, pooling.CLSMode}},
		{"new, list with a repetition", newer, `{"embedding_dimension":48,"pooling_mode":["max","cls","max"]}`, "",
			[]pooling.Mode{pooling.MaxMode, pooling.CLSMode, pooling.MaxMode}},
		{"new list beside equal flags", newer, `{"embedding_dimension":48,"pooling_mode":["mean","cls"],"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true}`, "",
			[]pooling.Mode{pooling.MeanMode, pooling.CLSMode}},
		{"new beside equal flags", newer, `{"embedding_dimension":48,"pooling_mode":"max","pooling_mode_max_tokens":true}`, "", []pooling.Mode{pooling.MaxMode}},
		{"no modules.json", "", "", "", []pooling.Mode{pooling.MeanMode}},
		{"option", plain, `{"word_embedding_dimension":48}`, "max+cls", []pooling.Mode{pooling.CLSMode, pooling.MaxMode}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := mustLoad(t, variant(t, map[string]string{"modules.json": test.modules, "1_Pooling/config.json": test.config}), Options{Pooling: test.option})
			if m.Dim() != 48*len(test.want) {
				t.Fatalf("Dim() = %d, want %d", m.Dim(), 48*len(test.want))
			}
			for i, got := range encode(t, m, EncodeOptions{}, sampleTexts...) {
				want := make([]float32, m.Dim())
				pooling.Sequence(want, tokenStates(t, m, sampleTexts[i]), 48, 0, test.want)
				if d := difference(got, want); d > 1e-6 {
					t.Errorf("text %d differs by %.2g", i, d)
				}
			}
		})
	}
}

// TestModules puts Dense, LayerNorm and Normalize behind the mean and compares with their formulas
// in float64.
func TestModules(t *testing.T) {
	w := draw(3, map[string][]int{"linear.weight": {10, 48}, "linear.bias": {10}})
	n := draw(4, map[string][]int{"norm.weight": {10}, "norm.bias": {10}})
	files := map[string]string{
		"modules.json": fmt.Sprintf(oldModules, `,{"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"},
			{"idx":3,"name":"3","path":"3_LayerNorm","type":"sentence_transformers.models.LayerNorm"},
			{"idx":4,"name":"4","path":"","type":"sentence_transformers.models.Dropout"},
			{"idx":5,"name":"5","path":"5_Normalize","type":"sentence_transformers.models.Normalize"}`),
		"2_Dense/config.json":           `{"in_features":48,"out_features":10,"bias":true,"activation_function":"torch.nn.modules.activation.Tanh"}`,
		"2_Dense/model.safetensors":     string(w.safetensors()),
		"3_LayerNorm/config.json":       `{"dimension":10}`,
		"3_LayerNorm/model.safetensors": string(n.safetensors()),
	}
	m := mustLoad(t, variant(t, files), Options{})
	if m.Dim() != 10 || !m.Info().Normalize {
		t.Fatalf("Dim() = %d, Normalize %t, want 10, true", m.Dim(), m.Info().Normalize)
	}
	for i, got := range encode(t, m, EncodeOptions{}, sampleTexts...) {
		mean := make([]float32, 48)
		pooling.Sequence(mean, tokenStates(t, m, sampleTexts[i]), 48, 0, []pooling.Mode{pooling.MeanMode})
		row := make([]float64, 48)
		for j, v := range mean {
			row[j] = float64(v)
		}
		want := n.layerNorm(apply(w.linear(states{row}, "linear"), math.Tanh), "norm", 1e-5)[0]
		length := 0.0
		for _, v := range want {
			length += v * v
		}
		for j, v := range want {
			if d := math.Abs(v/math.Sqrt(length) - float64(got[j])); d > 1e-6 {
				t.Errorf("text %d: dimension %d differs by %.2g", i, j, d)
			}
		}
	}
}

func TestPrompts(t *testing.T) {
	const config = `{"prompts":{"query":"query: ","passage":"passage: ","sts":"compare "},"default_prompt_name":%s,"similarity_fn_name":"dot"}`
	fsys := variant(t, map[string]string{"config_sentence_transformers.json": fmt.Sprintf(config, `"sts"`)})
	m := mustLoad(t, fsys, Options{})
	for prompt, prefix := range map[string]string{"": "compare ", "query": "query: ", PromptQuery: "query: ", PromptDocument: "passage: ", PromptNone: ""} {
		got := encode(t, m, EncodeOptions{Prompt: prompt}, " what? ")
		if want := encode(t, m, EncodeOptions{Prompt: PromptNone}, prefix+" what?"); difference(got[0], want[0]) != 0 {
			t.Errorf("prompt %q is not %q", prompt, prefix)
		}
	}
	if m.Info().Similarity != "dot" || m.Info().Default != "sts" {
		t.Errorf("Info() = %+v, want dot and sts", m.Info())
	}
	if _, err := m.Encode(context.Background(), nil, EncodeOptions{Prompt: strings.Repeat("n", 10000)}); err == nil || len(err.Error()) > 300 {
		t.Errorf("a long prompt name: %.300v", err)
	}
	if _, err := m.Encode(context.Background(), nil, EncodeOptions{Prompt: "none"}); !errors.Is(err, ErrPrompt) || !strings.Contains(err.Error(), "passage, query, sts") {
		t.Errorf("unknown prompt: %v, want ErrPrompt and the known ones", err)
	}
	plain := mustLoad(t, variant(t, nil), Options{})
	got, want := encode(t, plain, EncodeOptions{Prompt: PromptQuery}, "what?"), encode(t, plain, EncodeOptions{}, "what?")
	if difference(got[0], want[0]) != 0 {
		t.Error("PromptQuery without prompts changes the vector")
	}
}

// TestIncludePrompt leaves the prompt's tokens out of each pooling.
func TestIncludePrompt(t *testing.T) {
	files := map[string]string{
		"modules.json":                      fmt.Sprintf(oldModules, ""),
		"1_Pooling/config.json":             `{"word_embedding_dimension":48,"pooling_mode":["cls","mean","weightedmean","lasttoken"],"include_prompt":false}`,
		"config_sentence_transformers.json": `{"prompts":{"query":"the quick fox: "},"default_prompt_name":null}`,
	}
	m := mustLoad(t, variant(t, files), Options{})
	got := encode(t, m, EncodeOptions{Prompt: "query"}, "what is attention?")
	skip := 1 + m.Tokenizer().Count("the quick fox:") // [CLS] and the prompt, without [SEP]
	want := make([]float32, m.Dim())
	pooling.Sequence(want, tokenStates(t, m, "the quick fox: what is attention?"), 48, skip, m.pool.modes)
	if d := difference(got[0], want); d > 1e-6 {
		t.Errorf("differs by %.2g from the states without the prompt's", d)
	}
	without := encode(t, m, EncodeOptions{}, "what is attention?")
	pooling.Sequence(want, tokenStates(t, m, "what is attention?"), 48, 0, m.pool.modes)
	if d := difference(without[0], want); d > 1e-6 {
		t.Errorf("without a prompt: differs by %.2g", d)
	}
}

// TestNotFinite gives a norm weights that are finite and too large.
func TestNotFinite(t *testing.T) {
	for _, head := range []bool{false, true} {
		root := map[bool]string{false: "testdata/bert-mean", true: "testdata/cross-xlmr"}[head]
		file, err := os.ReadFile(root + "/model.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		header, data := splitFile(t, file)
		for name, e := range header {
			if strings.HasSuffix(name, "embeddings.LayerNorm.weight") {
				for i := e.Offsets[0]; i < e.Offsets[1]; i += 4 {
					copy(data[i:], []byte{0, 0, 0x7f, 0x7f})
				}
			}
		}
		for _, p := range []Precision{Float32, Int8} {
			m := mustLoad(t, overlay{os.DirFS(root), map[string]string{"model.safetensors": joinFile(header, data)}}, Options{Precision: p})
			if _, err = m.Encode(t.Context(), []string{"a", "the fox"}, EncodeOptions{}); head {
				_, err = m.Score(t.Context(), [][2]string{{"the", "fox"}})
			}
			if !errors.Is(err, ErrNotFinite) {
				t.Errorf("%s, %v: %v, want ErrNotFinite", root, p, err)
			}
			if head {
				continue
			}
			two, none := [2]string{"a", "the fox"}, [2]string{}
			_, tokens := m.EncodeTokens(t.Context(), two[:], EncodeOptions{})
			_, inspect := m.Inspect(t.Context(), "a", InspectOptions{Attention: true})
			_, cosines := m.LayerCosines(t.Context(), two, none)
			_, shares := m.Contributions(t.Context(), two, none)
			for what, err := range map[string]error{"EncodeTokens": tokens, "Inspect": inspect, "LayerCosines": cosines, "Contributions": shares} {
				if !errors.Is(err, ErrNotFinite) {
					t.Errorf("%s, %v: %v, want ErrNotFinite", what, p, err)
				}
			}
		}
	}
}

// TestSegmentsOfTemplate gives a single text another segment than 0, which all ways through the
// stack look up, and one that there is not.
func TestSegmentsOfTemplate(t *testing.T) {
	const text = `"Sequence": {"id": "A", "type_id": `
	file := string(variant(t, nil)["tokenizer.json"].Data)
	with := func(segment string) *Model {
		return mustLoad(t, variant(t, map[string]string{"tokenizer_config.json": `{}`, "tokenizer.json": strings.Replace(file, text+"0}", text+segment+"}", 1)}), Options{})
	}
	m, two := with("1"), [2]string{"the fox", "a fox"}
	r, err := m.EncodeTokens(t.Context(), two[:1], EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(tokenStates(t, m, two[0]), r.States[0]); d > 1e-6 {
		t.Errorf("the states that Inspect hands out differ by %v", d)
	}
	if d := difference(tokenStates(t, with("0"), two[0]), r.States[0]); d < 1e-3 {
		t.Errorf("another segment changes the states by %v only", d)
	}
	m = with("2") // of tables with 2 rows
	_, encode := m.Encode(t.Context(), two[:], EncodeOptions{})
	_, inspect := m.Inspect(t.Context(), two[0], InspectOptions{})
	_, shares := m.Contributions(t.Context(), two, [2]string{})
	for what, err := range map[string]error{"Encode": encode, "Inspect": inspect, "Contributions": shares} {
		if !errors.Is(err, ErrTokenID) {
			t.Errorf("%s: %v, want ErrTokenID", what, err)
		}
	}
}

func TestDimensions(t *testing.T) {
	m := mustLoad(t, variant(t, nil), Options{})
	full, cut := encode(t, m, EncodeOptions{}, sampleTexts...), encode(t, m, EncodeOptions{Dimensions: 16}, sampleTexts...)
	for i := range full {
		want := append([]float32(nil), full[i][:16]...)
		pooling.Normalize(want)
		if d := difference(cut[i], want); d > 1e-6 {
			t.Errorf("text %d differs by %.2g", i, d)
		}
	}
	for _, n := range []int{-1, 49} {
		if _, err := m.Encode(context.Background(), sampleTexts, EncodeOptions{Dimensions: n}); !errors.Is(err, ErrDimensions) {
			t.Errorf("Dimensions %d: %v, want ErrDimensions", n, err)
		}
	}
}

const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 90868376\n"

// TestRefused loads damaged and unknown checkpoints and wants an error that names file, field and
// what is allowed. TestMissing wants to be told what to do where a checkpoint has its parts in
// formats that are not read.
func TestMissing(t *testing.T) {
	for _, test := range []struct{ missing, there, want string }{
		{"model.safetensors", "pytorch_model.bin", "model.safetensors.index.json exists, and pytorch_model.bin is not read; load and save"},
		{"model.safetensors", "onnx/model.onnx", "onnx/model.onnx is not read"},
		{"model.safetensors", "", "neither model.safetensors nor model.safetensors.index.json exists: file"},
		{"tokenizer.json", "vocab.txt", "tokenizer.json: file does not exist; to convert vocab.txt, load and save"},
		{"tokenizer.json", "", "tokenizer.json: file does not exist"},
		{"1_Pooling/config.json", "", "1_Pooling/config.json: file does not exist; modules.json wants the folder 1_Pooling for Pooling"},
		{"config.json", "", "the folder of a checkpoint has config.json, tokenizer.json and model.safetensors"},
	} {
		files := map[string]string{test.missing: ""}
		if test.there != "" {
			files[test.there] = "x"
		}
		if _, err := Load(variant(t, files), Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s instead of %s: %v, want %q", test.there, test.missing, err, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	config := func(name, value string) map[string]string {
		return map[string]string{"config.json": edited(t, "config.json", map[string]string{name: value})}
	}
	pool := func(text string) map[string]string { return map[string]string{"1_Pooling/config.json": text} }
	module := func(class, dir string) map[string]string {
		return map[string]string{"modules.json": fmt.Sprintf(oldModules, fmt.Sprintf(`,{"idx":2,"name":"2","path":%q,"type":"a.b.%s"}`, dir, class)),
			"2_Dense/config.json": `{"in_features":48,"out_features":10,"activation_function":"x.Softmax"}`}
	}
	nan := bytes.Clone(variant(t, nil)["model.safetensors"].Data)
	copy(nan[len(nan)/8*4:], []byte{0, 0, 0xc0, 0x7f}) // in the word table, which takes most of the file
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"unknown family", config("model_type", `"deberta-v2"`), []string{"config.json", "model_type", `"deberta-v2"`, "bert, camembert"}},
		{"no layers", config("num_hidden_layers", "0"), []string{"config.json", "num_hidden_layers", "is 0", "1 to 512"}},
		{"a billion layers", config("num_hidden_layers", "1000000000"), []string{"num_hidden_layers", "1000000000"}},
		{"negative", config("hidden_size", "-48"), []string{"hidden_size", "-48"}},
		{"string", config("hidden_size", `"48"`), []string{"hidden_size", `"48"`, "an integer"}},
		{"exponent", config("vocab_size", "1e3"), []string{"vocab_size", "1e3"}},
		{"fraction", config("num_attention_heads", "4.0"), []string{"num_attention_heads", "4.0"}},
		{"missing", config("intermediate_size", ""), []string{"intermediate_size", "is missing"}},
		{"null", config("max_position_embeddings", "null"), []string{"max_position_embeddings", "is missing"}},
		{"heads do not divide", config("num_attention_heads", "5"), []string{"hidden size 48", "5 attention heads"}},
		{"eps 0", config("layer_norm_eps", "0"), []string{"layer_norm_eps", "is 0"}},
		{"eps as text", config("layer_norm_eps", `"1e-5"`), []string{"layer_norm_eps", `"1e-5"`}},
		{"no segments", config("type_vocab_size", "0"), []string{"type_vocab_size", "is 0"}},
		{"activation", config("hidden_act", `"quick_gelu"`), []string{"hidden_act", `"quick_gelu"`, "gelu_new"}},
		{"positions", config("position_embedding_type", `"relative_key"`), []string{"position_embedding_type", `"relative_key"`, "absolute"}},
		{"decoder", config("is_decoder", "true"), []string{"is_decoder", "only false"}},
		{"config is no JSON", map[string]string{"config.json": "{"}, []string{"config.json", "unexpected"}},
		{"config is a list", map[string]string{"config.json": "[]"}, []string{"config.json", "want a JSON object: byte 0: found '['"}},
		{"config is HTML", map[string]string{"config.json": "<html>"}, []string{"config.json: want a JSON object: byte 0: found '<'"}},
		{"tokenizer is HTML", map[string]string{"tokenizer.json": "<html>"}, []string{"tokenizer.json: byte 0"}},
		{"pointers of git-lfs", map[string]string{"model.safetensors": lfsPointer}, []string{"model.safetensors", "git-lfs"}},
		{"a tokenizer's pointer", map[string]string{"tokenizer.json": lfsPointer}, []string{"tokenizer.json", "git-lfs"}},
		{"field twice", map[string]string{"config.json": `{"model_type":"bert","model_type":"bert"}`}, []string{"config.json", `"model_type" occurs twice`}},
		{"two wrong fields", map[string]string{"config.json": edited(t, "config.json", map[string]string{"hidden_act": `"x"`, "vocab_size": "0"})},
			[]string{"hidden_act", "vocab_size"}},
		{"no config", map[string]string{"config.json": ""}, []string{"config.json"}},
		{"no weights", map[string]string{"model.safetensors": ""}, []string{"model.safetensors"}},
		{"no tokenizer", map[string]string{"tokenizer.json": ""}, []string{"tokenizer.json"}},
		{"fewer layers than the file", config("num_hidden_layers", "2"), []string{"encoder.layer.2.", "not known", "and 11 more"}},
		{"more layers than the file", config("num_hidden_layers", "4"), []string{"encoder.layer.3.", "is missing", "and 11 more"}},
		{"another width", config("intermediate_size", "95"), []string{"intermediate.dense.weight is [96 48], want [95 48]"}},
		{"smaller vocabulary", config("vocab_size", "100"), []string{"817", "100"}},
		{"NaN", map[string]string{"model.safetensors": string(nan)}, []string{"model.safetensors", "NaN"}},
		{"cut", map[string]string{"model.safetensors": string(nan[:len(nan)-1])}, []string{"model.safetensors"}},
		{"modules not a list", map[string]string{"modules.json": "{}"}, []string{"modules.json", "array"}},
		{"module outside", module("Normalize", "../x"), []string{"module 2", "path", "inside"}},
		{"unknown module", module("LSTM", "2_LSTM"), []string{"modules.json", `"LSTM"`, "Dense, LayerNorm"}},
		{"unknown activation of Dense", module("Dense", "2_Dense"), []string{"2_Dense/config.json", "activation_function", "x.Softmax"}},
		{"CLIP", map[string]string{"modules.json": `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.CLIPModel"}]`}, []string{`"CLIPModel"`}},
		{"pooling width", pool(`{"word_embedding_dimension":384}`), []string{"1_Pooling/config.json", "384", "48"}},
		{"pooling mode", pool(`{"word_embedding_dimension":48,"pooling_mode":"average"}`), []string{"pooling_mode", "average", "lasttoken"}},
		{"pooling without end", pool(`{"word_embedding_dimension":48,"pooling_mode":["cls"` + strings.Repeat(`,"cls"`, 1000) + `]}`), []string{"pooling_mode", "1 to 16"}},
		{"pooling of ours", pool(`{"word_embedding_dimension":48,"pooling_mode":["attention","cls"]}`), []string{"pooling_mode", "attention"}},
		{"pooling contradiction", pool(`{"word_embedding_dimension":48,"pooling_mode":"cls","pooling_mode_mean_tokens":true}`), []string{"pooling_mode", "[mean]"}},
		{"pooling flag unknown", pool(`{"word_embedding_dimension":48,"pooling_mode_first":true}`), []string{"pooling_mode_first"}},
		{"pooling flag as text", pool(`{"word_embedding_dimension":48,"pooling_mode_cls_token":"true"}`), []string{"pooling_mode_cls_token", "true or false"}},
		{"length 0", map[string]string{"sentence_bert_config.json": `{"max_seq_length":0}`}, []string{"sentence_bert_config.json", "max_seq_length"}},
		{"default prompt unknown", map[string]string{"config_sentence_transformers.json": `{"prompts":{"a":"b"},"default_prompt_name":"c"}`},
			[]string{"config_sentence_transformers.json", "default_prompt_name", `"c"`}},
		{"default prompt of none", map[string]string{"config_sentence_transformers.json": `{"default_prompt_name":"c"}`},
			[]string{"default_prompt_name", `"c", but the checkpoint has no prompts`}},
		{"prompt not a text", map[string]string{"config_sentence_transformers.json": `{"prompts":{"a":1}}`}, []string{"prompts", "a is 1"}},
	}
	inWeights := []string{"pointers of git-lfs", "no weights", "fewer layers than the file", "more layers than the file", "another width", "NaN", "cut"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(variant(t, test.files), Options{})
			if checked := Check(withoutWeights{variant(t, test.files)}); slices.Contains(inWeights, test.name) != (checked == nil) || checked != nil && !strings.HasPrefix(err.Error(), checked.Error()) {
				t.Errorf("Check: %v, Load: %v", checked, err)
			}
			for _, part := range test.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want one with %q", err, part)
				}
			}
		})
	}
	for name, o := range map[string]Options{"threads": {Threads: -1}, "too many threads": {Threads: 1 << 30}, "pooling": {Pooling: "average"}, "repeated pooling": {Pooling: "mean+cls+mean"}, "precision": {Precision: 9}, "length": {MaxSeqLength: 81}} {
		if _, err := Load(variant(t, nil), o); !errors.Is(err, ErrConfig) {
			t.Errorf("Options with bad %s: %v, want ErrConfig", name, err)
		}
	}
}

// FuzzConfig feeds config.json; whatever it says, loading ends with a model that works or with an
// error.
func FuzzConfig(f *testing.F) {
	for _, dir := range fixtures(f) {
		b, err := os.ReadFile(dir + "/config.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	base := variant(f, map[string]string{"sentence_bert_config.json": ""})
	f.Fuzz(func(t *testing.T, config []byte) {
		fsys := maps.Clone(base)
		fsys["config.json"] = &fstest.MapFile{Data: config}
		m, err := Load(fsys, Options{Threads: 1})
		if err != nil {
			return
		}
		if _, err := m.Encode(context.Background(), sampleTexts, EncodeOptions{}); err != nil {
			t.Error(err)
		}
	})
}
