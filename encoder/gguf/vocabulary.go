package gguf

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// Types of tokens.
const (
	tokenUnknown     = 2
	tokenControl     = 3
	tokenUserDefined = 4
)

// object is a JSON object.
type object = map[string]any

// vocabulary writes tokenizer.json.
func (c *converter) vocabulary() error {
	if text, ok := c.meta["tokenizer.huggingface.json"].(string); ok && text != "" {
		c.out.tokenizer = []byte(text)
		return nil
	}
	tokens, _ := c.meta["tokenizer.ggml.tokens"].([]string)
	if len(tokens) == 0 {
		c.fail("tokenizer.ggml.tokens is missing")
		return c.errs[0]
	}
	types, _ := c.meta["tokenizer.ggml.token_type"].([]float64)
	if types != nil && len(types) != len(tokens) {
		c.fail("tokenizer.ggml.token_type has %d entries, want one for each of %d tokens", len(types), len(tokens))
		return c.errs[0]
	}
	v := &vocabulary{converter: c, tokens: tokens, types: types}
	kind, _ := c.meta["tokenizer.ggml.model"].(string)
	out := object{"version": "1.0", "truncation": nil, "padding": nil, "decoder": nil}
	switch kind {
	case "bert":
		v.wordPiece(out)
	case "gpt2":
		v.bytes(out)
	case "llama":
		v.sentencePiece(out)
	case "t5":
		v.unigram(out)
	default:
		c.fail("tokenizer.ggml.model is %.60q, want bert, gpt2, llama or t5", kind)
	}
	if len(c.errs) > 0 {
		return c.errs[0]
	}
	out["added_tokens"] = v.added()
	var err error
	c.out.tokenizer, err = json.Marshal(out)
	return err
}

type vocabulary struct {
	*converter
	tokens []string
	types  []float64
}

// is reports whether token id is of one of the given types.
func (v *vocabulary) is(id int, types ...float64) bool {
	return v.types != nil && slices.Contains(types, v.types[id])
}

// ids maps the tokens to their places; of equal ones the first counts.
func (v *vocabulary) ids() map[string]int {
	ids := make(map[string]int, len(v.tokens))
	for i, token := range v.tokens {
		if _, ok := ids[token]; !ok {
			ids[token] = i
		}
	}
	return ids
}

// special returns the id under the first of the keys that is there.
func (v *vocabulary) special(keys ...string) (id int, ok bool) {
	for _, key := range keys {
		if n, found := v.meta["tokenizer.ggml."+key].(int64); found && n >= 0 && n < int64(len(v.tokens)) {
			return int(n), true
		}
	}
	return 0, false
}

// flag reads a setting of the tokenizer.
func (v *vocabulary) flag(name string, def bool) bool {
	if b, ok := v.meta["tokenizer.ggml."+name].(bool); ok {
		return b
	}
	return def
}

// added lists the tokens that are found in a text as they are.
func (v *vocabulary) added() []object {
	list := []object{}
	seen := map[string]bool{}
	for i, token := range v.tokens {
		if v.is(i, tokenUnknown, tokenControl, tokenUserDefined) && token != "" && !seen[token] {
			seen[token] = true
			list = append(list, object{"id": i, "content": token, "special": !v.is(i, tokenUserDefined), "normalized": false,
				"single_word": false, "lstrip": false, "rstrip": false})
		}
	}
	return list
}

