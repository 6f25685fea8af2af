package tokenizer

import (
	"errors"
	"fmt"

	"example.com/searchd/internal/strictjson"
)

// Limits of what tokenizer.json may hold.
const (
	maxFile    = 64 << 20 // bytes
	maxEntries = 2 << 20  // tokens, and merges
	maxToken   = 1 << 10  // bytes of one token
	maxID      = 1<<31 - 2
)

// vocab is the vocabulary of a model: tokens by id and ids by token. Ids may have gaps, where
// tokens is "".
type vocab struct {
	tokens []string
	count  int
	trie   *trie
}

// newVocab checks entries and builds the vocabulary.
func newVocab(entries []trieKey) (*vocab, error) {
	if len(entries) == 0 {
		return nil, errors.New("vocab is empty, want at least one token")
	}
	largest := int32(0)
	for _, e := range entries {
		largest = max(largest, e.id)
	}
	// Gaps are allowed, but the table of tokens must stay in proportion to the file.
	if int(largest) >= 4*len(entries)+4096 {
		return nil, fmt.Errorf("vocab: id %d in a vocabulary of %d tokens, allowed up to %d", largest, len(entries), 4*len(entries)+4095)
	}
	v := &vocab{tokens: make([]string, largest+1), count: len(entries)}
	taken := make([]bool, largest+1)
	for _, e := range entries {
		if taken[e.id] {
			return nil, fmt.Errorf("vocab: id %d given to %.40q and %.40q, want one token per id", e.id, v.tokens[e.id], e.text)
		}
		taken[e.id] = true
		v.tokens[e.id] = e.text
	}
	sortKeys(entries)
	for i := 1; i < len(entries); i++ {
		if entries[i].text == entries[i-1].text {
			return nil, fmt.Errorf("vocab: token %.40q given twice", entries[i].text)
		}
	}
	v.trie = buildTrie(entries)
	size := 0
	for _, e := range entries {
		size += len(e.text)
	}
	v.own(size)
	return v, nil
}

// own copies the tokens, so that the text of the file can be freed.
func (v *vocab) own(size int) {
	all := make([]byte, 0, size)
	for _, t := range v.tokens {
		all = append(all, t...)
	}
	s := string(all)
	for i, t := range v.tokens {
		v.tokens[i], s = s[:len(t)], s[len(t):]
	}
}

// id returns the id of token, or -1.
func (v *vocab) id(token string) int32 { return v.trie.findString(token) }

// must returns the id of the token that field names.
func (v *vocab) must(field, token string) (int32, error) {
	id := v.id(token)
	if id < 0 {
		return 0, fmt.Errorf("%s %.40q, want a token of vocab", field, token)
	}
	return id, nil
}

// readVocab reads {"token": id, ...}.
func readVocab(r *strictjson.Reader) ([]trieKey, error) {
	var entries []trieKey
	err := r.Pairs(func(token string) error {
		if err := checkToken(token, len(entries)); err != nil {
			return err
		}
		id, err := r.Integer(maxID)
		if err != nil {
			return fmt.Errorf("token %.40q: %w", token, err)
		}
		entries = append(entries, trieKey{token, int32(id)})
		return nil
	})
	return entries, err
}

func checkToken(token string, count int) error {
	if len(token) > maxToken {
		return fmt.Errorf("token of %d bytes (%.40q...), allowed up to %d", len(token), token, maxToken)
	}
	if count >= maxEntries {
		return fmt.Errorf("more than %d entries", maxEntries)
	}
	return nil
}

// byteTokens returns the ids of <0x00> to <0xFF>, -1 for missing ones, and whether all exist.
func (v *vocab) byteTokens() (ids [256]int32, all bool) {
	all = true
	for b := range ids {
		ids[b] = v.id(fmt.Sprintf("<0x%02X>", b))
		all = all && ids[b] >= 0
	}
	return ids, all
}
