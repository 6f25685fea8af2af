package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// Query is a search as clients send it.
type Query struct {
	IndexUID                string          `json:"indexUid,omitempty"` // of a multi-search
	Q                       *string         `json:"q"`
	Vector                  []float32       `json:"vector"`
	Media                   json.RawMessage `json:"media"`
	Hybrid                  *hybrid         `json:"hybrid"`
	Offset                  *int            `json:"offset"`
	Limit                   *int            `json:"limit"`
	Page                    *int            `json:"page"`
	HitsPerPage             *int            `json:"hitsPerPage"`
	AttributesToRetrieve    []string        `json:"attributesToRetrieve"`
	RetrieveVectors         bool            `json:"retrieveVectors"`
	AttributesToCrop        []string        `json:"attributesToCrop"`
	CropLength              *int            `json:"cropLength"`
	CropMarker              *string         `json:"cropMarker"`
	AttributesToHighlight   []string        `json:"attributesToHighlight"`
	HighlightPreTag         *string         `json:"highlightPreTag"`
	HighlightPostTag        *string         `json:"highlightPostTag"`
	ShowMatchesPosition     bool            `json:"showMatchesPosition"`
	ShowRankingScore        bool            `json:"showRankingScore"`
	ShowRankingScoreDetails bool            `json:"showRankingScoreDetails"`
	ShowPerformanceDetails  bool            `json:"showPerformanceDetails"`
	RankingScoreThreshold   *float64        `json:"rankingScoreThreshold"`
	Filter                  json.RawMessage `json:"filter"`
	Sort                    []string        `json:"sort"`
	Distinct                *string         `json:"distinct"`
	Facets                  []string        `json:"facets"`
	MatchingStrategy        string          `json:"matchingStrategy"`
	AttributesToSearchOn    []string        `json:"attributesToSearchOn"`
	Locales                 []string        `json:"locales"`
	Personalize             json.RawMessage `json:"personalize"`
	FederationOptions       json.RawMessage `json:"federationOptions,omitempty"`
}

// hybrid asks for the meaning of the query, too.
type hybrid struct {
	Embedder      string   `json:"embedder"`
	SemanticRatio *float64 `json:"semanticRatio"`
}

// Answer is the answer to a search.
type Answer struct {
	IndexUID           string                    `json:"indexUid,omitempty"`
	Hits               []json.RawMessage         `json:"hits"`
	Query              string                    `json:"query"`
	ProcessingTimeMS   int                       `json:"processingTimeMs"`
	Limit              *int                      `json:"limit,omitempty"`
	Offset             *int                      `json:"offset,omitempty"`
	EstimatedTotalHits *int                      `json:"estimatedTotalHits,omitempty"`
	Page               *int                      `json:"page,omitempty"`
	HitsPerPage        *int                      `json:"hitsPerPage,omitempty"`
	TotalPages         *int                      `json:"totalPages,omitempty"`
	TotalHits          *int                      `json:"totalHits,omitempty"`
	FacetDistribution  map[string]map[string]int `json:"facetDistribution,omitzero"`
	FacetStats         map[string]facetStats     `json:"facetStats,omitzero"`
	SemanticHitCount   *int                      `json:"semanticHitCount,omitempty"`
}

type facetStats struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// SearchQuery reads the query of a body.
func SearchQuery(body []byte) (Query, error) {
	var q Query
	err := decode(body, &q)
	return q, err
}

