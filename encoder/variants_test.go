package encoder

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/searchd/internal/simd"
)

// TestSameModelOtherwise writes one checkpoint in other ways and wants the same vectors.
func TestSameModelOtherwise(t *testing.T) {
	want := encode(t, mustLoad(t, variant(t, nil), Options{}), EncodeOptions{}, sampleTexts...)
	file := variant(t, nil)["model.safetensors"].Data
	header, data := splitFile(t, file)
	legacy, prefixed := map[string]entry{}, map[string]entry{}
	for name, e := range header {
		legacy[strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta").Replace(name)] = e
		prefixed["bert."+name] = e
	}
	first, second, index := shards(header, data)
	for name, files := range map[string]map[string]string{
		"gamma and beta": {"model.safetensors": joinFile(legacy, data)},
		"prefix":         {"model.safetensors": joinFile(prefixed, data)},
		"shards": {"model.safetensors": "", "model.safetensors.index.json": index,
			"model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": second},
	} {
		t.Run(name, func(t *testing.T) {
			for i, got := range encode(t, mustLoad(t, variant(t, files), Options{}), EncodeOptions{}, sampleTexts...) {
				if d := difference(got, want[i]); d != 0 {
					t.Errorf("text %d differs by %.2g", i, d)
				}
			}
		})
	}
}

// TestTransformerFolder puts the transformer into a folder of its own, as old checkpoints have it.
func TestTransformerFolder(t *testing.T) {
	want := encode(t, mustLoad(t, variant(t, nil), Options{}), EncodeOptions{}, sampleTexts...)
	fsys := fstest.MapFS{}
	for name, f := range variant(t, nil) {
		switch name {
		case "modules.json":
			f = &fstest.MapFile{Data: []byte(strings.Replace(string(f.Data), `"path": ""`, `"path": "0_Transformer"`, 1))}
			if !strings.Contains(string(f.Data), "0_Transformer") {
				t.Fatal("modules.json of testdata is written otherwise than this test expects")
			}
		case "1_Pooling/config.json", "expected.json":
		default:
			name = "0_Transformer/" + name
		}
		fsys[name] = f
	}
	for i, got := range encode(t, mustLoad(t, fsys, Options{}), EncodeOptions{}, sampleTexts...) {
		if d := difference(got, want[i]); d != 0 {
			t.Errorf("text %d differs by %.2g", i, d)
		}
	}
}

// TestModernBERTConfigs writes the layers and bases of ModernBERT as newer releases of transformers
// do.
func TestModernBERTConfigs(t *testing.T) {
	root := os.DirFS("testdata/modernbert")
	old := mustLoad(t, root, Options{})
	b, err := fs.ReadFile(root, "config.json")
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"} {
		delete(o, name)
	}
	o["layer_types"] = []string{"full_attention", "sliding_attention", "sliding_attention", "full_attention"}
	o["rope_parameters"] = map[string]any{
		"full_attention":    map[string]any{"rope_type": "default", "rope_theta": 160000.0},
		"sliding_attention": map[string]any{"rope_type": "default", "rope_theta": 10000.0},
	}
	if b, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	m := mustLoad(t, overlay{root, map[string]string{"config.json": string(b)}}, Options{})
	want := encode(t, old, EncodeOptions{}, sampleTexts...)
	for i, got := range encode(t, m, EncodeOptions{}, sampleTexts...) {
		if d := difference(got, want[i]); d != 0 {
			t.Errorf("text %d differs by %.2g", i, d)
		}
	}
}

// TestSegments scores pairs with and without what asks for segment ids; the head of BERT must see
// them.
func TestSegments(t *testing.T) {
	config := edited(t, "config.json", map[string]string{"architectures": `["BertForSequenceClassification"]`})
	file := variant(t, nil)["model.safetensors"].Data
	header, data := splitFile(t, file)
	at := len(data)
	header["classifier.weight"] = entry{"F32", []int{1, 48}, [2]int{at, at + 4*48}}
	header["classifier.bias"] = entry{"F32", []int{1}, [2]int{at + 4*48, at + 4*49}}
	for i := range 49 {
		data = binary.LittleEndian.AppendUint32(data, 0x3d000000+uint32(i)<<18)
	}
	score := func(tokenizerConfig string) float32 {
		m := mustLoad(t, variant(t, map[string]string{"modules.json": "", "config.json": config, "model.safetensors": joinFile(header, data),
			"tokenizer_config.json": tokenizerConfig}), Options{})
		s, err := m.Score(t.Context(), [][2]string{{"what is attention?", "Attention looks at every token."}})
		if err != nil {
			t.Fatal(err)
		}
		return s.Logits[0]
	}
	with, named := score(`{"model_max_length":64}`), score(`{"model_input_names":["input_ids","token_type_ids","attention_mask"]}`)
	without, none := score(""), score(`{"model_input_names":["input_ids","attention_mask"]}`)
	if with != named || without != none || with == without {
		t.Errorf("scores %v and %v with segments, %v and %v without", with, named, without, none)
	}
}

