package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// unkPenalty is what an unknown character scores below the worst token.
const unkPenalty = 10

// unigram takes the tokens with the largest sum of scores (Viterbi, from left to right, the first
// of equals). Neighbouring unknown characters are one token, or their bytes with byteFallback.
type unigram struct {
	trie         *trie
	scores       []float64 // by id
	unkScore     float64
	unk          int32 // -1: none, every byte has a token
	byteFallback bool
	bytes        [256]int32
}

// step is the best way to reach a place of the word: the last token, where it begins, and the sum
// of the scores.
type step struct {
	score float64
	from  int32 // -1: not reached
	id    int32
}

func newUnigram(m *modelFile, v *vocab) (*unigram, error) {
	scores := m.scores
	u := &unigram{trie: v.trie, scores: scores, unk: -1, unkScore: math.Inf(1)}
	var unk *int
	if err := m.fields(map[string]any{"unk_id": &unk, "byte_fallback": &u.byteFallback}); err != nil {
		return nil, err
	}
	bytes, all := v.byteTokens()
	u.byteFallback = u.byteFallback && all
	u.bytes = bytes
	switch {
	case unk != nil && (*unk < 0 || *unk >= len(scores)):
		return nil, fmt.Errorf("unk_id %d, allowed 0 to %d", *unk, len(scores)-1)
	case unk != nil:
		u.unk = int32(*unk)
	default:
		return nil, errors.New("unk_id is missing, want the id of the unknown token")
	}
	for id, s := range scores {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("vocab: score of token %d is %v, want a finite number", id, s)
		}
		u.unkScore = min(u.unkScore, s)
	}
	u.unkScore -= unkPenalty
	return u, nil
}

func (u *unigram) tokenize(dst []piece, w []byte, s *scratch) []piece {
	if cap(s.steps) < len(w)+1 {
		s.steps = make([]step, len(w)+1)
	}
	best := s.steps[:len(w)+1]
	for i := range best {
		best[i].from = -1
	}
	best[0] = step{}
	reach := func(end, from int, id int32, score float64) {
		if t := &best[end]; t.from < 0 || score > t.score {
			*t = step{score, int32(from), id}
		}
	}
	for i := 0; i < len(w); {
		here := best[i].score
		_, n := utf8.DecodeRune(w[i:])
		single := false
		node := int32(0)
		for j := i; j < len(w); {
			if node = u.trie.step(node, w[j]); node < 0 {
				break
			}
			j++
			if id := u.trie.id[node]; id >= 0 {
				reach(j, i, id, u.scores[id]+here)
				single = single || j-i == n
			}
		}
		if !single {
			reach(i+n, i, u.unk, u.unkScore+here)
		}
		i += n
	}
	return u.trace(dst, w, best)
}

// trace walks back along the best path and appends its tokens.
func (u *unigram) trace(dst []piece, w []byte, best []step) []piece {
	before := len(dst)
	for end := len(w); end > 0; {
		b := best[end]
		start := int(b.from)
		if b.id == u.unk {
			for start > 0 && best[start].id == u.unk {
				start = int(best[start].from)
			}
			dst = u.unknown(dst, w, start, end)
		} else {
			dst = append(dst, piece{b.id, int32(start), int32(end)})
		}
		end = start
	}
	slices.Reverse(dst[before:])
	return dst
}

// unknown appends, last first, the tokens of unknown characters.
func (u *unigram) unknown(dst []piece, w []byte, start, end int) []piece {
	p := piece{u.unk, int32(start), int32(end)}
	if id := u.trie.find(w[start:end]); id >= 0 {
		p.id = id
	} else if u.byteFallback {
		for i := end - 1; i >= start; i-- {
			p.id = u.bytes[w[i]]
			dst = append(dst, p)
		}
		return dst
	}
	return append(dst, p)
}