// SearchParams reads the query of a query string.
func SearchParams(v url.Values) (q Query, err error) {
	text := func(name string) *string {
		if !v.Has(name) {
			return nil
		}
		s := v.Get(name)
		return &s
	}
	list := func(name string) []string {
		if v.Get(name) == "" {
			return nil
		}
		return strings.Split(v.Get(name), ",")
	}
	integer := func(name string) *int {
		if !v.Has(name) || err != nil {
			return nil
		}
		var n int
		n, err = number(v, name, 0, 1<<30)
		return &n
	}
	flag := func(name string) bool { b, _ := strconv.ParseBool(v.Get(name)); return b }
	decimal := func(name string) *float64 {
		if !v.Has(name) || err != nil {
			return nil
		}
		f, e := strconv.ParseFloat(v.Get(name), 64)
		if e != nil {
			err = bad("bad_request", "%s: got %.40q, allowed: a number", name, v.Get(name))
		}
		return &f
	}
	q = Query{Q: text("q"), Offset: integer("offset"), Limit: integer("limit"), Page: integer("page"), HitsPerPage: integer("hitsPerPage"),
		AttributesToRetrieve: list("attributesToRetrieve"), AttributesToCrop: list("attributesToCrop"), CropLength: integer("cropLength"), CropMarker: text("cropMarker"),
		AttributesToHighlight: list("attributesToHighlight"), HighlightPreTag: text("highlightPreTag"), HighlightPostTag: text("highlightPostTag"),
		ShowMatchesPosition: flag("showMatchesPosition"), ShowRankingScore: flag("showRankingScore"), ShowRankingScoreDetails: flag("showRankingScoreDetails"),
		RankingScoreThreshold: decimal("rankingScoreThreshold"), Filter: filterParam(v), Sort: sortParam(v), Distinct: text("distinct"), Facets: list("facets"),
		MatchingStrategy: v.Get("matchingStrategy"), AttributesToSearchOn: list("attributesToSearchOn"), Locales: list("locales")}
	for i, text := range list("vector") {
		x, e := strconv.ParseFloat(text, 32)
		if e != nil && err == nil {
			err = bad("invalid_search_vector", "vector: got %.40q at %d, allowed: a number", text, i)
		}
		q.Vector = append(q.Vector, float32(x))
	}
	q.RetrieveVectors = flag("retrieveVectors")
	if ratio := decimal("hybridSemanticRatio"); ratio != nil || v.Has("hybridEmbedder") {
		q.Hybrid = &hybrid{v.Get("hybridEmbedder"), ratio}
	}
	return q, err
}

// Search answers a query.
func (s *Server) Search(ctx context.Context, r Request, m Query) (*Answer, error) {
	x, err := s.open(ctx, r.Index)
	if err != nil {
		return nil, err
	}
	p, err := x.plan(m)
	if err != nil {
		return nil, err
	}
	p.query.Within = r.Within
	res, err := s.engine.Search(ctx, r.Index, p.query)
	if err != nil {
		return nil, err
	}
	a, err := x.answer(m, p, res)
	if err == nil && m.RetrieveVectors {
		err = s.setHitVectors(ctx, x, p.shown, res.Hits, a.Hits)
	}
	return a, err
}

// plan is a query in the engine's terms.
type plan struct {
	query    search.Query
	shown    shown
	pages    bool // of a fixed number of hits, whose total is exact
	asked    int  // hits of a page
	offset   int
	facetsOf []string
}

// plan translates a query.
func (x *index) plan(m Query) (p plan, err error) {
	set := &x.settings
	q := &p.query
	switch {
	case len(m.Media) > 0 && string(m.Media) != "null":
		return p, bad("invalid_search_media", "media: given, allowed: none")
	case m.Page != nil || m.HitsPerPage != nil:
		p.pages = true
	}
	if err := x.checkRetrieval("invalid_search_retrieve_vectors", m.RetrieveVectors); err != nil {
		return p, err
	}
	if m.Q != nil {
		q.Q = *m.Q
	}
	p.asked = 20
	switch {
	case p.pages && m.HitsPerPage != nil:
		p.asked = *m.HitsPerPage
	case !p.pages && m.Limit != nil:
		p.asked = *m.Limit
	}
	if p.pages {
		page := 1
		if m.Page != nil {
			page = *m.Page
		}
		if page < 0 || p.asked < 0 || p.asked > 1<<20 || page > 1<<20 {
			return p, bad("invalid_search_page", "page and hitsPerPage: got %d and %d, allowed: 0 or more", page, p.asked)
		}
		p.offset = max(page-1, 0) * p.asked
		if page == 0 {
			p.asked = 0
		}
	} else if m.Offset != nil {
		p.offset = *m.Offset
	}
	if p.offset < 0 || p.asked < 0 {
		return p, bad("invalid_search_offset", "offset and limit: got %d and %d, allowed: 0 or more", p.offset, p.asked)
	}
	most := min(set.Pagination.MaxTotalHits, search.MaxWindow)
	limit := max(0, min(p.asked, most-p.offset, search.MaxLimit))
	q.Limit, q.Offset = &limit, min(p.offset, most)
	if err := x.planMode(m, q); err != nil {
		return p, err
	}
	if q.Mode != search.Keyword {
		q.Window = max(search.DefaultWindow, q.Offset+limit)
	}
	if q.Filter, err = Filter(m.Filter); err != nil {
		return p, err
	}
	if q.Sort, err = sortKeys(m.Sort); err != nil {
		return p, err
	}
	if m.RankingScoreThreshold != nil {
		q.Cutoff = search.Cutoff(strconv.FormatFloat(*m.RankingScoreThreshold, 'g', -1, 64))
	}
	if group := m.Distinct; group != nil {
		q.Group = *group
	} else if set.DistinctAttribute != nil {
		q.Group = *set.DistinctAttribute
	}
	if q.Group != "" || q.Cutoff != "" {
		q.Window = max(q.Window, search.DefaultWindow, q.Offset+limit)
	}
	p.facetsOf = x.facets(m.Facets)
	for _, name := range p.facetsOf {
		q.Facets = append(q.Facets, search.Facet{Field: name, Limit: max(1, min(set.Faceting.MaxValuesPerFacet, 1000))})
	}
	zero := 0
	q.Passages = &zero
	if p.shown, err = x.show(m); err != nil {
		return p, err
	}
	marks := p.shown.marks()
	q.Highlight = &marks
	return p, nil
}

