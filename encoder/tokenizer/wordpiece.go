package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// wordPiece takes the longest token that begins the word, then repeatedly the longest that begins
// the rest, with prefix. If there is none, or the word is longer than maxChars characters, the word
// is unknown.
type wordPiece struct {
	trie     *trie
	inner    int32 // node after prefix, -1 if no token begins with it
	unk      int32
	maxChars int
}

func newWordPiece(m *modelFile, v *vocab) (*wordPiece, error) {
	unk, prefix, maxChars := "[UNK]", "##", 100
	err := m.fields(map[string]any{"unk_token": &unk, "continuing_subword_prefix": &prefix, "max_input_chars_per_word": &maxChars})
	if err != nil {
		return nil, err
	}
	if maxChars < 0 || maxChars > 1<<16 {
		return nil, fmt.Errorf("max_input_chars_per_word %d, allowed 0 to %d", maxChars, 1<<16)
	}
	id, err := v.must("unk_token", unk)
	if err != nil {
		return nil, err
	}
	return &wordPiece{trie: v.trie, inner: v.trie.walk(0, prefix), unk: id, maxChars: maxChars}, nil
}

func (m *wordPiece) tokenize(dst []piece, w []byte, _ *scratch) []piece {
	before := len(dst)
	if len(w) > m.maxChars && utf8.RuneCount(w) > m.maxChars {
		return append(dst, piece{m.unk, 0, int32(len(w))})
	}
	node := int32(0)
	for start := 0; start < len(w); node = m.inner {
		id, end := int32(-1), start
		for i := start; i < len(w) && node >= 0; {
			if node = m.trie.step(node, w[i]); node < 0 {
				break
			}
			i++
			if t := m.trie.id[node]; t >= 0 {
				id, end = t, i
			}
		}
		if id < 0 {
			return append(dst[:before], piece{m.unk, 0, int32(len(w))})
		}
		dst = append(dst, piece{id, int32(start), int32(end)})
		start = end
	}
	return dst
}