// template puts begin and end tokens around texts, if the file or the kind of tokenizer says so.
func (v *vocabulary) template(begin, end bool, beginKeys, endKeys []string) object {
	sequence := func(id string, kind int) object { return object{"Sequence": object{"id": id, "type_id": kind}} }
	single, pair, special := []object{sequence("A", 0)}, []object{sequence("A", 0)}, object{}
	token := func(id, kind int) object {
		text := v.tokens[id]
		special[text] = object{"id": text, "ids": []int{id}, "tokens": []string{text}}
		return object{"SpecialToken": object{"id": text, "type_id": kind}}
	}
	if id, ok := v.special(beginKeys...); ok && v.flag("add_bos_token", begin) {
		single, pair = slices.Insert(single, 0, token(id, 0)), slices.Insert(pair, 0, token(id, 0))
	}
	id, ok := v.special(endKeys...)
	ok = ok && (v.flag("add_eos_token", end) || v.flag("add_sep_token", false))
	if ok {
		single, pair = append(single, token(id, 0)), append(pair, token(id, 0))
	}
	if pair = append(pair, sequence("B", 1)); ok {
		pair = append(pair, token(id, 1))
	}
	return object{"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
}

// wordPiece writes the tokenizer of BERT. The file marks the begin of a word, tokenizer.json its
// continuation.
func (v *vocabulary) wordPiece(out object) {
	for i, token := range v.tokens {
		word, begins := strings.CutPrefix(token, "▁")
		switch {
		case begins:
			v.tokens[i] = word
		case v.is(i, tokenControl), strings.HasPrefix(token, "[") && strings.HasSuffix(token, "]"):
		default:
			v.tokens[i] = "##" + token
		}
	}
	unknown := "[UNK]"
	if id, ok := v.special("unknown_token_id"); ok {
		unknown = v.tokens[id]
	}
	out["normalizer"] = object{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true}
	out["pre_tokenizer"] = object{"type": "BertPreTokenizer"}
	out["post_processor"] = v.template(true, true, []string{"cls_token_id", "bos_token_id"}, []string{"seperator_token_id", "eos_token_id"})
	out["model"] = object{"type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": v.ids()}
}

// Regular expressions by which tokenizers of bytes cut texts into words.
const (
	llamaWords = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenWords  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gptWords   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// bytes writes a tokenizer of bytes.
func (v *vocabulary) bytes(out object) {
	words := gptWords
	switch pre, _ := v.meta["tokenizer.ggml.pre"].(string); pre {
	case "llama-bpe", "llama3", "llama-v3":
		words = llamaWords
	case "qwen2":
		words, out["normalizer"] = qwenWords, object{"type": "NFC"}
	case "", "default", "gpt-2", "roberta-bpe":
	default:
		v.fail("tokenizer.ggml.pre is %.60q, want llama-bpe, qwen2, gpt-2 or roberta-bpe", pre)
	}
	merges, _ := v.meta["tokenizer.ggml.merges"].([]string)
	out["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []object{
		{"type": "Split", "pattern": object{"Regex": words}, "behavior": "Isolated", "invert": false},
		{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
	}}
	out["post_processor"] = v.template(false, false, []string{"bos_token_id"}, []string{"eos_token_id", "seperator_token_id"})
	out["model"] = object{"type": "BPE", "dropout": nil, "unk_token": nil, "byte_fallback": false, "fuse_unk": false,
		"ignore_merges": words == llamaWords, "vocab": v.ids(), "merges": merges}
}

// scores returns a score for each token.
func (v *vocabulary) scores() []float64 {
	scores, _ := v.meta["tokenizer.ggml.scores"].([]float64)
	if len(scores) != len(v.tokens) {
		v.fail("tokenizer.ggml.scores has %d entries, want one for each of %d tokens", len(scores), len(v.tokens))
		return make([]float64, len(v.tokens))
	}
	for i, s := range scores {
		if s-s != 0 {
			v.fail("tokenizer.ggml.scores: entry %d is %v", i, s)
			return make([]float64, len(v.tokens))
		}
	}
	return scores
}

// unknown returns the unknown token.
func (v *vocabulary) unknown() (id int, ok bool) {
	if id, ok = v.special("unknown_token_id"); ok {
		return id, ok
	}
	for i := range v.tokens {
		if v.is(i, tokenUnknown) {
			return i, true
		}
	}
	return 0, false
}

// maxMerges bounds the merges of a vocabulary of SentencePiece.
const maxMerges = 2 << 20

// sentencePiece writes the BPE tokenizer of SentencePiece. The file has scores and no merges: any
// two neighbours that make a token are merged, those with the highest score first. Source:
// transformers convert_slow_tokenizer.py.
func (v *vocabulary) sentencePiece(out object) {
	scores, ids := v.scores(), v.ids()
	type merge struct{ left, right, whole int }
	var merges []merge
	for i, token := range v.tokens {
		if v.is(i, tokenUnknown, tokenControl) || ids[token] != i || len(token) > 256 {
			continue
		}
		for at := range token {
			left, ok := ids[token[:at]]
			if right, found := ids[token[at:]]; ok && found && at > 0 {
				merges = append(merges, merge{left, right, i})
			}
		}
		if len(merges) > maxMerges {
			v.fail("more than %d pairs of tokens make a token", maxMerges)
			return
		}
	}
	slices.SortStableFunc(merges, func(a, b merge) int {
		return cmp.Or(cmp.Compare(scores[b.whole], scores[a.whole]), cmp.Compare(a.whole, b.whole), cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right))
	})
	pairs := make([][2]string, len(merges))
	for i, m := range merges {
		pairs[i] = [2]string{v.tokens[m.left], v.tokens[m.right]}
	}
	blanks := object{"type": "Replace", "pattern": object{"String": " "}, "content": "▁"}
	if v.flag("add_space_prefix", true) {
		out["normalizer"] = object{"type": "Sequence", "normalizers": []object{{"type": "Prepend", "prepend": "▁"}, blanks}}
	} else {
		out["normalizer"] = blanks
	}
	out["post_processor"] = v.template(true, false, []string{"bos_token_id"}, []string{"eos_token_id"})
	model := object{"type": "BPE", "dropout": nil, "byte_fallback": true, "fuse_unk": true, "vocab": ids, "merges": pairs, "unk_token": nil}
	if id, ok := v.unknown(); ok {
		model["unk_token"] = v.tokens[id]
	}
	out["model"] = model
}

// unigram writes the tokenizer of T5 and XLM-RoBERTa.
func (v *vocabulary) unigram(out object) {
	scores := v.scores()
	list := make([][2]any, len(scores))
	for i, s := range scores {
		list[i] = [2]any{v.tokens[i], s}
	}
	model := object{"type": "Unigram", "vocab": list, "byte_fallback": false}
	if id, ok := v.unknown(); ok {
		model["unk_id"] = id
	}
	if table, ok := v.meta["tokenizer.ggml.precompiled_charsmap"].([]float64); ok && len(table) > 0 {
		raw := make([]byte, len(table))
		for i, x := range table {
			raw[i] = byte(int(x))
		}
		out["normalizer"] = object{"type": "Precompiled", "precompiled_charsmap": base64.StdEncoding.EncodeToString(raw)}
	} else {
		out["normalizer"] = object{"type": "NFKC"}
	}
	prepend := "never"
	if v.flag("add_space_prefix", true) {
		prepend = "always"
	}
	cut := []object{{"type": "Metaspace", "replacement": "▁", "prepend_scheme": prepend, "split": true}}
	if v.flag("remove_extra_whitespaces", true) {
		cut = slices.Insert(cut, 0, object{"type": "WhitespaceSplit"})
	}
	out["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": cut}
	out["post_processor"] = v.template(false, true, []string{"bos_token_id"}, []string{"eos_token_id"})
	out["model"] = model
}
