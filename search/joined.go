package search

import (
	"context"
	"time"

	"searchd/search/backend"
)

// Over shards each call is a way there and back. What a leg finds comes with what the other leg says of it, which in one process is asked for when it is known
// what is left to ask.

// legs returns the question for the nearest passages, without their vector.
func (p *plan) legs() backend.Legs {
	return backend.Legs{Documents: p.Window, Passages: p.firstPassages(), Least: p.MinSimilarity}
}

// findJoined asks for both legs at once.
func (s *search) findJoined(ctx context.Context) (words backend.WordMatches, near []backend.PassageMatch, err error) {
	defer s.time("vector", time.Now())
	q := s.plan.legs()
	if q.Vector = s.vector; s.plan.Mode == Hybrid {
		q.Words = &s.plan.words
	}
	found, err := s.findLegs(ctx, q)
	if err != nil {
		return words, nil, err
	}
	s.joined = &found
	near, err = s.nearest(func(k int) ([]backend.PassageMatch, error) {
		if found.All || k <= len(found.Near) {
			return found.Near[:min(k, len(found.Near))], nil
		}
		return s.engine.backend.Nearest(ctx, s.collection, s.vector, k, s.selection)
	})
	return found.Words, near, err
}

// join gives the candidates what came with them.
func (s *search) join(words []backend.Match) {
	m := s.joined
	s.names = make(map[backend.PassageRef]uint64, len(m.Names)+len(m.Best))
	for i, best := range m.Best {
		c := s.candidate(words[i].Ref)
		switch {
		case c.vector.known:
		case best.Ordinal < 0:
			c.bare = true
		default:
			c.vector, c.best = leg{score: best.Cosine, known: true}, best.Ordinal
			s.names[backend.PassageRef{Ref: c.ref, Ordinal: c.best}] = best.Name
		}
	}
	for i, p := range m.Firsts(s.plan.Window) {
		s.names[backend.PassageRef{Ref: p.Ref, Ordinal: p.Ordinal}] = m.Names[i]
		if at, ok := s.byRef[p.Ref]; ok && m.Scores != nil && !s.candidates[at].words.known {
			s.candidates[at].words = leg{score: m.Scores[i], known: true}
		}
	}
}
