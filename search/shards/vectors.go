package shards

import (
	"cmp"
	"context"
	"slices"

	"searchd/search/backend"
)

// Nearest returns the k passages with the largest cosine: the best of the k of each shard.
func (b *Backend) Nearest(ctx context.Context, collection string, q []float32, k int, sel backend.Selection) ([]backend.PassageMatch, error) {
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) ([]backend.PassageMatch, error) {
		matches, err := p.Nearest(ctx, collection, q, k, p.of(sel))
		for i := range matches {
			matches[i].Ref = p.ref(matches[i].Ref)
		}
		return matches, err
	})
	if err != nil {
		return nil, err
	}
	out := slices.Concat(found...)
	slices.SortFunc(out, backend.CompareNearest)
	return out[:min(k, len(out))], nil
}

// Cosines returns the cosine of q with every passage of each document.
func (b *Backend) Cosines(ctx context.Context, collection string, q []float32, refs []backend.Ref) ([][]float64, error) {
	return gather(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([][]float64, error) {
		return p.Cosines(ctx, collection, q, own)
	})
}

// Vectors returns the vector of each passage.
func (b *Backend) Vectors(ctx context.Context, collection string, passages []backend.PassageRef) ([][]float32, error) {
	return gather(ctx, b, collection, passages, placePassage, func(ctx context.Context, p *part, own []backend.PassageRef) ([][]float32, error) {
		return p.Vectors(ctx, collection, own)
	})
}

// Names returns a name for the content of each passage.
func (b *Backend) Names(ctx context.Context, collection string, passages []backend.PassageRef) ([]uint64, error) {
	return gather(ctx, b, collection, passages, placePassage, func(ctx context.Context, p *part, own []backend.PassageRef) ([]uint64, error) {
		names, err := p.Names(ctx, collection, own)
		for i, name := range names {
			names[i] = p.passageName(name)
		}
		return names, err
	})
}

// Sample returns at most n passages with their vectors: of each shard as large a share as it has of all passages, by ref.
func (b *Backend) Sample(ctx context.Context, collection string, n int) ([]backend.PassageVector, error) {
	passages, err := all(ctx, b, collection, func(ctx context.Context, p *part) (int, error) {
		c, err := p.Collection(ctx, collection)
		return c.Passages, err
	})
	if err != nil {
		return nil, err
	}
	counts := shares(n, passages)
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) ([]backend.PassageVector, error) {
		sample, err := p.Sample(ctx, collection, counts[p.index])
		for i := range sample {
			sample[i].Ref = p.ref(sample[i].Ref)
		}
		return sample, err
	})
	if err != nil {
		return nil, err
	}
	out := slices.Concat(found...)
	slices.SortStableFunc(out, func(a, b backend.PassageVector) int { return cmp.Compare(a.Ref, b.Ref) })
	return out, nil
}

// shares divides n, or what there is where that is less, among parts with so many each: as the shares are, and what is left over one by one to the
// largest remainders.
func shares(n int, have []int) []int {
	total := 0
	for _, h := range have {
		total += h
	}
	n = max(min(n, total), 0)
	out, order, left := make([]int, len(have)), make([]int, len(have)), n
	for i, h := range have {
		order[i] = i
		if total > 0 {
			out[i] = int(int64(n) * int64(h) / int64(total))
		}
		left -= out[i]
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(n*have[j]-out[j]*total, n*have[i]-out[i]*total)
	})
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}
