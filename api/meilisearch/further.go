package meilisearch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/searchd/search"
)

// FacetSearch answers a search among the values of a facet.
func (s *Server) FacetSearch(ctx context.Context, r Request) (any, error) {
	var b struct {
		Query
		FacetName            string `json:"facetName"`
		FacetQuery           string `json:"facetQuery"`
		ExhaustiveFacetCount bool   `json:"exhaustiveFacetCount"`
	}
	if err := decode(r.Body, &b); err != nil {
		return nil, err
	}
	if b.FacetName == "" {
		return nil, bad("missing_facet_search_facet_name", "facetName: missing")
	}
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	b.Facets, b.Query.Limit = nil, new(int)
	p, err := x.plan(b.Query)
	if err != nil {
		return nil, err
	}
	p.query.Within = r.Within
	p.query.Facets = []search.Facet{{Field: b.FacetName, Limit: 1000}}
	res, err := s.engine.Search(ctx, r.Index, p.query)
	if err != nil {
		return nil, err
	}
	type facetHit struct {
		Value string `json:"value"`
		Count int    `json:"count"`
	}
	hits := []facetHit{}
	for _, v := range res.Facets[b.FacetName].Values {
		text := fmt.Sprint(v.Value)
		begins := slices.ContainsFunc(strings.Fields(text), func(w string) bool { return strings.HasPrefix(strings.ToLower(w), strings.ToLower(b.FacetQuery)) })
		if begins || strings.HasPrefix(strings.ToLower(text), strings.ToLower(b.FacetQuery)) {
			hits = append(hits, facetHit{text, v.Count})
		}
	}
	most := max(1, x.settings.Faceting.MaxValuesPerFacet)
	return map[string]any{"facetHits": hits[:min(len(hits), most)], "facetQuery": b.FacetQuery, "processingTimeMs": int(math.Ceil(res.TookMS))}, nil
}

// Similar answers a search for documents like another.
func (s *Server) Similar(ctx context.Context, r Request) (any, error) {
	var b struct {
		ID                      any             `json:"id"`
		Embedder                string          `json:"embedder"`
		Offset                  int             `json:"offset"`
		Limit                   *int            `json:"limit"`
		Filter                  json.RawMessage `json:"filter"`
		AttributesToRetrieve    []string        `json:"attributesToRetrieve"`
		ShowRankingScore        bool            `json:"showRankingScore"`
		ShowRankingScoreDetails bool            `json:"showRankingScoreDetails"`
		RankingScoreThreshold   float64         `json:"rankingScoreThreshold"`
		RetrieveVectors         bool            `json:"retrieveVectors"`
	}
	if err := decode(r.Body, &b); err != nil {
		return nil, err
	}
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	if err := x.checkRetrieval("invalid_similar_retrieve_vectors", b.RetrieveVectors); err != nil {
		return nil, err
	}
	if err := x.checkEmbedder("invalid_similar_embedder", "embedder", b.Embedder); err != nil {
		return nil, err
	}
	text, err := Filter(b.Filter)
	if err != nil {
		return nil, err
	}
	limit, zero := 20, 0
	if b.Limit != nil {
		limit = *b.Limit
	}
	id := fmt.Sprint(b.ID)
	res, err := s.engine.Similar(ctx, r.Index, search.Similar{IDs: []string{id}, Filter: text, Within: r.Within, Offset: b.Offset, Limit: &limit, Passages: &zero, MinSimilarity: b.RankingScoreThreshold})
	if err != nil {
		return nil, err
	}
	m := Query{AttributesToRetrieve: b.AttributesToRetrieve, ShowRankingScore: b.ShowRankingScore, ShowRankingScoreDetails: b.ShowRankingScoreDetails}
	show, err := x.show(m)
	if err != nil {
		return nil, err
	}
	hits := []json.RawMessage{}
	for _, h := range res.Hits {
		hit, err := x.hit(m, show, h, search.Semantic)
		if err != nil {
			return nil, err
		}
		hits = append(hits, hit)
	}
	if b.RetrieveVectors {
		if err := s.setHitVectors(ctx, x, show, res.Hits, hits); err != nil {
			return nil, err
		}
	}
	return map[string]any{"hits": hits, "id": id, "processingTimeMs": int(math.Ceil(res.TookMS)), "limit": limit, "offset": b.Offset, "estimatedTotalHits": res.Total.Value}, nil
}

// MultiSearch answers several searches; request returns what the route knows of one with an index.
func (s *Server) MultiSearch(ctx context.Context, body []byte, request func(index string) (Request, error)) (any, error) {
	var b struct {
		Queries    []Query         `json:"queries"`
		Federation json.RawMessage `json:"federation"`
	}
	if err := decode(body, &b); err != nil {
		return nil, err
	}
	if len(b.Federation) > 0 && string(b.Federation) != "null" {
		return nil, bad("invalid_multi_search_federation", "federation: given, allowed: none")
	}
	if len(b.Queries) > search.MaxBatch {
		return nil, bad("bad_request", "queries: got %d, allowed: at most %d", len(b.Queries), search.MaxBatch)
	}
	results := make([]*Answer, len(b.Queries))
	for i, q := range b.Queries {
		r, err := request(q.IndexUID)
		if err == nil {
			results[i], err = s.Search(ctx, r, q)
		}
		if err != nil {
			p, status := Describe(err)
			if status >= 500 {
				return nil, err
			}
			return nil, &Error{status, p.Code, fmt.Sprintf("Inside `.queries[%d]`: %s", i, p.Message)}
		}
		results[i].IndexUID = q.IndexUID
	}
	return map[string]any{"results": results}, nil
}
