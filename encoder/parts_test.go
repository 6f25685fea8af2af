package encoder

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestParts changes one file of a checkpoint after the other: what changes vectors changes its part
// alone, what does not changes none.
func TestParts(t *testing.T) {
	dense := func(seed uint64, activation string) map[string]string {
		return map[string]string{
			"modules.json":              fmt.Sprintf(oldModules, `,{"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"}`),
			"2_Dense/config.json":       fmt.Sprintf(`{"in_features":48,"out_features":10,"bias":true,"activation_function":"torch.nn.modules.activation.%s"}`, activation),
			"2_Dense/model.safetensors": string(draw(seed, map[string][]int{"linear.weight": {10, 48}, "linear.bias": {10}}).safetensors()),
		}
	}
	tokenizer, err := os.ReadFile("testdata/bert-mean/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	with := func(old, next string) map[string]string {
		if !strings.Contains(string(tokenizer), old) {
			t.Fatalf("tokenizer.json has no %s", old)
		}
		return map[string]string{"tokenizer.json": strings.Replace(string(tokenizer), old, next, 1)}
	}
	prompts := func(p string) map[string]string {
		return map[string]string{"config_sentence_transformers.json": `{"prompts":` + p + `}`}
	}
	pooled := func(config string) map[string]string { return map[string]string{"1_Pooling/config.json": config} }
	tests := []struct {
		name       string
		was, is    map[string]string
		want       string // the part
		sameVector bool
	}{
		{name: "nothing", sameVector: true},
		{name: "white space", is: with(`{`, "{\n\n "), sameVector: true},
		{name: "truncation of the tokenizer", is: with(`"truncation": null`, `"truncation": {"max_length": 9}`), sameVector: true},
		{name: "name and version", is: map[string]string{"config.json": edited(t, "config.json", map[string]string{"transformers_version": `"9.9"`, "_name_or_path": `"x"`})}, sameVector: true},
		{name: "prompt for queries", was: prompts(`{"query":"q: "}`), is: prompts(`{"query":"ask: "}`), sameVector: true},
		{name: "the other layout of pooling", was: pooled(`{"word_embedding_dimension":48,"pooling_mode_cls_token":true}`), is: pooled(`{"embedding_dimension":48,"pooling_mode":"cls"}`), sameVector: true},
		{name: "epsilon", is: map[string]string{"config.json": edited(t, "config.json", map[string]string{"layer_norm_eps": `0.1`})}, want: "config"},
		{name: "normalizer", is: with(`"lowercase": true`, `"lowercase": false`), want: "tokenizer"},
		{name: "lower case", was: map[string]string{"sentence_bert_config.json": `{"max_seq_length":64}`},
			is: map[string]string{"sentence_bert_config.json": `{"max_seq_length":64,"do_lower_case":true}`}, want: "tokenizer", sameVector: true},
		{name: "prompt for documents", was: prompts(`{"query":"q: "}`), is: prompts(`{"query":"q: ","document":"d: "}`), want: "prompt"},
		{name: "default prompt", was: prompts(`{"query":"q: "}`), is: prompts(`{"query":"q: "},"default_prompt_name":"query"`), want: "prompt"},
		{name: "the prompt's tokens", was: pooled(`{"word_embedding_dimension":48}`), is: pooled(`{"word_embedding_dimension":48,"include_prompt":false}`), want: "modules", sameVector: true},
		{name: "a Dense module", is: dense(1, "Tanh"), want: "modules"},
		{name: "its weights", was: dense(1, "Tanh"), is: dense(2, "Tanh"), want: "modules"},
		{name: "its activation", was: dense(1, "Tanh"), is: dense(1, "GELU"), want: "modules"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := mustLoad(t, variant(t, test.was), Options{}), mustLoad(t, variant(t, test.is), Options{})
			x, y := encode(t, a, EncodeOptions{Prompt: PromptDocument}, "What a day!")[0], encode(t, b, EncodeOptions{Prompt: PromptDocument}, "What a day!")[0]
			if len(x) == len(y) && !test.sameVector && difference(x, y) == 0 {
				t.Error("the vector is the same: this test is wrong")
			} else if test.sameVector && test.want == "" && difference(x, y) != 0 {
				t.Error("the vector is another: this test is wrong")
			}
			if a.Info().SHA256 != b.Info().SHA256 {
				t.Error("other weights")
			}
			if got := strings.Join(a.Info().Parts.Differ(b.Info().Parts), " "); got != test.want {
				t.Errorf("what differs is %q, want %q", got, test.want)
			}
		})
	}
}

// TestPartsStay: collections keep these sums; another one for the same files would shut them all
// out.
func TestPartsStay(t *testing.T) {
	const none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	want := Parts{
		Config:    "53875bb208d9766a86e00e522a67d443d448d29e059aeab0f5e4ac53b32382c2",
		Tokenizer: "a79f217320782bc97770204bbcc86df3fd4cd7d13f09d0a1b8081eaa5c374efb",
		Modules:   none, Prompt: none,
	}
	if got := mustLoad(t, variant(t, nil), Options{}).Info().Parts; got != want {
		t.Errorf("parts of testdata/bert-mean: got %#v, want %#v", got, want)
	}
}
