package shards

import (
	"context"
	"math"
	"slices"

	"searchd/search/backend"
)

// Legs finds by words and by vector: the best of each shard. A document is on one shard, so what that says of it by the other leg is all there is to say.
func (b *Backend) Legs(ctx context.Context, collection string, q backend.Legs, sel backend.Selection) (backend.LegMatches, error) {
	ask := func(q backend.Legs) (backend.LegMatches, error) {
		found, err := all(ctx, b, collection, func(ctx context.Context, p *part) (backend.LegMatches, error) {
			m, err := backend.FindLegs(ctx, p.Shard, collection, q, p.of(sel))
			return p.legMatches(m), err
		})
		if err != nil {
			return backend.LegMatches{}, err
		}
		return mergeLegs(found, q), nil
	}
	if q.Words == nil {
		return ask(q)
	}
	return withGlobal(ctx, b, collection, *q.Words, func(words backend.Words) (backend.LegMatches, error) {
		q.Words = &words
		return ask(q)
	})
}

// legMatches gives documents and passages of the part the refs and names by which they are known outside.
func (p *part) legMatches(m backend.LegMatches) backend.LegMatches {
	for i, w := range m.Words.Matches {
		m.Words.Matches[i].Ref = p.ref(w.Ref)
	}
	for i, near := range m.Near {
		m.Near[i].Ref = p.ref(near.Ref)
	}
	for i, name := range m.Names {
		m.Names[i] = p.passageName(name)
	}
	for i, best := range m.Best {
		m.Best[i].Name = p.passageName(best.Name)
	}
	return m
}

// mergeLegs puts together what all parts found by both legs. Of the nearest passages it has those before the first that a part may have left out.
func mergeLegs(found []backend.LegMatches, q backend.Legs) (out backend.LegMatches) {
	type other struct { // what is said of a document
		name  uint64
		score float64
	}
	words, best, near := make([]backend.WordMatches, len(found)), map[backend.Ref]backend.Best{}, map[backend.Ref]other{}
	out.All = true
	reach := math.MaxInt
	for i, m := range found {
		words[i] = m.Words
		for j, x := range m.Best {
			best[m.Words.Matches[j].Ref] = x
		}
		for j, p := range m.Firsts(q.Documents) {
			o := other{name: m.Names[j]}
			if q.Words != nil {
				o.score = m.Scores[j]
			}
			near[p.Ref] = o
		}
		if out.Near = append(out.Near, m.Near...); !m.All {
			out.All, reach = false, min(reach, len(m.Near))
		}
	}
	slices.SortFunc(out.Near, backend.CompareNearest)
	out.Near = out.Near[:min(reach, len(out.Near))]
	for _, p := range out.Firsts(q.Documents) {
		if out.Names = append(out.Names, near[p.Ref].name); q.Words != nil {
			out.Scores = append(out.Scores, near[p.Ref].score)
		}
	}
	if q.Words == nil {
		return out
	}
	out.Words = mergeWords(words, q.Words.All, q.Documents)
	for _, m := range out.Words.Matches {
		out.Best = append(out.Best, best[m.Ref])
	}
	return out
}

// Texts returns the text of each passage.
func (b *Backend) Texts(ctx context.Context, collection string, passages []backend.PassageRef) ([]backend.PassageText, error) {
	return gather(ctx, b, collection, passages, placePassage, func(ctx context.Context, p *part, own []backend.PassageRef) ([]backend.PassageText, error) {
		texts, err := backend.ReadTexts(ctx, p.Shard, collection, own)
		for i, t := range texts {
			texts[i].Name = p.passageName(t.Name)
		}
		return texts, err
	})
}

// Shown returns what hits show of each document.
func (b *Backend) Shown(ctx context.Context, collection string, refs []backend.Ref, q backend.Show) ([]backend.Shown, error) {
	ask := func(q backend.Show) ([]backend.Shown, error) {
		return gather(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([]backend.Shown, error) {
			list, err := backend.ShowDocuments(ctx, p.Shard, collection, own, q)
			for _, s := range list {
				p.documents([]*backend.Document{s.Document})
			}
			return list, err
		})
	}
	if q.Words == nil {
		return ask(q)
	}
	return withGlobal(ctx, b, collection, *q.Words, func(words backend.Words) ([]backend.Shown, error) {
		q.Words = &words
		return ask(q)
	})
}
