package tokenizer

import (
	"errors"
	"math"

	sugar "github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/model/wordlevel"
	sugarnorm "github.com/sugarme/tokenizer/normalizer"
)

// foreign lets a model of package sugarme work in this pipeline; ours are faster where it has the
// same kind.
type foreign struct{ m sugar.Model }

func (f foreign) tokenize(dst []piece, w []byte, _ *scratch) []piece {
	tokens, err := f.m.Tokenize(string(w))
	if err != nil {
		return dst // cannot be: newWordLevel has checked what it can complain of
	}
	for _, t := range tokens {
		dst = append(dst, piece{int32(t.Id), int32(t.Offsets[0]), int32(t.Offsets[1])})
	}
	return dst
}

// newWordLevel builds the model that knows whole words only.
func newWordLevel(m *modelFile, v *vocab) (model, error) {
	unk := "<unk>"
	if err := m.fields(map[string]any{"unk_token": &unk}); err != nil {
		return nil, err
	}
	if _, err := v.must("unk_token", unk); err != nil {
		return nil, err
	}
	wl, err := wordlevel.New(v.ids(), unk)
	if err != nil {
		return nil, err
	}
	return foreign{wl}, nil
}

// ids returns the vocabulary as a map.
func (v *vocab) ids() map[string]int {
	ids := make(map[string]int, v.count)
	for id, tok := range v.tokens {
		if v.id(tok) == int32(id) {
			ids[tok] = id
		}
	}
	return ids
}

// Model returns t's model, without normalisation, pre-tokenisation and added tokens, behind the
// interface of package sugarme, for use in pipelines built with it. Offsets are bytes of the
// sequence. Safe for concurrent use.
func (t *Tokenizer) Model() sugar.Model { return sugarModel{t} }

type sugarModel struct{ t *Tokenizer }

var errNoSave = errors.New("tokenizer: saving a model is not supported, keep its tokenizer.json")

// Tokenize cuts one word, of a byte-level model in the characters that stand for its bytes.
func (m sugarModel) Tokenize(sequence string) ([]sugar.Token, error) {
	s := m.t.scratches.Get().(*scratch)
	defer m.t.scratches.Put(s)
	w := []byte(sequence)
	var at []int // of each byte of w in sequence
	if b, ok := m.t.model.(*bpe); ok && b.fromBytes {
		w = w[:0]
		for i, r := range sequence {
			c, ok := runeByte[r]
			if !ok {
				continue
			}
			w = append(w, c)
			at = append(at, i)
		}
		at = append(at, len(sequence))
	}
	var tokens []sugar.Token
	for _, p := range m.t.pieces(s, w) {
		start, end := int(p.start), int(p.end)
		if at != nil {
			start, end = at[start], at[end]
		}
		value, _ := m.IdToToken(int(p.id))
		tokens = append(tokens, sugar.NewToken(int(p.id), value, []int{start, end}))
	}
	return tokens, nil
}

// TokenToId returns the id of a token.
func (m sugarModel) TokenToId(token string) (int, bool) {
	id := m.t.vocab.id(token)
	return int(max(id, 0)), id >= 0
}

// IdToToken returns the token of an id.
func (m sugarModel) IdToToken(id int) (string, bool) {
	if id < 0 || id > math.MaxInt32 {
		return "", false
	}
	return m.t.Token(int32(id))
}

// GetVocab returns a copy of the vocabulary.
func (m sugarModel) GetVocab() map[string]int { return m.t.vocab.ids() }

// GetVocabSize returns the number of tokens.
func (m sugarModel) GetVocabSize() int { return m.t.vocab.count }

// Save returns an error.
func (m sugarModel) Save(string, ...string) error { return errNoSave }

// Normalizer returns t's normalisation behind the interface of package sugarme, whose own strips no
// accents where strip_accents is null. Safe for concurrent use.
func (t *Tokenizer) Normalizer() sugarnorm.Normalizer { return sugarNormalizer{t} }

type sugarNormalizer struct{ t *Tokenizer }

// Normalize returns n normalised, with its alignments.
func (s sugarNormalizer) Normalize(n *sugarnorm.NormalizedString) (*sugarnorm.NormalizedString, error) {
	cur := new(aligned)
	cur.set([]byte(n.GetNormalized()))
	cur, _ = normalizeAll(s.t.steps, cur, new(aligned))
	before := n.Alignments()
	to := make([][]int, len(cur.b))
	from := make([][]int, len(n.GetOriginal()))
	for i := range to {
		sp := cur.source(i, i+1)
		start, end := before[sp.start][0], before[max(sp.start, sp.end-1)][1]
		to[i] = []int{start, end}
		for j := start; j < end; j++ {
			if from[j] == nil {
				from[j] = []int{i, i + 1}
			}
			from[j][1] = i + 1
		}
	}
	last := 0
	for j := range from { // what was removed has an empty place
		if from[j] == nil {
			from[j] = []int{last, last}
		}
		last = from[j][1]
	}
	return sugarnorm.NewNormalizedString(n.GetOriginal(), string(cur.b), to, from, n.Shift()), nil
}
