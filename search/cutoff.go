package search

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/fusion"
)

// autoCutoff is the probability of relevance below which a document is not a match. Chosen on the
// bundled notes and three retrieval sets, where at .04 hybrid searches keep the best right answer
// of 94 to 100% of the queries and answer 67 to 100% of the nonsense queries with nothing. On four
// other sets it is 97 to 100% and 33 to 100%.
const autoCutoff = 0.04

// MaxLessRelevant is the largest number of results below the cutoff that a query may ask for.
const MaxLessRelevant = 100

// checkCutoff reads the cutoff.
func (p *plan) checkCutoff(wrong *fault.Fields) {
	switch p.Cutoff {
	case "", CutoffNone:
	case CutoffAuto:
		p.autoCut = !p.browse
	default:
		x, err := strconv.ParseFloat(string(p.Cutoff), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			wrong.Add("cutoff", string(p.Cutoff), `"auto", "none", or a score`)
		}
		if !p.browse {
			p.cutoff = &x
		}
	}
	if p.LessRelevant < 0 || p.LessRelevant > MaxLessRelevant {
		wrong.Add("less_relevant", p.LessRelevant, fmt.Sprintf("0 to %d", MaxLessRelevant))
	}
}

// cuts reports whether the search has a cutoff.
func (s *search) cuts() bool {
	return s.plan.cutoff != nil || s.plan.autoCut && s.plan.Mode != Keyword
}

// allMatches reports whether the matches beyond the window are needed: an automatic cutoff ends the
// list of matches, and facets, orders and groups are of all of them.
func (s *search) allMatches() bool {
	return s.plan.autoCut && s.plan.Mode != Keyword && len(s.plan.facets)+len(s.plan.sort) > 0
}

// relevance returns what gives candidates their probability of relevance: the score of a hybrid or
// semantic search before the comparison token by token. It depends on the document and the query
// alone, not on filters, so that a facet's count is the number of its results.
func (s *search) relevance() fusion.Scorer {
	f := s.scorer()
	f.Method, f.MatchShare = Relative, 0
	if s.plan.Fusion == RRF && s.plan.Alpha == nil {
		f.Alpha = s.autoWeight()
	}
	return f
}

// cut takes the candidates below the cutoff out of the matches, and counts these.
func (s *search) cut(context.Context) error {
	if !s.cuts() {
		return nil
	}
	f, least := s.relevance(), autoCutoff
	if s.plan.cutoff != nil {
		f, least = s.scorer(), *s.plan.cutoff
	}
	passes := func(c candidate) bool {
		return f.Score(&c.words, &c.vector) >= least
	}
	more := s.wordsPartial || s.selection != nil && s.selection.Partial
	matches := make([]candidate, 0, len(s.candidates))
	for _, c := range s.candidates {
		if c.weak = !passes(c); c.weak {
			s.weak = append(s.weak, c)
		} else {
			matches = append(matches, c)
		}
		// The last document of a retriever tells whether those behind it could be matches.
		more = more || s.nearFull && c.vector.Rank == s.nearFound && passes(candidate{vector: c.vector}) ||
			s.wordTotal > s.wordsFound && c.words.Rank == s.wordsFound && passes(candidate{words: c.words})
	}
	s.candidates = matches
	if s.total.Value, s.total.Relation = len(matches), "eq"; more {
		s.total.Relation = "gte"
	}
	s.wordSet = backend.Select(s.refs())
	return nil
}
