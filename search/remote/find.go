package remote

import (
	"context"
	"slices"

	"searchd/search/backend"
)

// Nearest implements backend.VectorFinder.
func (s *Shard) Nearest(ctx context.Context, collection string, q []float32, k int, sel backend.Selection) ([]backend.PassageMatch, error) {
	got, err := withSet(sel, func(c *chosen) ([]byte, error) {
		return methodNearest.call(ctx, s, nearest{collection, vector.pack(q), k, c})
	})
	return unpacked(s, passageMatches, anyLength, got, err)
}

// Cosines implements backend.VectorFinder.
func (s *Shard) Cosines(ctx context.Context, collection string, q []float32, list []backend.Ref) ([][]float64, error) {
	got, err := methodCosines.call(ctx, s, cosines{collection, vector.pack(q), refs.pack(list)})
	return answers(s, len(list), got, err, floats.unpack)
}

// Vectors implements backend.VectorFinder.
func (s *Shard) Vectors(ctx context.Context, collection string, list []backend.PassageRef) ([][]float32, error) {
	got, err := methodVectors.call(ctx, s, ofPassages{collection, passages.pack(list)})
	return answers(s, len(list), got, err, vector.unpack)
}

// Names implements backend.VectorFinder. A shard that was started again gives other names.
func (s *Shard) Names(ctx context.Context, collection string, list []backend.PassageRef) ([]uint64, error) {
	got, err := methodNames.call(ctx, s, ofPassages{collection, passages.pack(list)})
	return unpacked(s, numbers, len(list), got, err)
}

// Sample implements backend.VectorFinder.
func (s *Shard) Sample(ctx context.Context, collection string, n int) ([]backend.PassageVector, error) {
	got, err := methodSample.call(ctx, s, sample{collection, n})
	of, err := unpacked(s, passages, anyLength, got.Passages, err)
	if err != nil {
		return nil, err
	}
	vectors, err := answers(s, len(of), got.Vectors, nil, vector.unpack)
	if of == nil || err != nil {
		return nil, err
	}
	out := make([]backend.PassageVector, len(of))
	for i, p := range of {
		out[i] = backend.PassageVector{Ref: p.Ref, Ordinal: p.Ordinal, Vector: vectors[i]}
	}
	return out, nil
}

// Select implements backend.WordFinder.
func (s *Shard) Select(ctx context.Context, collection string, q backend.Subset) (backend.Selection, error) {
	filter, err := partsOf(nil, q.Filter)
	if err != nil {
		return nil, err
	}
	got, err := methodSelect.call(ctx, s, subset{collection, filter, textsOf(q.With), textsOf(q.Fields), textsOf(q.Without), wordsOf(q.Rank), q.NoVectors})
	if err != nil {
		return nil, err
	}
	return s.selected(got)
}

// selected returns the selection that a shard answered with.
func (s *Shard) selected(c *chosen) (backend.Selection, error) {
	if c == nil {
		return nil, nil
	}
	sel, err := c.selection()
	if err != nil {
		return nil, s.unavailable("its answer cannot be read: %v", err)
	}
	return sel, nil
}

// Words implements backend.WordFinder.
func (s *Shard) Words(ctx context.Context, collection string, q backend.Words, k int, sel backend.Selection) (out backend.WordMatches, err error) {
	got, err := withSet(sel, func(c *chosen) (foundAnswer, error) {
		return methodWords.call(ctx, s, found{collection, wordsOf(q), k, c})
	})
	return s.wordMatches(got, err)
}

// wordMatches reads what was found by words.
func (s *Shard) wordMatches(got foundAnswer, err error) (out backend.WordMatches, _ error) {
	list, err := unpacked(s, matches, anyLength, got.Matches, err)
	if err != nil {
		return out, err
	}
	all, err := s.selected(got.All)
	if err != nil {
		return out, err
	}
	return backend.WordMatches{Matches: list, Total: got.Total, Ceiling: got.Ceiling, Partial: got.Partial, All: all}, nil
}

// WordScores implements backend.WordFinder.
func (s *Shard) WordScores(ctx context.Context, collection string, q backend.Words, list []backend.Ref) ([]float64, error) {
	got, err := methodWordScores.call(ctx, s, scored{collection, wordsOf(q), refs.pack(list)})
	return unpacked(s, floats, len(list), got, err)
}

// WordTerms implements backend.WordFinder.
func (s *Shard) WordTerms(ctx context.Context, collection string, q backend.Words, list []backend.Ref) ([][]backend.TermScore, error) {
	got, err := methodWordTerms.call(ctx, s, scored{collection, wordsOf(q), refs.pack(list)})
	return answers(s, len(list), got, err, func(terms []termScore) ([]backend.TermScore, error) { return convert(terms, termScore.termScore), nil })
}

// Analyze implements backend.WordFinder. All terms cross the wire; wanted is asked here.
func (s *Shard) Analyze(ctx context.Context, collection, words string, wanted func(term string) bool) ([]backend.Token, error) {
	got, err := methodAnalyze.call(ctx, s, analyzed{collection, text(words)})
	if err != nil {
		return nil, err
	}
	tokens := convert(got, token.token)
	if wanted == nil {
		return tokens, nil
	}
	return slices.Clip(slices.DeleteFunc(tokens, func(t backend.Token) bool { return !wanted(t.Term) })), nil
}

// Expand implements backend.WordFinder.
func (s *Shard) Expand(ctx context.Context, collection string, q backend.Words) ([]backend.Expansion, error) {
	got, err := methodExpand.call(ctx, s, scored{Collection: collection, Words: wordsOf(q)})
	return convert(got, expansion.expansion), err
}

// Near implements backend.WordFinder.
func (s *Shard) Near(ctx context.Context, collection, word string, edits int, sel backend.Selection) (backend.NearTerms, error) {
	return s.near(ctx, methodNear, near{Collection: collection, Word: text(word), Edits: edits}, sel)
}

// Beginning implements backend.WordFinder.
func (s *Shard) Beginning(ctx context.Context, collection, word string, sel backend.Selection) (backend.NearTerms, error) {
	return s.near(ctx, methodBeginning, near{Collection: collection, Word: text(word)}, sel)
}

func (s *Shard) near(ctx context.Context, m method[near, nearAnswer], q near, sel backend.Selection) (out backend.NearTerms, err error) {
	got, err := withSet(sel, func(c *chosen) (nearAnswer, error) {
		q.Selection = c
		return m.call(ctx, s, q)
	})
	if err != nil {
		return out, err
	}
	if out, err = got.nearTerms(); err != nil {
		return backend.NearTerms{}, s.unavailable("its answer cannot be read: %v", err)
	}
	return out, nil
}

// Lacking implements backend.FieldFinder.
func (s *Shard) Lacking(ctx context.Context, collection string, f backend.FieldNames) (backend.FieldNames, bool, error) {
	got, err := methodLacking.call(ctx, s, lacking{collection, fieldNamesOf(f)})
	return got.Names.fieldNames(), got.Partial, err
}

// Statistics implements backend.Shard.
func (s *Shard) Statistics(ctx context.Context, collection string, q backend.Words) (backend.Statistics, error) {
	return methodStatistics.call(ctx, s, scored{Collection: collection, Words: wordsOf(q)})
}
