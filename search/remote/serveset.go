package remote

import (
	"context"

	"searchd/search/backend"
)

func (h *handler) serveWords(t map[string]route) {
	n := h.node
	served(t, methodSelect, func(ctx context.Context, q subset) (*chosen, error) {
		e, err := expression(q.Filter)
		if err != nil {
			return nil, err
		}
		sel, err := n.Select(ctx, q.Collection, backend.Subset{Filter: e, With: stringsOf(q.With), Fields: stringsOf(q.Fields), Without: stringsOf(q.Without),
			Rank: q.Rank.words(), NoVectors: q.NoVectors})
		if err != nil {
			return nil, err
		}
		return h.chosen(q.Collection, sel, !q.NoVectors)
	})
	served(t, methodWords, func(ctx context.Context, q found) (a foundAnswer, err error) {
		sel, err := h.selection(ctx, q.Collection, q.Selection)
		if err != nil {
			return a, err
		}
		got, err := n.Words(ctx, q.Collection, q.Words.words(), q.K, sel)
		if err != nil {
			return a, err
		}
		return h.foundAnswer(q.Collection, got)
	})
	served(t, methodWordScores, func(ctx context.Context, q scored) ([]byte, error) {
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		scores, err := n.WordScores(ctx, q.Collection, q.Words.words(), list)
		return floats.pack(scores), err
	})
	served(t, methodWordTerms, func(ctx context.Context, q scored) ([][]termScore, error) {
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		terms, err := n.WordTerms(ctx, q.Collection, q.Words.words(), list)
		return convert(terms, func(own []backend.TermScore) []termScore { return convert(own, termScoreOf) }), err
	})
	served(t, methodAnalyze, func(ctx context.Context, q analyzed) ([]token, error) {
		tokens, err := n.Analyze(ctx, q.Collection, string(q.Text), nil)
		return convert(tokens, tokenOf), err
	})
	served(t, methodExpand, func(ctx context.Context, q scored) ([]expansion, error) {
		out, err := n.Expand(ctx, q.Collection, q.Words.words())
		return convert(out, expansionOf), err
	})
	served(t, methodNear, func(ctx context.Context, q near) (a nearAnswer, err error) {
		if err := within("edits", q.Edits, 0, backend.MaxEdits); err != nil {
			return a, err
		}
		sel, err := h.selection(ctx, q.Collection, q.Selection)
		if err != nil {
			return a, err
		}
		out, err := n.Near(ctx, q.Collection, string(q.Word), q.Edits, sel)
		return nearAnswerOf(out), err
	})
	served(t, methodBeginning, func(ctx context.Context, q near) (a nearAnswer, err error) {
		sel, err := h.selection(ctx, q.Collection, q.Selection)
		if err != nil {
			return a, err
		}
		out, err := n.Beginning(ctx, q.Collection, string(q.Word), sel)
		return nearAnswerOf(out), err
	})
	served(t, methodLacking, func(ctx context.Context, q lacking) (lackingAnswer, error) {
		names, partial, err := n.Lacking(ctx, q.Collection, q.Names.fieldNames())
		return lackingAnswer{fieldNamesOf(names), partial}, err
	})
	served(t, methodStatistics, func(ctx context.Context, q scored) (backend.Statistics, error) {
		return n.Statistics(ctx, q.Collection, q.Words.words())
	})
}

// foundAnswer packs what was found by words.
func (h *handler) foundAnswer(collection string, got backend.WordMatches) (foundAnswer, error) {
	all, err := h.chosen(collection, got.All, false)
	return foundAnswer{matches.pack(got.Matches), got.Total, got.Ceiling, got.Partial, all}, err
}

func (h *handler) serveSets(t map[string]route) {
	n := h.node
	served(t, methodFacets, func(ctx context.Context, q facets) ([]facetCounts, error) {
		asked, err := parse(q.Facets, facet.facet)
		if err != nil {
			return nil, err
		}
		for _, f := range asked {
			if err := within("limit", f.Limit, 0, maxValues); err != nil {
				return nil, err
			}
		}
		set, err := h.set(ctx, q.Collection, q.Set)
		if err != nil {
			return nil, err
		}
		counts, err := n.Facets(ctx, q.Collection, asked, set)
		return convert(counts, facetCountsOf), err
	})
	served(t, methodFirsts, func(ctx context.Context, q ofField) ([]*value, error) {
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		values, err := n.Firsts(ctx, q.Collection, string(q.Field), list)
		return convert(values, optionalOf), err
	})
	served(t, methodPassing, func(ctx context.Context, q passing) ([]bool, error) {
		e, err := expression(q.Filter)
		if err != nil {
			return nil, err
		}
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		return n.Passing(ctx, q.Collection, e, list)
	})
	served(t, methodNumbers, func(ctx context.Context, q ofField) ([]byte, error) {
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		out, err := n.Numbers(ctx, q.Collection, string(q.Field), q.Dates, list)
		return fieldNumbers.pack(out), err
	})
	served(t, methodOrder, func(ctx context.Context, q order) ([]ordered, error) {
		by := backend.Scorer{Words: q.Words.optional(), Values: q.Values}
		var err error
		if by.Known, err = known(q.Known); err != nil {
			return nil, err
		}
		set, err := h.set(ctx, q.Collection, q.Set)
		if err != nil {
			return nil, err
		}
		out, err := n.Order(ctx, q.Collection, convert(q.Keys, sortKey.sortKey), set, q.K, by)
		return convert(out, orderedOf), err
	})
}

func (h *handler) serveState(t map[string]route) {
	n := h.node
	served(t, methodPosition, func(ctx context.Context, q named) (backend.Position, error) { return n.Position(ctx, q.Collection) })
	served(t, methodChanged, func(ctx context.Context, q changed) (changedAnswer, error) {
		if err := within("limit", q.Limit, 1, maxPage); err != nil {
			return changedAnswer{}, err
		}
		ids, next, err := n.Changed(ctx, q.Collection, q.After, q.Limit)
		return changedAnswer{textsOf(ids), next}, err
	})
	served(t, methodHold, func(ctx context.Context, q hold) (none, error) { return none{}, h.leases.hold(ctx, q) })
	served(t, methodRelease, func(_ context.Context, q held) (none, error) {
		h.leases.letGo(q)
		return none{}, nil
	})
	served(t, methodStoreSize, func(context.Context, none) (int64, error) { return n.StoreSize() })
	served(t, methodReadOnly, func(context.Context, none) (a state, err error) {
		if err := n.ReadOnly(); err != nil {
			a.Fault = faultOf(err)
		}
		return a, nil
	})
	served(t, methodRebuilds, func(context.Context, none) ([]rebuild, error) {
		return convert(n.Rebuilds(), func(r backend.Rebuild) rebuild { return rebuild(r) }), nil
	})
	served(t, methodIndexStats, func(ctx context.Context, q named) (backend.IndexStats, error) { return n.IndexStats(ctx, q.Collection) })
	served(t, methodCheck, func(ctx context.Context, q checked) ([]backend.Problem, error) { return n.Check(ctx, q.Deep) })
	served(t, methodVersion, func(ctx context.Context, _ none) (string, error) { return n.Version(ctx) })
	served(t, methodIdentity, func(ctx context.Context, _ none) (backend.Identity, error) { return n.Identity(ctx) })
	served(t, methodClaim, func(ctx context.Context, q backend.Identity) (none, error) { return none{}, n.Claim(ctx, q) })
}
