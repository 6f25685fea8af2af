package encoder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMaxSeqLength(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		option int
		want   int
	}{
		{"sentence_bert_config", nil, 0, 64},
		{"beyond the position table", map[string]string{"sentence_bert_config.json": `{"max_seq_length":500}`}, 0, 80},
		{"older name", map[string]string{"sentence_bert_config.json": "", "sentence_roberta_config.json": `{"max_seq_length":31}`}, 0, 31},
		{"newer layout without the field", map[string]string{"sentence_bert_config.json": `{"transformer_task":"feature-extraction"}`}, 0, 80},
		{"none: position table", map[string]string{"sentence_bert_config.json": ""}, 0, 80},
		{"none: tokenizer", map[string]string{"sentence_bert_config.json": "", "tokenizer_config.json": `{"model_max_length":20}`}, 0, 20},
		{"none: tokenizer without a limit", map[string]string{"sentence_bert_config.json": "",
			"tokenizer_config.json": `{"model_max_length":1000000000000000019884624838656}`}, 0, 80},
		{"option", nil, 70, 70},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := mustLoad(t, variant(t, test.files), Options{MaxSeqLength: test.option})
			if m.MaxSeqLength() != test.want {
				t.Fatalf("MaxSeqLength() = %d, want %d", m.MaxSeqLength(), test.want)
			}
			r, err := m.Encode(context.Background(), []string{strings.Repeat("fox ", 200), "fox"}, EncodeOptions{KeepIDs: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.IDs[0]) != test.want || !r.Truncated[0] || r.Truncated[1] || r.Tokens != test.want+len(r.IDs[1]) {
				t.Errorf("%d ids, truncated %v, %d tokens, want %d, [true false], %d", len(r.IDs[0]), r.Truncated, r.Tokens, test.want, test.want+len(r.IDs[1]))
			}
		})
	}
}

