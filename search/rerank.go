package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/highlight"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// rerankShare is the part of the time that is left which re-ranking may take; the rest is for
// fetching and encoding the answer.
const rerankShare = 0.8

// rerank puts the first candidates into the order of the cross-encoder, which reads the query with
// the best passage of each, or with the strings of a document that has none. Only these can be on a
// page. Where it fails or takes too long the fused order stays, and the answer says so.
func (s *search) rerank(ctx context.Context) error {
	limited, cancel := share(ctx, rerankShare)
	defer cancel()
	if n := s.plan.RerankWindow; n < len(s.candidates) {
		s.candidates = s.candidates[:n]
	}
	pairs, at, err := s.pairs(ctx)
	if err != nil || len(pairs) == 0 {
		return err
	}
	scores, err := s.engine.inference.Score(limited, pairs)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		s.degrade("re-ranking took too long: hits are ordered without it")
		return nil
	default:
		s.degrade("re-ranking failed: hits are ordered without it")
		return nil
	}
	for i, x := range scores.Logits {
		c := &s.candidates[at[i]]
		c.rerank = &RerankExplain{Logit: float64(x), Relevance: s.engine.inference.Relevance(x), RankBefore: at[i] + 1, ScoreBefore: c.score, Window: s.plan.RerankWindow}
		c.score = c.rerank.Relevance
	}
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return c.rerank == nil }) // deleted since they were found
	slices.SortStableFunc(s.candidates, func(a, b candidate) int { return cmp.Compare(b.rerank.Logit, a.rerank.Logit) })
	if len(s.plan.boosts) > 0 {
		s.raise()
	}
	return nil
}

// pairs returns the query with what stands for each candidate that is still there; pairs[i] belongs
// to s.candidates[at[i]].
func (s *search) pairs(ctx context.Context) (pairs [][2]string, at []int, err error) {
	refs := make([]backend.Ref, len(s.candidates))
	for i, c := range s.candidates {
		refs[i] = c.ref
	}
	var docs []*backend.Document
	cosines := make([][]float64, 0, len(refs))
	err = backend.FetchPages(ctx, s.engine.backend, backend.FetchRequest{Collection: s.collection, Refs: refs, Vector: s.vector}, func(_ []backend.Ref, page backend.FetchResponse) error {
		docs, cosines = append(docs, page.Documents...), append(cosines, page.Cosines...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	show := shower{}
	if s.vector == nil {
		cosines = make([][]float64, len(refs))
		if show, err = s.shower(ctx); err != nil {
			return nil, nil, err
		}
	}
	for i, d := range docs {
		if d == nil {
			continue
		}
		parts, err := s.record.Settings.Fields.SplitStored(d.Fields)
		if err != nil {
			return nil, nil, err
		}
		texts := highlight.PassagesOf(parts, d)
		if show.marker != nil {
			show.marker.Next()
		}
		best, err := show.chooser.Choose(ctx, refs[i], parts, texts, cosines[i], 1)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case len(best) > 0:
			pairs, at = append(pairs, [2]string{s.plan.text.Text, s.titled(texts[best[0]])}), append(at, i)
		case len(parts.Words) > 0:
			pairs, at = append(pairs, [2]string{s.plan.text.Text, aside(parts)}), append(at, i)
		}
	}
	return pairs, at, nil
}

// asideBytes is how much a cross-encoder is given of the strings of a document without passages.
const asideBytes = 4 << 10

// aside returns the strings by which a document without passages is found, one per line.
func aside(parts mapping.Parts) string {
	var b strings.Builder
	for _, f := range parts.Words {
		if b.Len() > asideBytes {
			break
		}
		b.WriteString(f.Text[:passage.RuneEnd(f.Text, min(len(f.Text), asideBytes))])
		b.WriteByte('\n')
	}
	return b.String()
}

// titled returns a passage behind its context, as ingest encodes it: a long title is cut, so that
// it does not push the passage out of what the cross-encoder takes. Tokens are counted by the
// checkpoint of the search, which in keyword mode may be another than the collection's.
func (s *search) titled(p highlight.Passage) string {
	return behind(s.record.prefix(p.Title, s.encoding.Embedder.CountTokens)(p.Context), p.Text)
}