// planMode chooses how the words are searched.
func (x *index) planMode(m Query, q *search.Query) error {
	set := &x.settings
	q.Mode, q.Unfinished = search.Keyword, set.PrefixSearch != "disabled"
	if m.Vector != nil && m.Hybrid == nil {
		return bad("missing_search_hybrid", "hybrid: missing, required with vector")
	}
	if h := m.Hybrid; h != nil {
		if err := x.checkEmbedder("invalid_search_embedder", "hybrid.embedder", h.Embedder); err != nil {
			return err
		}
		ratio := 0.5
		if h.SemanticRatio != nil {
			ratio = *h.SemanticRatio
		}
		switch {
		case !(ratio >= 0 && ratio <= 1):
			return bad("invalid_search_semantic_ratio", "hybrid.semanticRatio: got %v, allowed: 0 to 1", ratio)
		case ratio == 1:
			q.Mode = search.Semantic
		case ratio > 0:
			q.Mode = search.Hybrid
			if ratio != 0.5 { // the default is what the query's own evidence says
				q.Alpha = &ratio
			}
		}
		if ratio > 0 {
			q.Vector = m.Vector
		}
	}
	if !set.TypoTolerance.Enabled {
		q.Spelling = search.Exact
	}
	switch m.MatchingStrategy {
	case "", "last", "frequency":
	case "all":
		q.Operator = "and"
	default:
		return bad("invalid_search_matching_strategy", "matchingStrategy: got %.40q, allowed: last, all, frequency", m.MatchingStrategy)
	}
	names := m.AttributesToSearchOn
	if len(names) == 0 || slices.Contains(names, "*") {
		names = set.SearchableAttributes
	}
	if !slices.Contains(names, "*") {
		const most = 32
		for i, name := range names[:min(len(names), most)] {
			weight := 1.0
			if len(m.AttributesToSearchOn) == 0 {
				weight = 1 / float64(i+1) // the first matters most
			}
			q.Fields = append(q.Fields, name+"^"+strconv.FormatFloat(math.Max(weight, 0.1), 'g', 4, 64))
		}
	}
	return nil
}

// facets returns the names of the facets that are asked for.
func (x *index) facets(asked []string) []string {
	if !slices.Contains(asked, "*") {
		return asked
	}
	var names []string
	for _, a := range x.settings.FilterableAttributes {
		if name, ok := a.(string); ok && name != "*" {
			names = append(names, name)
		}
	}
	return names
}

