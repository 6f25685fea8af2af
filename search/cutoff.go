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

// Probabilities of relevance below which a document is not a match, where the cutoff is automatic.
// Of fifteen nonsense queries one or two, of real words, have a match among the 55 bundled notes,
// with each of three models and in both modes. On twelve retrieval sets hybrid searches keep the
// best right answer of 94 to 96% of the queries, without the rule about all words, and semantic
// searches of 93 to 95%.
const (
	hybridCutoff   = 0.06
	semanticCutoff = 0.1
)

// autoCutoff returns that of the search's mode.
func (s *search) autoCutoff() float64 {
	if s.plan.Mode == Semantic || s.wordless {
		return semanticCutoff
	}
	return hybridCutoff
}

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

// withAllWords returns the documents that contain all words of the query, which the automatic
// cutoff of a hybrid search keeps: a word that many documents have is little evidence, but whoever
// asks for it expects them. It returns nil for other searches.
func (s *search) withAllWords(ctx context.Context) (*backend.Selection, error) {
	if s.plan.Mode != Hybrid || s.plan.cutoff != nil || s.wordTotal == 0 {
		return nil, nil
	}
	words := s.plan.words
	words.And = true
	found, err := s.engine.backend.RetrieveWords(ctx, backend.WordsRequest{Collection: s.collection, Words: words, Limit: 1, Selection: s.selection, All: true})
	return found.All, err
}

// cut takes the candidates below the cutoff out of the matches, and counts these.
func (s *search) cut(ctx context.Context) error {
	if !s.cuts() {
		return nil
	}
	f, least := s.relevance(), s.autoCutoff()
	if s.plan.cutoff != nil {
		f, least = s.scorer(), *s.plan.cutoff
	}
	complete, err := s.withAllWords(ctx)
	if err != nil {
		return err
	}
	more := s.wordsPartial || s.selection != nil && s.selection.Partial
	matches := make([]candidate, 0, len(s.candidates))
	beyond := candidate{} // has at least the scores of what no retriever found
	wordsMore, kept := s.wordTotal > s.wordsFound, 0
	for _, c := range s.candidates {
		all := complete != nil && complete.Contains(c.ref)
		if all {
			kept++
		}
		if c.weak = f.Score(&c.words, &c.vector) < least && !all; c.weak {
			s.weak = append(s.weak, c)
		} else {
			matches = append(matches, c)
		}
		if wordsMore && c.words.Rank == s.wordsFound {
			beyond.words = c.words
		}
		if c.vector.Rank > 0 && c.vector.Rank == s.nearFound {
			beyond.vector = c.vector
		}
	}
	if s.nearFull || wordsMore {
		more = more || f.Score(&beyond.words, &beyond.vector) >= least || complete != nil && complete.Len() > kept
	}
	s.candidates = matches
	if s.total.Value, s.total.Relation = len(matches), "eq"; more {
		s.total.Relation = "gte"
	}
	s.wordSet = backend.Select(s.refs())
	return nil
}
