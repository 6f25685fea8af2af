package tokenizer

import (
	sugar "github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/model/wordlevel"
)

// foreign runs a model of package sugarme in this pipeline.
type foreign struct{ m sugar.Model }

func (f foreign) tokenize(dst []piece, w []byte, _ *scratch) []piece {
	tokens, err := f.m.Tokenize(string(w))
	if err != nil {
		return dst // cannot happen: newWordLevel has checked the unknown token
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
