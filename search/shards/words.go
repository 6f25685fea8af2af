package shards

import (
	"cmp"
	"context"
	"slices"

	"searchd/index/keyword"
	"searchd/search/backend"
)

// Select returns the documents of a subset. The bounds of reading texts for phrases are those of each shard.
func (b *Backend) Select(ctx context.Context, collection string, s backend.Subset) (backend.Selection, error) {
	selected := func(rank backend.Words) (backend.Selection, error) {
		s.Rank = rank
		return b.selected(ctx, collection, func(ctx context.Context, p *part) (backend.Selection, error) { return p.Select(ctx, collection, s) })
	}
	if len(s.With)+len(s.Without) == 0 { // then nothing is ranked
		return selected(s.Rank)
	}
	return withGlobal(ctx, b, collection, s.Rank, selected)
}

// Words returns the k documents with the largest BM25: the best of the k of each shard.
func (b *Backend) Words(ctx context.Context, collection string, q backend.Words, k int, sel backend.Selection) (backend.WordMatches, error) {
	return withGlobal(ctx, b, collection, q, func(q backend.Words) (out backend.WordMatches, err error) {
		found, err := all(ctx, b, collection, func(ctx context.Context, p *part) (backend.WordMatches, error) {
			matches, err := p.Words(ctx, collection, q, k, p.of(sel))
			for i := range matches.Matches {
				matches.Matches[i].Ref = p.ref(matches.Matches[i].Ref)
			}
			return matches, err
		})
		if err != nil {
			return out, err
		}
		return mergeWords(found, q.All, k), nil
	})
}

// mergeWords puts together what all parts found: the k best, equal scores by ref.
func mergeWords(found []backend.WordMatches, all bool, k int) (out backend.WordMatches) {
	every := &selection{make([]backend.Selection, len(found))}
	for i, f := range found {
		out.Matches = append(out.Matches, f.Matches...)
		out.Total += f.Total
		out.Ceiling = max(out.Ceiling, f.Ceiling) // all say the same
		out.Partial = out.Partial || f.Partial
		every.parts[i] = f.All
	}
	if all {
		out.All = every
	}
	slices.SortFunc(out.Matches, func(a, b backend.Match) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref)) })
	out.Matches = out.Matches[:min(k, len(out.Matches))]
	return out
}

// WordScores returns the BM25 of given documents.
func (b *Backend) WordScores(ctx context.Context, collection string, q backend.Words, refs []backend.Ref) ([]float64, error) {
	return withGlobal(ctx, b, collection, q, func(q backend.Words) ([]float64, error) {
		return gather(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([]float64, error) {
			return p.WordScores(ctx, collection, q, own)
		})
	})
}

// WordTerms returns each term's share of the BM25 of given documents.
func (b *Backend) WordTerms(ctx context.Context, collection string, q backend.Words, refs []backend.Ref) ([][]backend.TermScore, error) {
	return withGlobal(ctx, b, collection, q, func(q backend.Words) ([][]backend.TermScore, error) {
		return gather(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([][]backend.TermScore, error) {
			return p.WordTerms(ctx, collection, q, own)
		})
	})
}

// Expand returns the parts of a query that are read as their synonyms, or as documents write them. Of several shards none is asked: what all know of the words
// says all that must be known of documents.
func (b *Backend) Expand(ctx context.Context, collection string, q backend.Words) ([]backend.Expansion, error) {
	if len(b.parts) == 1 {
		return one(ctx, b, collection, b.parts[0], func(ctx context.Context, p *part) ([]backend.Expansion, error) { return p.Expand(ctx, collection, q) })
	}
	return withGlobal(ctx, b, collection, q, func(q backend.Words) ([]backend.Expansion, error) {
		r, err := b.reading(ctx, collection)
		if err != nil {
			return nil, err
		}
		asked := keyword.Query{Text: q.Text, Exact: q.Exact, Synonyms: r.synonyms, Global: q.Global}
		if q.And {
			asked.Operator = keyword.And
		}
		return r.analysis.Expand(ctx, asked)
	})
}

// Stands reports whether Near and Beginning have nothing for a word of q: a document of any shard has it, by what all know of the words, or it is none or
// several of them as the language reads it, as "between" is none.
func (b *Backend) Stands(ctx context.Context, collection string, q backend.Words, word string) (bool, error) {
	if len(b.parts) == 1 {
		return false, nil
	}
	r, err := b.reading(ctx, collection)
	if err != nil {
		return false, err
	}
	term, ok := r.analysis.Term(word)
	if !ok {
		return true, nil
	}
	known, err := b.global(ctx, collection, q)
	return err == nil && known.Terms[term] > 0, err
}

// Near returns the terms that are spelled much like a word that no document of any shard has.
func (b *Backend) Near(ctx context.Context, collection, word string, edits int, sel backend.Selection) (backend.NearTerms, error) {
	return b.near(ctx, collection, func(ctx context.Context, p *part) (backend.NearTerms, error) {
		return p.Near(ctx, collection, word, edits, p.of(sel))
	})
}

// Beginning returns the terms that begin with an unfinished word that no document of any shard has.
func (b *Backend) Beginning(ctx context.Context, collection, word string, sel backend.Selection) (backend.NearTerms, error) {
	return b.near(ctx, collection, func(ctx context.Context, p *part) (backend.NearTerms, error) {
		return p.Beginning(ctx, collection, word, p.of(sel))
	})
}

func (b *Backend) near(ctx context.Context, collection string, ask func(ctx context.Context, p *part) (backend.NearTerms, error)) (out backend.NearTerms, err error) {
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) (backend.NearTerms, error) {
		near, err := ask(ctx, p)
		for _, t := range near.Terms {
			for i, ref := range t.Refs {
				t.Refs[i] = p.ref(ref)
			}
		}
		return near, err
	})
	if err != nil {
		return out, err
	}
	return backend.MergeNear(found), nil
}

// Lacking returns the names of f that no document of any shard has a value of, or a word.
func (b *Backend) Lacking(ctx context.Context, collection string, f backend.FieldNames) (backend.FieldNames, bool, error) {
	type answer struct {
		lacking backend.FieldNames
		partial bool
	}
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) (answer, error) {
		lacking, partial, err := p.Lacking(ctx, collection, f)
		return answer{lacking, partial}, err
	})
	if err != nil {
		return backend.FieldNames{}, false, err
	}
	out, partial := found[0].lacking, found[0].partial
	for _, a := range found[1:] {
		out.Values, out.Texts = both(out.Values, a.lacking.Values), both(out.Texts, a.lacking.Texts)
		partial = partial || a.partial
	}
	return out, partial, nil
}

// both returns what is in two lists, in the order of the first.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// Analyze returns the terms of a text as the keyword indexes of a collection see them. Which language that is in is asked once in a while.
func (b *Backend) Analyze(ctx context.Context, collection, text string, wanted func(term string) bool) ([]backend.Token, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	r, err := b.reading(ctx, collection)
	if err != nil {
		return nil, err
	}
	return r.analysis.Occurrences(text, wanted), nil
}
