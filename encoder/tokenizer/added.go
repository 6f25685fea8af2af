package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/internal/strictjson"

	sugar "github.com/sugarme/tokenizer"
)

// addedToken is a token that is found in a text before the model runs, special or not.
type addedToken struct {
	sugar.TokenConfig
	id int32
}

// addedTokens finds added tokens in a text: the leftmost, and of those the longest. Read-only.
type addedTokens struct {
	trie   *trie // token by its place in list; nil: there are none
	list   []addedToken
	starts [256]bool // first bytes
	only   int       // the one first byte, -1 if there are several
}

// readAdded reads added_tokens.
func readAdded(raw json.RawMessage) ([]addedToken, error) {
	if strictjson.IsNull(raw) {
		return nil, nil
	}
	var list []addedToken
	r := strictjson.New(raw)
	err := r.Array(func() error {
		if len(list) >= maxEntries {
			return fmt.Errorf("more than %d entries", maxEntries)
		}
		one, err := r.Raw()
		if err != nil {
			return err
		}
		var t addedToken
		t.Id = -1
		t.Normalized = true // the default of the Rust code for what is not given
		if err := json.Unmarshal(one, &t.TokenConfig); err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", len(list), err)
		}
		if t.Id < 0 || t.Id > maxID {
			return fmt.Errorf("added_tokens[%d]: id %d of %.40q, allowed 0 to %d", len(list), t.Id, t.Content, maxID)
		}
		if t.Content == "" || len(t.Content) > maxToken {
			return fmt.Errorf("added_tokens[%d]: content of %d bytes, allowed 1 to %d", len(list), len(t.Content), maxToken)
		}
		t.id = int32(t.Id)
		list = append(list, t)
		return nil
	})
	return list, err
}

// checkAdded requires that each added token has the id that Hugging Face's code gives it: that of
// the vocabulary, or else the next one after the vocabulary and the tokens added before.
func checkAdded(list []addedToken, v *vocab) (byToken map[string]int32, err error) {
	byToken = make(map[string]int32, len(list))
	largest := int32(-1)
	owner := make(map[int32]string, len(list))
	for i, t := range list {
		want := v.id(t.Content)
		if want < 0 {
			if id, ok := byToken[t.Content]; ok {
				want = id
			} else {
				want = max(int32(v.count), largest+1)
			}
		}
		if t.id != want {
			return nil, fmt.Errorf("added_tokens[%d]: id %d of %.40q, want %d (its id in vocab, or the next free one)", i, t.id, t.Content, want)
		}
		if o, ok := owner[t.id]; ok && o != t.Content {
			return nil, fmt.Errorf("added_tokens[%d]: id %d of %.40q is also that of %.40q", i, t.id, t.Content, o)
		}
		owner[t.id] = t.Content
		byToken[t.Content] = t.id
		largest = max(largest, t.id)
	}
	return byToken, nil
}

// newAddedTokens builds the finder of the tokens of list that are, or are not, matched in
// normalised text.
func newAddedTokens(list []addedToken, normalized bool, steps []normalizer) *addedTokens {
	a := &addedTokens{only: -1}
	var keys []trieKey
	seen := make(map[string]bool)
	add := func(special bool) {
		for _, t := range list {
			if t.Special != special || t.Normalized != normalized {
				continue
			}
			content := t.Content
			if normalized {
				content = normalizeString(content, steps)
			}
			if content == "" || seen[content] {
				continue
			}
			seen[content] = true
			keys = append(keys, trieKey{content, int32(len(a.list))})
			a.list = append(a.list, t)
		}
	}
	add(true)
	add(false)
	if len(keys) == 0 {
		return a
	}
	a.only = int(keys[0].text[0])
	for _, k := range keys {
		a.starts[k.text[0]] = true
		if int(k.text[0]) != a.only {
			a.only = -1
		}
	}
	sortKeys(keys)
	a.trie = buildTrie(keys)
	return a
}

func normalizeString(s string, steps []normalizer) string {
	cur := new(aligned)
	cur.set([]byte(s))
	cur, _ = normalizeAll(steps, cur, new(aligned))
	return string(cur.b)
}

// longest returns the added token at the start of b and its length, nil where there is none.
func (a *addedTokens) longest(b []byte) (t *addedToken, n int) {
	node := int32(0)
	for i, c := range b {
		if node = a.trie.step(node, c); node < 0 {
			break
		}
		if id := a.trie.id[node]; id >= 0 {
			t, n = &a.list[id], i+1
		}
	}
	return t, n
}

// find calls gap for each non-empty stretch between added tokens and token for each token, in
// order, until one returns false. White space between two tokens goes to the first if it strips on
// the right, and else to the second. Tokens of white space are found in it nevertheless, and text
// follows them, as in the Rust code.
func (a *addedTokens) find(b []byte, gap func(i, j int) bool, token func(t *addedToken, i, j int) bool) {
	start := 0
	blank := 0 // the end of white space that a token took
	for i := 0; a.trie != nil && i < len(b); {
		if !a.starts[b[i]] {
			i++
			continue
		}
		t, n := a.longest(b[i:])
		if t == nil {
			i++
			continue
		}
		from, to := i, i+n
		i = to
		if t.SingleWord && (wordBefore(b[:from]) || wordAfter(b[to:])) {
			continue
		}
		if t.Lstrip {
			for from > start {
				r, n := utf8.DecodeLastRune(b[start:from])
				if !unicode.IsSpace(r) {
					break
				}
				from -= n
			}
			from = max(from, start)
		}
		if t.Rstrip {
			to = max(to, blank) // already scanned
			for to < len(b) {
				r, n := utf8.DecodeRune(b[to:])
				if !unicode.IsSpace(r) {
					break
				}
				to += n
			}
			blank = to
		}
		if start < from && !gap(start, from) {
			return
		}
		if !token(t, from, max(from, to)) {
			return
		}
		start = to
	}
	if start < len(b) {
		gap(start, len(b))
	}
}

func wordBefore(b []byte) bool {
	r, n := utf8.DecodeLastRune(b)
	return n > 0 && isWord(r)
}

func wordAfter(b []byte) bool {
	r, n := utf8.DecodeRune(b)
	return n > 0 && isWord(r)
}