// sortKeys reads "price:asc" and the like.
func sortKeys(list []string) (keys []search.SortKey, err error) {
	for _, text := range list {
		i := strings.LastIndexByte(text, ':')
		if i < 0 || text[i+1:] != "asc" && text[i+1:] != "desc" {
			return nil, bad("invalid_search_sort", "sort: got %.80q, allowed: the name of an attribute, or _geoPoint(latitude, longitude), with :asc or :desc", text)
		}
		key, ok := geoKey(text)
		if !ok {
			key = search.SortKey{Field: text[:i], Order: text[i+1:]}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// answer is the answer to a query in Meilisearch's terms.
func (x *index) answer(m Query, p plan, res *search.Response) (*Answer, error) {
	a := &Answer{Hits: []json.RawMessage{}, Query: p.query.Q, ProcessingTimeMS: int(math.Ceil(res.TookMS))}
	total := res.Total.Value
	if res.Total.Groups > 0 {
		total = res.Total.Groups
	}
	total = min(total, x.settings.Pagination.MaxTotalHits)
	if p.pages {
		pages, page := 0, 1
		if p.asked > 0 {
			pages = (total + p.asked - 1) / p.asked
		}
		if m.Page != nil {
			page = *m.Page
		}
		a.Page, a.HitsPerPage, a.TotalPages, a.TotalHits = &page, &p.asked, &pages, &total
	} else {
		a.Limit, a.Offset, a.EstimatedTotalHits = &p.asked, &p.offset, &total
	}
	if m.Facets != nil {
		a.FacetDistribution, a.FacetStats = map[string]map[string]int{}, map[string]facetStats{}
	}
	for _, name := range p.facetsOf {
		a.addFacet(name, res.Facets[name])
	}
	if p.query.Mode != search.Keyword {
		n := len(res.Hits)
		a.SemanticHitCount = &n
	}
	for _, h := range res.Hits {
		hit, err := x.hit(m, p.shown, h, p.query.Mode)
		if err != nil {
			return nil, err
		}
		a.Hits = append(a.Hits, hit)
	}
	return a, nil
}

// addFacet adds the counts of a facet.
func (a *Answer) addFacet(name string, counts search.FacetCounts) {
	values := map[string]int{}
	var stats *facetStats
	for _, v := range counts.Values {
		values[fmt.Sprint(v.Value)] += v.Count
		var n float64
		switch x := v.Value.(type) {
		case float64:
			n = x
		case json.Number:
			n, _ = x.Float64()
		default:
			continue
		}
		if stats == nil {
			stats = &facetStats{n, n}
		}
		stats.Min, stats.Max = min(stats.Min, n), max(stats.Max, n)
	}
	a.FacetDistribution[name] = values
	if stats != nil {
		a.FacetStats[name] = *stats
	}
}

// hit is a hit in Meilisearch's terms: the document's attributes, with those that begin with an
// underscore beside them.
func (x *index) hit(m Query, show shown, h search.Hit, mode search.Mode) (json.RawMessage, error) {
	doc, err := x.shownDocument(h.ID, h.Document, show.displayed)
	if err != nil {
		return nil, err
	}
	fields, err := mapping.Project(doc, show.retrieved, nil)
	if err != nil {
		return nil, err
	}
	var out object
	if err := json.Unmarshal(fields, &out); err != nil {
		return nil, err
	}
	set := func(name string, v any) {
		if err == nil {
			out[name], err = encoded(v)
		}
	}
	if show.formats() {
		formatted, err := show.format(doc, h.Highlights)
		if err != nil {
			return nil, err
		}
		set("_formatted", formatted)
	}
	if m.ShowMatchesPosition {
		positions, err := show.positions(doc, h.Highlights)
		if err != nil {
			return nil, err
		}
		set("_matchesPosition", positions)
	}
	if h.Distance != nil && len(m.Sort) > 0 {
		set("_geoDistance", int(math.Round(*h.Distance)))
	}
	score := h.Score
	if mode == search.Keyword { // BM25, which has no upper limit
		score = score / (score + 1)
	}
	if m.ShowRankingScore {
		set("_rankingScore", score)
	}
	if m.ShowRankingScoreDetails {
		set("_rankingScoreDetails", map[string]any{"searchd": map[string]any{"order": 0, "score": score}})
	}
	if err != nil {
		return nil, err
	}
	return encoded(out)
}

// encoded is json.Marshal, but for <, > and &, which stay.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
