package search

import (
	"context"

	"example.com/searchd/internal/simd"
	"example.com/searchd/search/passage"
)

// Limits of one query.
const (
	maxSentences     = 1000 // encoded; hits after these go without
	maxSentenceBytes = 128 << 10
	sentenceShare    = 0.6 // of the time that is left
)

// sentences finds in the best passage of each hit the sentence nearest to the query. It is an
// ornament: where it fails or takes too long the hits stay without, and the answer says so.
func (s *search) sentences(ctx context.Context) error {
	if s.vector == nil {
		return nil
	}
	limited, cancel := share(ctx, sentenceShare)
	defer cancel()
	var texts []string
	spans := make([][]passage.Span, len(s.hits)) // within the best passage; nil where there is nothing to choose
	bytes := 0
	for i := range s.hits {
		if len(s.hits[i].Passages) == 0 {
			continue
		}
		p := &s.hits[i].Passages[0]
		found := passage.Sentences(p.Text, s.columns[i])
		if len(found) == 1 {
			p.Sentence = &Sentence{Start: p.Start + found[0].Start, End: p.Start + found[0].End}
			continue
		}
		if len(texts)+len(found) > maxSentences || bytes+len(p.Text) > maxSentenceBytes {
			continue
		}
		bytes += len(p.Text)
		spans[i] = found
		for _, f := range found {
			texts = append(texts, p.Text[f.Start:f.End])
		}
	}
	vectors, err := s.encoding.TextVectors(limited, texts)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.degrade("the sentences of the hits could not be encoded and are left out")
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

// nearestSentence returns the sentence with the largest cosine, the first of equal ones; nil where
// none has a direction.
func (s *search) nearestSentence(p PassageHit, found []passage.Span, vectors [][]float32) *Sentence {
	var best *Sentence
	for j, v := range vectors {
		if v == nil {
			continue
		}
		if cos := float64(simd.Dot(s.vector, v)); best == nil || cos > *best.Score {
			best = &Sentence{Start: p.Start + found[j].Start, End: p.Start + found[j].End, Score: &cos}
		}
	}
	return best
}
