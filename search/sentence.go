package search

import (
	"context"
	"slices"

	"searchd/internal/simd"
)

// Bounds of looking for sentences, of one query.
const (
	maxSentences     = 1000 // encoded; hits after these go without
	maxSentenceBytes = 128 << 10
	sentencesBudget  = 16 << 20 // bytes of vectors and texts kept of earlier queries
	sentenceShare    = 0.6      // of the time that is left
)

// Sentence is a sentence of a passage, bytes [Start, End) of the field's text.
type Sentence struct {
	Start int      `json:"start"`
	End   int      `json:"end"`
	Score *float64 `json:"score,omitempty"` // cosine with the query; absent where the passage is one sentence
}

// sentences finds in the best passage of each hit the sentence nearest to the query. It is an ornament: where it fails or takes too long
// the hits stay without, and the answer says so.
func (s *search) sentences(ctx context.Context) error {
	if s.vector == nil {
		return nil
	}
	limited, cancel := share(ctx, sentenceShare)
	defer cancel()
	var texts []string
	spans := make([][]span, len(s.hits)) // within the best passage; nil where there is nothing to choose
	bytes := 0
	for i := range s.hits {
		if len(s.hits[i].Passages) == 0 {
			continue
		}
		p := &s.hits[i].Passages[0]
		found := passageSentences(p.Text, p.column)
		if len(found) == 1 {
			p.Sentence = &Sentence{Start: p.Start + found[0].start, End: p.Start + found[0].end}
			continue
		}
		if len(texts)+len(found) > maxSentences || bytes+len(p.Text) > maxSentenceBytes {
			continue
		}
		bytes += len(p.Text)
		spans[i] = found
		for _, f := range found {
			texts = append(texts, p.Text[f.start:f.end])
		}
	}
	vectors, err := s.encoding.sentences.vectors(limited, s.encoding.collector, texts)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.degrade("the sentences of the hits could not be encoded: they are not told")
		return nil
	}
	for i, found := range spans {
		if len(found) > 0 {
			s.hits[i].Passages[0].Sentence = s.nearestSentence(s.hits[i].Passages[0], found, vectors[:len(found)])
			vectors = vectors[len(found):]
		}
	}
	return nil
}

// nearestSentence returns the sentence with the largest cosine, the first of equal ones; nil where none has a direction.
func (s *search) nearestSentence(p PassageHit, found []span, vectors [][]float32) *Sentence {
	var best *Sentence
	for j, v := range vectors {
		if v == nil {
			continue
		}
		if cos := float64(simd.Dot(s.vector, v)); best == nil || cos > *best.Score {
			best = &Sentence{p.Start + found[j].start, p.Start + found[j].end, &cos}
		}
	}
	return best
}

// passageSentences returns the sentences of a passage that begins at a column of its line; its headings only where it has nothing else.
func passageSentences(text string, column int) []span {
	var body, all []span
	eachSentence(unwrapped(text, column), func(s span, _ int, heading bool) {
		all = append(all, s)
		if !heading {
			body = append(body, s)
		}
	})
	if len(body) > 0 {
		return body
	}
	return all
}

// textCache keeps the unit vectors of texts, nil for one without a direction.
type textCache struct{ *lru[string, []float32] }

// newTextCache has a budget in bytes, places in the list and the map included.
func newTextCache(budget int) textCache {
	return textCache{newLRU(budget, func(text string, v []float32) int { return len(text) + 4*len(v) + 160 })}
}

// vectors returns the unit vector of each text, nil for one without a direction. The caller must not change them.
func (c textCache) vectors(ctx context.Context, e *collector, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	missing := map[string][]int{} // text to its places
	var asked []string
	for i, t := range texts {
		v, ok := c.get(t)
		if ok {
			out[i] = v
			continue
		}
		if missing[t] == nil {
			asked = append(asked, t)
		}
		missing[t] = append(missing[t], i)
	}
	if len(asked) == 0 {
		return out, nil
	}
	r, err := e.parts(ctx, asked, EmbedOptions{}, true)
	if err != nil {
		return nil, err
	}
	for i, t := range asked {
		v := r.Vectors[i]
		if !normalize(v) {
			v = nil
		}
		for _, at := range missing[t] {
			out[at] = v
		}
		c.put(t, slices.Clone(v)) // v is a part of what the whole batch gave
	}
	return out, nil
}
