package search

import (
	"context"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/fusion"
	"example.com/searchd/search/mapping"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// embedShare is the part of the time that is left which encoding the query of a hybrid search may
// take; the rest is for the words.
const embedShare = 0.6

// share returns a context with a part of the time that is left of ctx, or ctx where that has no
// end.
func share(ctx context.Context, part float64) (limited context.Context, cancel context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(part*float64(time.Until(end))))
}

// embed encodes the query. A hybrid search whose query cannot be encoded goes on with words alone
// and says so, and so does any whose query means nothing to the checkpoint.
func (s *search) embed(ctx context.Context) error {
	if s.plan.Mode == Keyword || s.vector != nil {
		return nil
	}
	if s.encoding.Given() {
		if s.plan.Mode == Semantic {
			return fault.Field("vector", mapping.Phrase("none"), fmt.Sprintf("%d numbers: the vectors of this collection are given, so a semantic search needs that of the query", s.record.Model.Dimension))
		}
		s.plan.Mode = Keyword
		s.notes = append(s.notes, "vector: none given, and the vectors of this collection are: keyword results only")
		return nil
	}
	if !s.encoding.Reads(s.plan.text.Text) {
		s.plan.Mode = Keyword
		s.notes = append(s.notes, "q: the model's vocabulary has none of its words: keyword results only")
		return nil
	}
	limited, cancel := ctx, func() {}
	switch {
	case s.plan.Mode != Hybrid:
	case s.embedUntil.IsZero():
		limited, cancel = share(ctx, embedShare)
	default:
		limited, cancel = context.WithDeadline(ctx, s.embedUntil)
	}
	defer cancel()
	v, tokenization, err := s.encoding.QueryVector(limited, s.plan.text.Text)
	switch {
	case err == nil:
	case s.plan.Mode != Hybrid || ctx.Err() != nil:
		return err
	case limited.Err() != nil:
		s.plan.Mode = Keyword
		s.degrade("encoding the query took too long: keyword results only")
		return nil
	default:
		s.plan.Mode = Keyword
		s.degrade("the query could not be encoded: keyword results only")
		return nil
	}
	if s.vector = v; tokenization > 0 {
		s.timeOf("tokenize", tokenization)
	}
	return nil
}

