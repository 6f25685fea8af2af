// Package lsi learns from some texts of a collection what the collection says of its own words: how rare each is in it, and which of them are
// about the same (latent semantic indexing; Deerwester et al., Indexing by latent semantic analysis, 1990).
//
// A checkpoint knows what words mean in general. What "airfoil" and "wing", a part number and a machine, or two names of a drug have to do with
// each other in these very documents it has not been told; but they stand beside the same further words there.
//
// [Learn], of N texts:
//
//  1. Tokens are read as terms ([Terms]): those with the same stem are one, stop words and signs none.
//  2. The rarity of a term that df texts have is ln(1 + (N-df+½)/(df+½)). It weighs (1 + ln tf)·rarity in a text that has it tf times, and the
//     weights of a text have length 1: the matrix W [N, terms].
//  3. The topics are the leading right singular vectors of W, at most [Topics]. They are found by subspace iteration with a fixed seed, so that
//     the same texts give the same topics.
//
// The order of the texts does not matter.
//
// [Model.Place] puts any text into the space of the topics: the weights of its terms times the topics, of length 1. The cosine of two places says
// how much two texts are about the same.
package lsi

import (
	"context"
	"errors"
	"math"
	"slices"

	"searchd/internal/simd"
)

// Topics is the number of directions that are kept, at most. There is no more than one for every four texts: with nearly as many topics as texts a place would say
// which words a text has, and nothing more.
const Topics = 100

// MaxTerms bounds the terms of a model, so that it takes no more than 26 MB.
const MaxTerms = 1 << 16

// ErrTexts says that there is nothing to learn from: fewer than two texts have a term, or of more than [MaxTerms] terms none is in two texts.
var ErrTexts = errors.New("lsi: too few texts")

// Terms says which tokens of a vocabulary are the same term. It is safe for concurrent use.
type Terms struct {
	of []int32 // [V]; none: it is no term
	n  int
}

const none = -1

// NewTerms asks term for each of vocab tokens what it counts as; "": it does not count.
func NewTerms(vocab int, term func(id int) string) *Terms {
	t := &Terms{of: make([]int32, vocab)}
	numbers := map[string]int32{}
	for id := range t.of {
		name := term(id)
		if name == "" {
			t.of[id] = none
			continue
		}
		n, ok := numbers[name]
		if !ok {
			n = int32(len(numbers))
			numbers[name] = n
		}
		t.of[id] = n
	}
	t.n = len(numbers)
	return t
}

// number returns the number of a token's term.
func (t *Terms) number(id int32) int32 {
	if id < 0 || int(id) >= len(t.of) {
		return none
	}
	return t.of[id]
}

// Model is what has been learnt. It is safe for concurrent use.
type Model struct {
	terms  *Terms
	rarity []float32 // [terms]
	row    []int32   // [terms] of topics; none: the texts do not have it
	topics []float32 // [rows, k]
	k      int
}

// Learn learns from the tokens of texts. It needs time in proportion to the different terms of all texts, a quarter of a second for 2,000 texts of 100, and
// uses one core. It returns [ErrTexts], and the error of ctx where that ends first.
func Learn(ctx context.Context, terms *Terms, texts [][]int32) (*Model, error) {
	texts = slices.Clone(texts)
	slices.SortFunc(texts, slices.Compare)
	w := newMatrix(terms, texts)
	if len(w.rows) < 2 || w.n == 0 {
		return nil, ErrTexts
	}
	topics, k, err := w.topics(ctx, Topics)
	if err != nil {
		return nil, err
	}
	return &Model{terms: terms, rarity: w.rarity, row: w.column, topics: topics, k: k}, nil
}

// Dim is the number of topics.
func (m *Model) Dim() int { return m.k }

// Bytes is about how much memory the model takes, its terms not included.
func (m *Model) Bytes() int { return 4 * (len(m.topics) + len(m.rarity) + len(m.row)) }

// Rarity returns how rare a token is in the texts, at least 0; of one that they do not have what it would be with none of them. A token that is no term
// has 0.
func (m *Model) Rarity(id int32) float64 {
	t := m.terms.number(id)
	if t == none {
		return 0
	}
	return float64(m.rarity[t])
}

// Place returns where a text is among the topics [Dim], of length 1; nil where none of its tokens says so. The text may come in parts.
//
// held, in [0, 1], is how much of the text that tells: the length of the weights of its terms, as far as they lie in the topics, by their whole length. A query
// about something that few texts of the collection are about has little, and what its place is near to is chance.
func (m *Model) Place(parts ...[]int32) (place []float32, held float64) {
	var terms []int32
	for _, ids := range parts {
		for _, id := range ids {
			if t := m.terms.number(id); t != none {
				terms = append(terms, t)
			}
		}
	}
	slices.Sort(terms)
	place = make([]float32, m.k)
	whole := 0.0
	for first := 0; first < len(terms); {
		t, next := terms[first], first+1
		for next < len(terms) && terms[next] == t {
			next++
		}
		weight := (1 + math.Log(float64(next-first))) * float64(m.rarity[t])
		whole += weight * weight
		if row := int(m.row[t]); row != none {
			simd.Axpy(place, float32(weight), m.topics[row*m.k:(row+1)*m.k])
		}
		first = next
	}
	length := Unit(place)
	if length == 0 {
		return nil, 0
	}
	return place, min(1, length/math.Sqrt(whole))
}

// Unit gives x length 1 and returns the length that it had; x is left as it is where that is 0.
func Unit(x []float32) (length float64) {
	for _, v := range x {
		length += float64(v) * float64(v)
	}
	if length = math.Sqrt(length); !(length > 1e-9) {
		return 0
	}
	for i := range x {
		x[i] /= float32(length)
	}
	return length
}
