package cluster

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// firstShare returns how many of the best n are looked for first in each partition. Hashes of ids
// divide documents among the partitions, so hardly ever does one hold more of the best.
func firstShare(n, partitions int) int {
	mean := float64(n) / float64(partitions)
	return min(n, int(mean+4*math.Sqrt(mean))+8)
}

// best asks each partition for its firstShare, and again for all limit where it may have more of
// the best. scores returns the scores of an answer, the largest first.
func best[T any](ctx context.Context, parts []partition, limit int, scores func(T) []float64, ask func(ctx context.Context, p partition, limit int) (T, error)) ([]T, error) {
	share := firstShare(limit, len(parts))
	answers, err := each(ctx, parts, func(ctx context.Context, p partition) (T, error) { return ask(ctx, p, share) })
	if err != nil || share == limit {
		return answers, err
	}
	var all []float64
	for _, a := range answers {
		all = append(all, scores(a)...)
	}
	slices.Sort(all)
	least := math.Inf(-1)
	if len(all) >= limit {
		least = all[len(all)-limit]
	}
	var again []partition
	var at []int
	for i, a := range answers {
		if s := scores(a); len(s) >= share && s[len(s)-1] >= least {
			again, at = append(again, parts[i]), append(at, i)
		}
	}
	if len(again) == 0 {
		return answers, nil
	}
	more, err := each(ctx, again, func(ctx context.Context, p partition) (T, error) { return ask(ctx, p, limit) })
	for i, a := range more {
		answers[at[i]] = a
	}
	return answers, err
}

func wordScores(r backend.WordsResponse) []float64 {
	out := make([]float64, len(r.Matches))
	for i, m := range r.Matches {
		out[i] = m.Score
	}
	return out
}

func cosines(r backend.VectorsResponse) []float64 {
	out := make([]float64, len(r.Matches))
	for i, m := range r.Matches {
		out[i] = m.Cosine
	}
	return out
}

// retrieveWords returns the best of the best of each partition. r has the statistics of all.
func retrieveWords(ctx context.Context, parts []partition, r backend.WordsRequest) (out backend.WordsResponse, err error) {
	list, err := best(ctx, parts, r.Limit, wordScores, func(ctx context.Context, p partition, limit int) (backend.WordsResponse, error) {
		own := r
		own.Selection, own.Limit = p.of(r.Selection), limit
		found, err := p.RetrieveWords(ctx, own)
		for i := range found.Matches {
			found.Matches[i].Ref = p.ref(found.Matches[i].Ref)
		}
		return found, err
	})
	if err != nil {
		return out, err
	}
	var sets []*backend.Selection
	for _, found := range list {
		out.Matches = append(out.Matches, found.Matches...)
		out.Total += found.Total
		out.Ceiling = max(out.Ceiling, found.Ceiling)
		out.Partial = out.Partial || found.Partial
		sets = append(sets, found.All)
	}
	slices.SortFunc(out.Matches, func(a, b backend.Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref))
	})
	out.Matches = out.Matches[:max(0, min(r.Limit, len(out.Matches)))]
	if r.All {
		out.All = selected(sets)
	}
	return out, nil
}

// retrieveVectors returns the nearest of the nearest of each partition, or a sample of all.
func retrieveVectors(ctx context.Context, parts []partition, r backend.VectorsRequest) (out backend.VectorsResponse, err error) {
	if r.Vector == nil {
		return sample(ctx, parts, r)
	}
	list, err := best(ctx, parts, r.Limit, cosines, func(ctx context.Context, p partition, limit int) (backend.VectorsResponse, error) {
		own := r
		own.Selection, own.Limit = p.of(r.Selection), limit
		found, err := p.RetrieveVectors(ctx, own)
		for i := range found.Matches {
			found.Matches[i].Ref = p.ref(found.Matches[i].Ref)
		}
		return found, err
	})
	if err != nil {
		return out, err
	}
	var spreads []backend.Spread
	var passages []int
	for _, found := range list {
		out.Matches = append(out.Matches, found.Matches...)
		spreads, passages = append(spreads, found.Spread), append(passages, found.Passages)
		out.Passages += found.Passages
	}
	slices.SortFunc(out.Matches, func(a, b backend.PassageMatch) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	out.Matches = out.Matches[:max(0, min(r.Limit, len(out.Matches)))]
	out.Spread = embedded.MergeSpreads(spreads, passages)
	return out, nil
}

// sample returns passages of all partitions, in proportion to how many each has.
func sample(ctx context.Context, parts []partition, r backend.VectorsRequest) (out backend.VectorsResponse, err error) {
	passages, err := each(ctx, parts, func(ctx context.Context, p partition) (int, error) {
		c, err := p.Open(ctx, backend.OpenRequest{Collection: r.Collection})
		return c.Collection.Passages, err
	})
	if err != nil {
		return out, err
	}
	limits := proportions(r.Limit, passages)
	list, err := each(ctx, parts, func(ctx context.Context, p partition) (backend.VectorsResponse, error) {
		own := r
		own.Selection, own.Limit = p.of(r.Selection), limits[p.index]
		found, err := p.RetrieveVectors(ctx, own)
		for i := range found.Sample {
			found.Sample[i].Ref = p.ref(found.Sample[i].Ref)
		}
		return found, err
	})
	for _, found := range list {
		out.Sample = append(out.Sample, found.Sample...)
	}
	return out, err
}
