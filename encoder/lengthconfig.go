package encoder

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// LengthConfigs are the names under which releases of sentence-transformers have stored the
// settings of the transformer module.
var LengthConfigs = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// lengthConfig holds the settings of these files that are used; a length of 0 means none.
type lengthConfig struct {
	limit     int     // of a text
	document  int     // instead, of texts but those with the prompt for queries
	query     int     // instead, of these
	expansion *fields // of queries in late interaction; nil: none
	lowerCase bool
}

// readLengthConfig reads the first of LengthConfigs that exists. A setting that would change
// vectors and is not supported is an error. Source: sentence-transformers
// base/modules/transformer.py.
func readLengthConfig(fsys fs.FS, dir string) (c lengthConfig, err error) {
	for _, name := range LengthConfigs {
		f, err := readFields(fsys, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		c.limit, c.lowerCase = f.int("max_seq_length", 0, 1, maxPositions), f.bool("do_lower_case", false)
		c.document, c.query = f.int("document_length", 0, 1, maxPositions), f.int("query_length", 0, 1, maxPositions)
		if refs, err := Modules(fsys); err == nil && isLate(refs) {
			c.expansion = f.object("query_expansion")
		} else {
			f.absent("query_expansion")
		}
		f.checkModality()
		if n := f.callLength(); n > 0 {
			c.limit, c.document, c.query = n, 0, 0
		}
		return c, f.err()
	}
	return c, nil
}

// checkModality refuses chat templates and any output but the token states or the logits.
func (f *fields) checkModality() {
	m := f.object("modality_config")
	if m == nil {
		return
	}
	m.absent("message")
	text := m.object("text")
	if text == nil {
		if !m.has("text") {
			m.fail("text", "is missing, a checkpoint that encodes texts has it")
		}
		return
	}
	output := "logits"
	if f.string("transformer_task", "feature-extraction") == "feature-extraction" {
		output = "last_hidden_state"
	}
	text.oneOf("method", "forward", "forward")
	const name = "method_output_name"
	if text.has(name) && text.raw[name][0] == '[' {
		if list := text.strings(name); len(list) != 1 || list[0] != output {
			text.fail(name, "is %s, only %s is supported", text.text(name), output)
		}
		return
	}
	text.oneOf(name, output, output)
}

// callLength reads max_length of processing_kwargs, which overrides all other lengths; 0 if absent.
func (f *fields) callLength() int {
	p := f.object("processing_kwargs")
	if p == nil {
		return 0
	}
	if common := p.object("common"); common != nil {
		for _, name := range slices.Sorted(maps.Keys(common.raw)) {
			if name != "return_tensors" {
				common.absent(name)
			}
		}
	}
	text := p.object("text")
	if text == nil {
		return 0
	}
	for _, name := range slices.Sorted(maps.Keys(text.raw)) {
		switch name {
		case "max_length", "padding", "padding_side", "pad_to_multiple_of", "return_tensors", "return_attention_mask", "verbose":
		case "truncation":
			if text.raw[name][0] == '"' {
				text.oneOf(name, "longest_first", "longest_first", "only_first")
			} else {
				text.want(name, true)
			}
		case "add_special_tokens":
			text.want(name, true)
		default:
			text.absent(name)
		}
	}
	return text.int("max_length", 0, 1, maxPositions)
}
