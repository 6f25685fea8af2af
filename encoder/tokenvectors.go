package encoder

import (
	"errors"
	"fmt"
)

// ErrTokenVectors means that single tokens have no vectors in the space of the states.
var ErrTokenVectors = errors.New("no token vectors")

// TokenVectors are the vectors of single tokens, without a text around them.
type TokenVectors struct {
	Vocab, Dim int
	vector     func(dst []float32, id int)
}

// Read writes the vector of a token to dst [Dim]; id is 0 to Vocab-1. It is not normalised: its
// length is the weight of the token in a mean. It is safe for concurrent use.
func (t *TokenVectors) Read(dst []float32, id int) { t.vector(dst[:t.Dim], id) }

// TokenVectors returns the vectors of the tokens: the rows of a static model, or for a transformer
// with norms after its residuals the rows of the word table after the first norm and the last,
// which are the states if the layers add nothing. It returns ErrTokenVectors for other
// architectures.
func (m *Model) TokenVectors() (*TokenVectors, error) {
	if s := m.static; s != nil {
		return &TokenVectors{s.vocab, s.dim, s.token}, nil
	}
	s := m.stack
	last := s.layers[len(s.layers)-1].feedForwardNorm
	if s.preNorm || last == nil || s.finalNorm != nil || s.projection != nil || s.embedding != s.hidden {
		return nil, fmt.Errorf("%w: the states of %s are not in the space of its word table", ErrTokenVectors, s.family)
	}
	return &TokenVectors{s.vocab, s.hidden, func(dst []float32, id int) {
		s.embeddingNorm.apply(dst, s.wordTable[id*s.hidden:(id+1)*s.hidden], 1)
		last.apply(dst, dst, 1)
	}}, nil
}

// token writes the row of one token to dst [D]: zero for one that does not count.
func (s *static) token(dst []float32, id int) {
	clear(dst)
	if int32(id) == s.drop {
		return
	}
	s.vector(dst, []int32{int32(id)})
}