// TestActivationOfCrossEncoder wants what config_sentence_transformers.json says, where it says
// something.
func TestActivationOfCrossEncoder(t *testing.T) {
	for config, named := range map[string]bool{
		``:                       true, // of no account
		`{"activation_fn":null}`: true,
		`{"activation_fn":"torch.nn.modules.linear.Identity"}`:                                false,
		`{"activation_fn":"torch.nn.modules.activation.Sigmoid","model_type":"CrossEncoder"}`: true,
	} {
		for _, old := range []string{"Identity", "Sigmoid"} {
			b, err := os.ReadFile("testdata/cross-xlmr/config.json")
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{"config.json": strings.Replace(string(b), "{", `{"sbert_ce_default_activation_function":"torch.nn.`+old+`",`, 1)}
			if config != "" {
				files["config_sentence_transformers.json"] = config
			}
			want := named
			if !strings.Contains(config, "torch") {
				want = old == "Sigmoid"
			}
			if m := mustLoad(t, overlay{os.DirFS("testdata/cross-xlmr"), files}, Options{}); m.Info().Sigmoid != want {
				t.Errorf("%s over %s: sigmoid %v", config, old, m.Info().Sigmoid)
			}
		}
	}
}

// entry is a tensor in the header of a file.
type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

func splitFile(t *testing.T, file []byte) (map[string]entry, []byte) {
	t.Helper()
	n := binary.LittleEndian.Uint64(file)
	header := map[string]entry{}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &raw); err != nil {
		t.Fatal(err)
	}
	delete(raw, "__metadata__")
	for name, r := range raw {
		var e entry
		if err := json.Unmarshal(r, &e); err != nil {
			t.Fatal(err)
		}
		header[name] = e
	}
	return header, slices.Clone(file[8+n:])
}

func joinFile(header map[string]entry, data []byte) string {
	h, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(h)))) + string(h) + string(data)
}

// shards deals the tensors out to two files in turn.
func shards(header map[string]entry, data []byte) (first, second, index string) {
	var parts [2][]byte
	headers := [2]map[string]entry{{}, {}}
	names := [2]string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}
	weightMap := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(header)) {
		e, k := header[name], i%2
		at := len(parts[k])
		parts[k] = append(parts[k], data[e.Offsets[0]:e.Offsets[1]]...)
		headers[k][name] = entry{e.DType, e.Shape, [2]int{at, len(parts[k])}}
		weightMap[name] = names[k]
	}
	m, err := json.Marshal(weightMap)
	if err != nil {
		panic(err)
	}
	return joinFile(headers[0], parts[0]), joinFile(headers[1], parts[1]), fmt.Sprintf(`{"metadata":{"total_size":%d},"weight_map":%s}`, len(data), m)
}

// overlay is a file system with some files replaced.
type overlay struct {
	fs.FS
	files map[string]string
}

func (o overlay) Open(name string) (fs.File, error) {
	if text, ok := o.files[name]; ok {
		return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	}
	return o.FS.Open(name)
}

// TestAlbertActivation: a config that names none means the default of AlbertConfig, which is not
// BERT's.
func TestAlbertActivation(t *testing.T) {
	const config = `{"model_type":"albert","vocab_size":9,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,"max_position_embeddings":9%s}`
	for field, want := range map[string]simd.Activation{"": simd.GELUTanh, `,"hidden_act":"gelu"`: simd.GELU} {
		f, err := parseFields("config.json", fmt.Appendf(nil, config, field))
		if err != nil {
			t.Fatal(err)
		}
		if a, err := readArchitecture(f); err != nil || a.act != want {
			t.Errorf("hidden_act %q: activation %v, error %v, want %v", field, a.act, err, want)
		}
	}
}
