package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"example.com/searchd/encoder/tokenizer"
)

// fallbackTokens is the greatest length where a checkpoint names none at all.
const fallbackTokens = 512

// readLength finds the length at which texts are cut: that of sentence_bert_config.json, or else
// the smaller limit of config.json and tokenizer_config.json, but never more than the position
// table has. The truncation stored in tokenizer.json does not count. It also records whether pairs
// get segment ids, and returns the settings that override tokenizer.json.
func (m *Model) readLength(fsys fs.FS, dir string, a *architecture) (o tokenizer.Options, err error) {
	lengths, err := readLengthConfig(fsys, dir)
	if err != nil {
		return o, err
	}
	c, err := readTokenizerConfig(fsys, dir)
	if err != nil {
		return o, err
	}
	o = c.options
	o.LowerCase = lengths.lowerCase
	m.segments, a.padToken = c.segments && a.types > 1, c.padding
	limit := lengths.limit
	if limit == 0 {
		limit = least(c.limit, a.maxTokens, a.statedTokens)
	}
	if limit == 0 {
		limit = fallbackTokens
	}
	m.maxLen, m.queryLen = least(cmp.Or(lengths.document, limit), a.maxTokens), least(cmp.Or(lengths.query, limit), a.maxTokens)
	if n := m.options.MaxSeqLength; n > 0 {
		if a.maxTokens > 0 && n > a.maxTokens {
			return o, fmt.Errorf("%w: Options.MaxSeqLength is %d, the positions of the model end at %d", ErrConfig, n, a.maxTokens)
		}
		m.maxLen = min(n, maxPositions)
		m.queryLen = least(lengths.query, m.maxLen)
	}
	return o, nil
}

// tokenizerConfig holds the settings of tokenizer_config.json that are used.
type tokenizerConfig struct {
	limit    int // model_max_length; 0: none, for which tokenizers store 1e30
	padding  string
	segments bool // pairs get segment ids
	options  tokenizer.Options
}

// readTokenizerConfig reads tokenizer_config.json. Without the file there are no segment ids, as in
// runtimes that go by it.
func readTokenizerConfig(fsys fs.FS, dir string) (c tokenizerConfig, err error) {
	f, err := readFields(fsys, path.Join(dir, "tokenizer_config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if x := f.float("model_max_length", 0, 1, 1e40); x <= maxPositions {
		c.limit = int(x)
	}
	c.segments = true
	if names := f.strings("model_input_names"); names != nil {
		c.segments = slices.Contains(names, "token_type_ids")
	}
	if f.has("truncation_side") {
		c.options.Truncate = tokenizer.Right
		if f.oneOf("truncation_side", "right", "left", "right") == "left" {
			c.options.Truncate = tokenizer.Left
		}
	}
	c.padding = f.token("pad_token")
	c.options.Bert, c.options.PrefixSpace = f.bertSettings(), f.prefixSpace()
	c.options.Begin, c.options.NotBegin = f.wrapToken("add_bos_token", "bos_token", 0)
	c.options.End, c.options.NotEnd = f.wrapToken("add_eos_token", "eos_token", 1)
	return c, f.err()
}

// bertTokenizers are the classes, without Fast at the end, whose settings in tokenizer_config.json
// override the normalizer of tokenizer.json. Source: transformers tokenization_bert_fast.py and its
// relatives.
var bertTokenizers = []string{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer"}

// bertSettings reads do_lower_case and related settings; nil if they do not apply.
func (f *fields) bertSettings() *tokenizer.BertSettings {
	class := strings.TrimSuffix(f.string("tokenizer_class", bertTokenizers[0]), "Fast")
	if !f.has("do_lower_case") || !slices.Contains(bertTokenizers, class) {
		return nil
	}
	s := &tokenizer.BertSettings{LowerCase: f.bool("do_lower_case", true), ChineseChars: f.bool("tokenize_chinese_chars", true)}
	if f.has("strip_accents") {
		s.StripAccents = new(f.bool("strip_accents", false))
	}
	return s
}

// prefixTokenizers are the classes, without Fast at the end, whose add_prefix_space overrides that
// of tokenizer.json. Source: transformers tokenization_roberta_fast.py, tokenization_gpt2_fast.py.
var prefixTokenizers = []string{"RobertaTokenizer", "GPT2Tokenizer"}

// prefixSpace reads add_prefix_space; nil if it does not apply.
func (f *fields) prefixSpace() *bool {
	const name = "add_prefix_space"
	if !f.has(name) || !slices.Contains(prefixTokenizers, strings.TrimSuffix(f.string("tokenizer_class", ""), "Fast")) {
		return nil
	}
	return new(f.bool(name, false))
}

// customWrap is the class, without Fast at the end, that appends a token to texts in the code of
// Alibaba-NLP/gte-Qwen2 (tokenization_qwen.py); the class of the same name in transformers leaves
// the template of tokenizer.json alone.
const customWrap = "Qwen2Tokenizer"

// wrapTokenizers are the classes, without Fast at the end, that replace the template of
// tokenizer.json by one with or without begin and end tokens, and their default tokens. Source:
// transformers tokenization_llama_fast.py and its relatives.
var wrapTokenizers = map[string][2]string{
	"LlamaTokenizer":     {"<s>", "</s>"},
	"CodeLlamaTokenizer": {"<s>", "</s>"},
	"GemmaTokenizer":     {"<bos>", "<eos>"},
	"CohereTokenizer":    {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"},
	customWrap:           {},
}

// wrapToken returns the token called name: as put if the tokenizer adds it, as dropped if it is
// configured not to. With neither setting, and with any other class, both are empty.
func (f *fields) wrapToken(add, name string, side int) (put, dropped string) {
	class := strings.TrimSuffix(f.string("tokenizer_class", ""), "Fast")
	usual, ok := wrapTokenizers[class]
	if !ok || !f.has(add) {
		return "", ""
	}
	token := f.token(name)
	switch {
	case f.bool(add, false):
		return token, ""
	case class == customWrap:
		return "", ""
	}
	return "", cmp.Or(token, usual[side])
}

// token reads a token: a string, or an object that also has how it is found in texts.
func (f *fields) token(name string) string {
	if !f.has(name) {
		return ""
	}
	if f.raw[name][0] != '{' {
		return f.string(name, "")
	}
	return f.part(name).string("content", "")
}

// least returns the smallest of the numbers above 0, or 0.
func least(numbers ...int) int {
	least := 0
	for _, n := range numbers {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