// TestMaxSeqLengthOfT5: the tokenizer's limit is the only one, for sentence-transformers does not
// look at n_positions.
func TestMaxSeqLengthOfT5(t *testing.T) {
	f, err := parseFields("config.json", []byte(`{"model_type":"t5","vocab_size":9,"d_model":8,"num_heads":2,"d_kv":4,"d_ff":8,"num_layers":1,"n_positions":512}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := readArchitecture(f)
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]int{`{"model_max_length":2048}`: 2048, `{"model_max_length":256}`: 256, `{}`: 512} {
		m := &Model{}
		if _, err := m.readLength(fstest.MapFS{"tokenizer_config.json": {Data: []byte(config)}}, ".", a); err != nil || m.maxLen != want {
			t.Errorf("%s: length %d, error %v, want %d", config, m.maxLen, err, want)
		}
	}
}

// TestTransformerConfig reads the transformer settings that sentence-transformers stores since
// release 5.4.
func TestTransformerConfig(t *testing.T) {
	const saved = `"modality_config":{"text":{"method":"forward","method_output_name":"last_hidden_state"}},"module_output_name":"token_embeddings"`
	long := []string{strings.Repeat("fox ", 200)}
	for config, want := range map[string][2]int{ // tokens of a document, of a query
		`{"transformer_task":"feature-extraction",` + saved + `}`:                                                                             {80, 80},
		`{"modality_config":{"image":{},"text":{"method":"forward","method_output_name":["last_hidden_state"]}}}`:                             {80, 80},
		`{` + saved + `,"query_length":7,"document_length":null}`:                                                                             {80, 7},
		`{` + saved + `,"query_length":70,"document_length":11,"query_expansion":null}`:                                                       {11, 70},
		`{` + saved + `,"document_length":500}`:                                                                                               {80, 80},
		`{` + saved + `,"max_seq_length":20,"document_length":30}`:                                                                            {30, 20},
		`{` + saved + `,"query_length":7,"processing_kwargs":{"text":{"max_length":9,"padding":"max_length","truncation":true}}}`:             {9, 9},
		`{"processing_kwargs":{"text":{"truncation":"only_first"},"common":{"return_tensors":"pt"},"image":{"a":1},"chat_template":{"b":1}}}`: {80, 80},
	} {
		m := mustLoad(t, variant(t, map[string]string{"sentence_bert_config.json": config}), Options{})
		for i, prompt := range []string{PromptDocument, PromptQuery} {
			r, err := m.Encode(t.Context(), long, EncodeOptions{Prompt: prompt, KeepIDs: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(r.IDs[0]); n != want[i] || !r.Truncated[0] {
				t.Errorf("%s: %s has %d tokens, want %d", config, prompt, n, want[i])
			}
		}
	}
	m := mustLoad(t, variant(t, map[string]string{"sentence_bert_config.json": `{"query_length":70,"document_length":11}`}), Options{MaxSeqLength: 50})
	if m.limit(PromptDocument) != 50 || m.limit(PromptQuery) != 50 {
		t.Errorf("Options.MaxSeqLength of 50: %d and %d tokens", m.limit(PromptDocument), m.limit(PromptQuery))
	}
	text := func(s string) string { return `{"modality_config":{"text":{` + s + `}}}` }
	for config, want := range map[string]string{
		text(`"method":"forward","method_output_name":"pooler_output"`):                 `modality_config: text: method_output_name is "pooler_output", want one of last_hidden_state`,
		text(`"method":"forward","method_output_name":["hidden_states","-2"]`):          `method_output_name is ["hidden_states","-2"], only last_hidden_state is supported`,
		text(`"method":"get_text_features","method_output_name":"last_hidden_state"`):   `text: method is "get_text_features"`,
		`{"modality_config":{"image":{}}}`:                                              `modality_config: text is missing`,
		`{"modality_config":{"message":{"format":"flat"},"text":{"method":"forward"}}}`: `modality_config: message is {"format":"flat"}`,
		`{"transformer_task":"fill-mask",` + saved + `}`:                                `method_output_name is "last_hidden_state", want one of logits`,
		`{"query_expansion":{"strategy":"fixed","length":32}}`:                          `query_expansion is {`,
		`{"query_length":0}`:                                                                     `query_length is 0`,
		`{"processing_kwargs":{"text":{"max_length":0}}}`:                                        `processing_kwargs: text: max_length is 0`,
		`{"processing_kwargs":{"text":{"truncation":false}}}`:                                    `truncation is false`,
		`{"processing_kwargs":{"text":{"truncation":"only_second","add_special_tokens":false}}}`: `add_special_tokens is false`,
		`{"processing_kwargs":{"common":{"max_length":9}}}`:                                      `common: max_length is 9`,
	} {
		_, err := Load(variant(t, map[string]string{"sentence_bert_config.json": config}), Options{})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

// TestTokenizerConfig wants what transformers does where tokenizer_config.json and tokenizer.json
// differ.
func TestTokenizerConfig(t *testing.T) {
	long := strings.Repeat("fox ", 200) + "the end"
	plain := mustLoad(t, variant(t, nil), Options{})
	ids := func(m *Model, text string) []int32 {
		r, err := m.Encode(context.Background(), []string{text}, EncodeOptions{KeepIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.IDs[0]
	}
	all := plain.Tokenizer().EncodeBare(long).IDs
	first, last := all[:62], all[len(all)-62:]
	lower, upper := ids(plain, "the fox"), ids(plain, "The Fox")
	if !slices.Equal(lower, upper) {
		t.Fatal("the tokenizer of testdata is not an uncased one, as this test expects")
	}
	for config, want := range map[string]struct {
		ids   []int32 // of the long text
		cased bool
		parts string
	}{
		`{"truncation_side":"right"}`:                                                {first, false, ""},
		`{"truncation_side":"left"}`:                                                 {last, false, ""},
		`{"do_lower_case":true}`:                                                     {first, false, ""},
		`{"do_lower_case":false}`:                                                    {first, true, "tokenizer"},
		`{"do_lower_case":false,"tokenizer_class":"BertTokenizerFast"}`:              {first, true, "tokenizer"},
		`{"do_lower_case":false,"tokenizer_class":"PreTrainedTokenizerFast"}`:        {first, false, ""},
		`{"do_lower_case":true,"strip_accents":null,"tokenize_chinese_chars":false}`: {first, false, "tokenizer"},
	} {
		m := mustLoad(t, variant(t, map[string]string{"tokenizer_config.json": config}), Options{})
		if got := ids(m, long); !slices.Equal(got[1:len(got)-1], want.ids) {
			t.Errorf("%s: ids %v, want %v between the special ones", config, got, want.ids)
		}
		if got := !slices.Equal(ids(m, "The Fox"), lower); got != want.cased {
			t.Errorf("%s: case counts: %v, want %v", config, got, want.cased)
		}
		if got := strings.Join(m.Info().Parts.Differ(plain.Info().Parts), " "); got != want.parts {
			t.Errorf("%s: parts that differ: %q, want %q", config, got, want.parts)
		}
	}
	for config, want := range map[string][]int32{`{}`: all[:64], `{"truncation_side":"left"}`: all[len(all)-64:]} {
		m := mustLoad(t, variant(t, map[string]string{"tokenizer_config.json": config}), Options{})
		r, err := m.EncodeIDs(t.Context(), [][]int32{all}, EncodeOptions{KeepIDs: true})
		if err != nil || !slices.Equal(r.IDs[0], want) || !r.Truncated[0] {
			t.Errorf("%s: of token ids %v are left, %v, want %v", config, r, err, want)
		}
	}
	sums := map[string]string{}
	for _, settings := range []string{``, `"do_lower_case":false`, `"do_lower_case":true,"strip_accents":false`, `"do_lower_case":true,"tokenize_chinese_chars":false`} {
		sum := mustLoad(t, variant(t, map[string]string{"tokenizer_config.json": "{" + settings + "}"}), Options{}).Info().Parts.Tokenizer
		if other, ok := sums[sum]; ok {
			t.Errorf("{%s} and {%s} are one tokenizer to Parts", settings, other)
		}
		sums[sum] = settings
	}
	root := os.DirFS("testdata/qwen3-lasttoken")
	for config, doubled := range map[string]bool{
		`{"tokenizer_class":"Qwen2Tokenizer","add_eos_token":true,"eos_token":"<mask>"}`:                                      true,
		`{"tokenizer_class":"LlamaTokenizerFast","add_eos_token":true,"eos_token":{"content":"<mask>"}}`:                      true,
		`{"tokenizer_class":"LlamaTokenizer","add_bos_token":true,"bos_token":"<s>","add_eos_token":true,"eos_token":"</s>"}`: false, // there already
		`{"tokenizer_class":"LlamaTokenizer","add_eos_token":false,"eos_token":"<mask>"}`:                                     false,
		`{"tokenizer_class":"PreTrainedTokenizerFast","add_eos_token":true,"eos_token":"<mask>"}`:                             false,
	} {
		m := mustLoad(t, overlay{root, map[string]string{"tokenizer_config.json": config}}, Options{})
		mask, ok := m.Tokenizer().ID("<mask>")
		if got := ids(m, "the fox"); !ok || slices.Contains(got, mask) != doubled {
			t.Errorf("%s: ids %v, <mask> is %d", config, got, mask)
		}
	}
	for config, want := range map[string]string{
		`{"tokenizer_class":"LlamaTokenizerFast"}`:                                                               "begin end",
		`{"tokenizer_class":"LlamaTokenizerFast","add_bos_token":false}`:                                         "end",
		`{"tokenizer_class":"LlamaTokenizer","add_bos_token":true,"bos_token":"<s>","add_eos_token":false}`:      "begin",
		`{"tokenizer_class":"CodeLlamaTokenizerFast","add_bos_token":false,"add_eos_token":false}`:               "",
		`{"tokenizer_class":"GemmaTokenizerFast","add_bos_token":false,"bos_token":"<s>"}`:                       "end",
		`{"tokenizer_class":"GemmaTokenizer","add_bos_token":false}`:                                             "begin end", // <bos> is not there
		`{"tokenizer_class":"CohereTokenizerFast","add_eos_token":false,"eos_token":{"content":"</s>"}}`:         "begin",
		`{"tokenizer_class":"Qwen2TokenizerFast","add_bos_token":false,"bos_token":"<s>","add_eos_token":false}`: "begin end",
		`{"tokenizer_class":"PreTrainedTokenizerFast","add_bos_token":false,"bos_token":"<s>"}`:                  "begin end",
	} {
		m := mustLoad(t, overlay{root, map[string]string{"tokenizer_config.json": config}}, Options{})
		begin, _ := m.Tokenizer().ID("<s>")
		end, _ := m.Tokenizer().ID("</s>")
		list := ids(m, "the fox")
		got := ""
		if list[0] == begin {
			got = "begin "
		}
		if list[len(list)-1] == end {
			got += "end"
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: ids %v with %q, want %q", config, list, got, want)
		}
	}
	for config, want := range map[string]string{
		`{"tokenizer_class":"RobertaTokenizerFast","add_prefix_space":true}`:    "true",
		`{"tokenizer_class":"GPT2Tokenizer","add_prefix_space":false}`:          "false",
		`{"tokenizer_class":"RobertaTokenizer"}`:                                "nil",
		`{"tokenizer_class":"PreTrainedTokenizerFast","add_prefix_space":true}`: "nil",
	} {
		c, err := readTokenizerConfig(fstest.MapFS{"tokenizer_config.json": {Data: []byte(config)}}, ".")
		got := "nil"
		if p := c.options.PrefixSpace; p != nil {
			got = fmt.Sprint(*p)
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", config, got, err, want)
		}
	}
	_, err := Load(variant(t, map[string]string{"tokenizer_config.json": `{"truncation_side":"top"}`}), Options{})
	if err == nil || !strings.Contains(err.Error(), `tokenizer_config.json: truncation_side is "top", want one of left, right`) {
		t.Errorf("truncation_side top: %v", err)
	}
}
