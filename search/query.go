package search

import (
	"example.com/searchd/search/fusion"
	"example.com/searchd/search/query"
	"example.com/searchd/search/querytext"
)

// The modes. The empty Mode is Hybrid.
const (
	Hybrid   = fusion.Hybrid
	Semantic = fusion.Semantic
	Keyword  = fusion.Keyword
)

// The fusions. The empty Fusion is Relative.
const (
	Relative = fusion.Relative
	RRF      = fusion.RRF
)

// Requests and responses of searches.
type (
	Respelling       = querytext.Respelling
	QueryText        = querytext.Text
	Fusion           = fusion.Method
	Mode             = fusion.Mode
	Query            = query.Query
	Syntax           = query.Syntax
	Spelling         = query.Spelling
	Cutoff           = query.Cutoff
	Fields           = query.Fields
	SortKey          = query.SortKey
	Similar          = query.Similar
	Response         = query.Response
	Total            = query.Total
	Hit              = query.Hit
	HitGroup         = query.HitGroup
	PassageHit       = query.PassageHit
	Explain          = query.Explain
	RerankExplain    = query.RerankExplain
	KeywordExplain   = query.KeywordExplain
	TermExplain      = query.TermExplain
	RuleApplied      = query.RuleApplied
	VectorExplain    = query.VectorExplain
	FusionExplain    = query.FusionExplain
	Explanation      = query.Explanation
	Sentence         = query.Sentence
	DiversityExplain = query.DiversityExplain
	Facet            = query.Facet
	FacetRange       = query.FacetRange
	FacetCounts      = query.FacetCounts
	FacetValue       = query.FacetValue
	RangeCount       = query.RangeCount
	Boost            = query.Boost
	BoostExplain     = query.BoostExplain
	BoostValue       = query.BoostValue
)

// Constants of requests and responses.
const (
	DefaultLimit        = query.DefaultLimit
	MaxLimit            = query.MaxLimit
	DefaultWindow       = query.DefaultWindow
	MaxWindow           = query.MaxWindow
	MaxOffset           = query.MaxOffset
	MaxQueryBytes       = query.MaxQueryBytes
	MaxPassages         = query.MaxPassages
	DefaultRerankWindow = query.DefaultRerankWindow
	MaxRerankWindow     = query.MaxRerankWindow
	Operators           = query.Operators
	Plain               = query.Plain
	Corrected           = query.Corrected
	Exact               = query.Exact
	CutoffNone          = query.CutoffNone
	CutoffAuto          = query.CutoffAuto
	ReasonFilter        = query.ReasonFilter
	ReasonRule          = query.ReasonRule
	ReasonText          = query.ReasonText
	ReasonWords         = query.ReasonWords
	ReasonSimilarity    = query.ReasonSimilarity
	ReasonPassages      = query.ReasonPassages
	ReasonWindow        = query.ReasonWindow
	ReasonCutoff        = query.ReasonCutoff
	ReasonGroup         = query.ReasonGroup
	ReasonRerank        = query.ReasonRerank
)

// ParseSortKeys parses keys such as year:desc,_score or location(48.9, 2.34).
func ParseSortKeys(s string) ([]SortKey, error) { return query.ParseSortKeys(s) }

// SplitSortKeys splits keys at the commas that are not in parentheses.
func SplitSortKeys(s string) []string { return query.SplitSortKeys(s) }