// find runs the retrievers that the mode asks for, at the same time.
func (s *search) find(ctx context.Context) error {
	var words backend.WordsResponse
	var near []backend.PassageMatch
	limit := s.plan.Window
	if s.allMatches() {
		limit = MaxWindow
	}
	var byWords errgroup.Group
	if s.plan.Mode != Semantic {
		byWords.Go(func() error {
			defer s.time("keyword", time.Now())
			ctx, span := s.engine.tracer.Start(ctx, "keyword")
			defer span.End(nil)
			return fault.Protect(func() (err error) {
				words, err = s.engine.backend.RetrieveWords(ctx, backend.WordsRequest{
					Collection: s.collection, Words: s.plan.words, Limit: limit, Selection: s.selection, All: len(s.plan.facets)+len(s.plan.sort) > 0 || s.plan.Group != "",
				})
				return err
			})
		})
	}
	defer byWords.Wait() // if the vector search panics
	var err error
	if s.plan.Mode != Keyword {
		began := time.Now()
		within, span := s.engine.tracer.Start(ctx, "vector")
		near, err = s.nearest(within)
		span.End(err)
		s.time("vector", began)
	}
	if err := byWords.Wait(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	s.wordTotal, s.wordCeiling, s.wordSet, s.wordsPartial = words.Total, words.Ceiling, words.All, words.Partial
	s.wordless = s.plan.Mode == Hybrid && words.Ceiling == 0
	s.wordsFound, s.nearFound = len(words.Matches), len(near)
	s.byRef = make(map[backend.Ref]int, len(words.Matches)+len(near))
	s.candidates = make([]candidate, 0, len(words.Matches)+len(near))
	for i, m := range words.Matches {
		s.candidate(m.Ref).words = fusion.Retrieved{Rank: i + 1, Score: m.Score, Known: true}
	}
	for i, m := range near {
		c := s.candidate(m.Ref)
		c.vector, c.best = fusion.Retrieved{Rank: i + 1, Score: m.Cosine, Known: true}, m.Ordinal
	}
	return nil
}

func (s *search) candidate(ref backend.Ref) *candidate {
	i, ok := s.byRef[ref]
	if !ok {
		i = len(s.candidates)
		s.byRef[ref] = i
		s.candidates = append(s.candidates, candidate{ref: ref})
	}
	return &s.candidates[i]
}

// nearest returns the best passage of each of the window's nearest documents. A document may own
// many of the nearest passages, so it asks for more until the window is full or there are none
// left.
func (s *search) nearest(ctx context.Context) ([]backend.PassageMatch, error) {
	s.best = math.Inf(-1)
	if s.plan.autoCut && s.selection != nil {
		have, err := s.engine.backend.RetrieveVectors(ctx, backend.VectorsRequest{Collection: s.collection, Vector: s.vector, Limit: s.firstPassages()})
		if err != nil {
			return nil, err
		}
		if len(have.Matches) > 0 {
			s.best = have.Matches[0].Cosine
		}
	}
	least := math.Inf(1) // documents of a larger cosine are found beyond the window, too
	if s.allMatches() {
		least = s.scorer().CosineOf(s.autoCutoff())
	}
	for k := s.firstPassages(); ; k *= 2 {
		have, err := s.engine.backend.RetrieveVectors(ctx, backend.VectorsRequest{Collection: s.collection, Vector: s.vector, Limit: k, Selection: s.selection})
		if err != nil {
			return nil, err
		}
		found := have.Matches
		s.spread = have.Spread
		seen := make(map[backend.Ref]bool, s.plan.Window)
		best := make([]backend.PassageMatch, 0, s.plan.Window)
		more := false // documents beyond the window
		for _, m := range found {
			switch {
			case seen[m.Ref] || s.except[m.Ref] || m.Cosine < s.plan.MinSimilarity:
			case len(best) == MaxWindow || len(best) >= s.plan.Window && m.Cosine < least:
				more = true
			default:
				seen[m.Ref] = true
				best = append(best, m)
			}
		}
		last := math.Inf(-1)
		if len(found) > 0 {
			last = found[len(found)-1].Cosine
		}
		all := len(found) < k || last < s.plan.MinSimilarity
		full := len(best) == MaxWindow || len(best) >= s.plan.Window && last < least
		if s.nearFull = more || !all; s.allMatches() && last < least {
			s.nearFull = len(best) == MaxWindow
		}
		if full || all || k > 64*MaxWindow {
			return best, nil
		}
	}
}

// firstPassages returns how many passages are looked at first to fill the window and to see whether
// there are more: one more than it has documents, and up to half as many more where documents have
// several.
func (s *search) firstPassages() int {
	further := max(0, s.passages-s.documents)
	return s.plan.Window + 1 + s.plan.Window*min(further, s.documents)/(2*max(1, s.documents))
}

// fill gives each candidate of a hybrid search the score of the retriever that did not find it.
func (s *search) fill(ctx context.Context) error {
	if s.plan.Mode != Hybrid {
		return nil
	}
	var noWords, noVector []backend.Ref
	for _, c := range s.candidates {
		if !c.words.Known {
			noWords = append(noWords, c.ref)
		}
		if !c.vector.Known {
			noVector = append(noVector, c.ref)
		}
	}
	if s.wordsFound == s.wordTotal && !s.wordsPartial {
		for _, ref := range noWords { // all documents with words of the query were found
			s.candidate(ref).words = fusion.Retrieved{Known: true}
		}
		noWords = nil
	}
	if len(noWords) > 0 {
		have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: noWords, Words: &s.plan.words, Scores: true})
		if err != nil {
			return err
		}
		for i, ref := range noWords {
			s.candidate(ref).words = fusion.Retrieved{Score: have.Scores[i], Known: true}
		}
	}
	if len(noVector) == 0 {
		return nil
	}
	have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: noVector, Vector: s.vector})
	if err != nil {
		return err
	}
	for i, ref := range noVector {
		if cosines := have.Cosines[i]; len(cosines) > 0 {
			c := s.candidate(ref)
			c.vector = bestRetrieved(cosines)
			c.best = slices.Index(cosines, c.vector.Score)
		}
	}
	return nil
}

// bestRetrieved is the vector score of a document that vector search did not find: the largest
// cosine of its passages.
func bestRetrieved(cosines []float64) fusion.Retrieved {
	return fusion.Retrieved{Score: slices.Max(cosines), Known: true}
}
