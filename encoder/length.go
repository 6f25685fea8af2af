package encoder

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// LengthConfigs are the names under which releases of sentence-transformers have stored max_seq_length and do_lower_case.
var LengthConfigs = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// fallbackTokens is the greatest length where a checkpoint names none at all.
const fallbackTokens = 512

// readLength finds the length at which texts are cut: max_seq_length; or else what config.json and tokenizer_config.json allow, whichever
// is less; never more than the position table has. (The truncation in tokenizer.json is what somebody last used and does not count.)
// It also notes whether pairs get segment ids, and returns whether texts are put into lower case.
func (m *Model) readLength(fsys fs.FS, dir string, a *architecture) (lowerCase bool, err error) {
	limit, lowerCase, err := readLengthConfig(fsys, dir)
	if err != nil {
		return false, err
	}
	stated, segments, err := readTokenizerConfig(fsys, dir)
	if err != nil {
		return false, err
	}
	m.segments = segments && a.types > 1
	if limit == 0 {
		limit = least(stated, a.maxTokens, a.statedTokens)
	}
	if limit == 0 {
		limit = fallbackTokens
	}
	m.maxLen = least(limit, a.maxTokens)
	if n := m.options.MaxSeqLength; n > 0 {
		if a.maxTokens > 0 && n > a.maxTokens {
			return false, fmt.Errorf("%w: Options.MaxSeqLength is %d, the positions of the model end at %d", ErrConfig, n, a.maxTokens)
		}
		m.maxLen = min(n, maxPositions)
	}
	return lowerCase, nil
}

// readLengthConfig reads max_seq_length, 0 if there is none, and do_lower_case.
func readLengthConfig(fsys fs.FS, dir string) (limit int, lowerCase bool, err error) {
	for _, name := range LengthConfigs {
		f, err := readFields(fsys, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		limit, lowerCase = f.int("max_seq_length", 0, 1, maxPositions), f.bool("do_lower_case", false)
		return limit, lowerCase, f.err()
	}
	return 0, false, nil
}

// readTokenizerConfig reads model_max_length, 0 if there is none; tokenizers without a limit store 1e30. A checkpoint without this file has
// nothing that asks for segment ids, and runtimes that go by it give none.
func readTokenizerConfig(fsys fs.FS, dir string) (limit int, segments bool, err error) {
	f, err := readFields(fsys, path.Join(dir, "tokenizer_config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if x := f.float("model_max_length", 0, 1, 1e40); x <= maxPositions {
		limit = int(x)
	}
	segments = true
	if names := f.strings("model_input_names"); names != nil {
		segments = slices.Contains(names, "token_type_ids")
	}
	return limit, segments, f.err()
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
