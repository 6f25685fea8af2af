package query

import (
	"encoding/json"
	"example.com/searchd/search/fusion"
	"example.com/searchd/search/querytext"
)

// Text is a parsed query.
type Text = querytext.Text

// Response is the answer to a [Query].
type Response struct {
	Hits   []Hit                  `json:"hits"`
	Total  Total                  `json:"total"`
	Facets map[string]FacetCounts `json:"facets,omitempty"` // by field

	LessRelevant []Hit `json:"less_relevant,omitempty"` // the best results below the cutoff, where the query asks for them

	TookMS    float64            `json:"took_ms"`
	TimingsMS map[string]float64 `json:"timings_ms"` // filter, spell, embed (tokenize is a part of it), find (keyword and vector side by side), fill, fuse, match in semantic mode, facets, sort, boost, group, rerank and diversify where asked, fetch, sentences where asked
	Degraded  bool               `json:"degraded"`   // a retriever or the re-ranking could not run, and the response is without it
	Reason    string             `json:"degraded_reason,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`           // fields of the query that neither the settings nor a document has; what the filter of a query without results compares with values of another kind; boosts by numbers or dates that no document found has; hits that are damaged
	Missing   []int              `json:"missing_partitions,omitempty"` // of the collection, which no node serves; their documents are left out
	Query     *Text              `json:"query,omitempty"`              // how Q was read; absent where it is words alone and none was respelled
	Rules     []RuleApplied      `json:"rules,omitempty"`              // of the collection that the query matches
	Redirect  string             `json:"redirect,omitempty"`           // where the first of these that has a redirect sends the user
	SearchID  string             `json:"search_id,omitempty"`          // set by a server that logs searches
	RequestID string             `json:"request_id,omitempty"`         // set by the server
}

// RuleApplied is a rule of the collection that the query matches.
type RuleApplied struct {
	ID string `json:"id"`
}

// Total counts matches. Value counts the documents that the retrievers named by Of found.
type Total struct {
	Value    int    `json:"value"`
	Relation string `json:"relation"`         // "eq", or "gte" where there may be more than the candidates counted, or more texts had all words of a phrase than are read
	Groups   int    `json:"groups,omitempty"` // groups among them, where hits are grouped; a document without a value is one
	Of       string `json:"of"`               // "keyword", "vector" or "union"; "all" where Q has no word or phrase
}

// Hit is one document of an answer.
type Hit struct {
	ID         string              `json:"id"`
	Score      float64             `json:"score"` // larger is better; in [0,1] for hybrid relative and semantic; with rerank the cross-encoder's; with boosts these times their factor; 0 where Q has no word or phrase
	Document   json.RawMessage     `json:"document"`
	Passages   []PassageHit        `json:"passages"`
	Highlights map[string][]string `json:"highlights,omitempty"` // HTML-escaped snippets, the query's words in <mark>…</mark>
	Group      *HitGroup           `json:"group,omitempty"`      // where hits are grouped
	Distance   *float64            `json:"distance,omitempty"`   // in metres, of its nearest point from the origin of the query's sort or boost, or from the center of its filter
	Pinned     bool                `json:"pinned,omitempty"`     // by a rule of the collection; its score is 0 where the query does not find it
	Loose      bool                `json:"loose,omitempty"`      // it has a phrase of the query only in other forms of its words, and ranks below the hits that have these
	Explain    *Explain            `json:"explain,omitempty"`
}

// HitGroup says what a hit stands for.
type HitGroup struct {
	Value any `json:"value"` // of the field, the first where it has several; null: none, and the hit stands for itself alone
	More  int `json:"more"`  // candidates with the same value, which are no hits
}

// PassageHit is a passage of a hit's document.
type PassageHit struct {
	Field  string   `json:"field"`
	Start  int      `json:"start"` // byte offsets [Start, End) into the field's text
	End    int      `json:"end"`
	Text   string   `json:"text"`
	Marked string   `json:"marked,omitempty"` // the text HTML-escaped, the query's words in <mark>…</mark>; absent where highlight is false
	Score  *float64 `json:"score,omitempty"`  // cosine with the query; absent when the query was not encoded
	Trail  []string `json:"trail,omitempty"`  // title and headings above the passage, outermost first
	Header string   `json:"header,omitempty"` // of the table in whose rows it begins
	Page   int      `json:"page,omitempty"`   // page or slide on which it begins

	Sentence *Sentence `json:"sentence,omitempty"` // of the best passage, where sentences were asked for
}

// Explain says how a score came about. The part of a retriever that did not run is nil.
type Explain struct {
	Keyword *KeywordExplain `json:"keyword,omitempty"`
	Vector  *VectorExplain  `json:"vector,omitempty"`
	Fusion  *FusionExplain  `json:"fusion,omitempty"`
	Rerank  *RerankExplain  `json:"rerank,omitempty"`
	Boost   *BoostExplain   `json:"boost,omitempty"`

	Diversity *DiversityExplain `json:"diversity,omitempty"`
}

// RerankExplain is the result of the cross-encoder.
type RerankExplain struct {
	Logit       float64 `json:"logit"`        // raw output for the query and the best passage
	Relevance   float64 `json:"relevance"`    // the logit as the checkpoint wants it shown: its sigmoid, or itself
	RankBefore  int     `json:"rank_before"`  // from 1
	ScoreBefore float64 `json:"score_before"` // of the fusion, boosted
	Window      int     `json:"window"`       // hits that were re-ranked
}

// KeywordExplain is the keyword search of an [Explain].
type KeywordExplain struct {
	Rank    int           `json:"rank"`    // from 1; 0 if keyword search did not rank the document and its score was computed afterwards
	Score   float64       `json:"score"`   // BM25
	Ceiling float64       `json:"ceiling"` // a BM25 that no document can exceed for this query
	Norm    float64       `json:"norm"`    // share of the ceiling, to the power of 1.3
	Terms   []TermExplain `json:"terms"`
}

// TermExplain is one query term's share of a BM25 score.
type TermExplain struct {
	Term  string  `json:"term"`
	For   string  `json:"for,omitempty"` // the words of the query that the term is a synonym of; absent where the query has it
	Field string  `json:"field,omitempty"`
	TF    int     `json:"tf"`
	DF    int     `json:"df"`
	IDF   float64 `json:"idf"`
	Score float64 `json:"score"`
}

// VectorExplain is the vector search of an [Explain].
type VectorExplain struct {
	Rank   int     `json:"rank"`   // from 1; 0 if the score was computed afterwards
	Cosine float64 `json:"cosine"` // of the passage nearest to the query
	Norm   float64 `json:"norm"`   // how far the similarity, or without one the cosine, lies between that of unrelated texts and 1

	Mean      float64 `json:"mean"`      // of the query's cosines with the collection
	Deviation float64 `json:"deviation"` // of these

	// In semantic mode, where texts are compared token by token.
	Match      *float64 `json:"match,omitempty"`      // of the best passage; absent for a document behind the first 50, which counts with their least
	Similarity *float64 `json:"similarity,omitempty"` // the weighted mean of cosine and match
}

// FusionExplain says how both scores became one.
type FusionExplain struct {
	Method fusion.Method `json:"method"`
	Alpha  float64       `json:"alpha"`
	Window int           `json:"window"`
	Scale  float64       `json:"scale"` // log-odds of relevance that one unit of evidence is worth
	Prior  float64       `json:"prior"` // log-odds of relevance without evidence
}

// Reasons why a document is not among the results of a query.
const (
	ReasonFilter     = "filter"         // it does not pass the filter
	ReasonRule       = "rule"           // a rule of the collection hides it
	ReasonText       = "phrase"         // it lacks a phrase of the query, or has what the query excludes
	ReasonWords      = "no_words"       // keyword mode: it has none of the query's words, or with the operator and not all
	ReasonSimilarity = "min_similarity" // semantic mode: its cosine is smaller
	ReasonPassages   = "no_passages"    // it has no text, so it is found by words alone, and has none of the query's
	ReasonWindow     = "window"         // each retriever ranks more documents than the window above it
	ReasonCutoff     = "cutoff"         // its score is below the cutoff
	ReasonGroup      = "group"          // a better document has the same value of the field to group by
	ReasonRerank     = "rerank_window"  // it was not among the first that are re-ranked
)

// Explanation says why a document ranks where it does for a query.
type Explanation struct {
	Rank      int                `json:"rank"`             // from 1; 0 where it is not among the results
	Reason    string             `json:"reason,omitempty"` // then: filter, rule, phrase, no_words, no_passages, min_similarity, cutoff, window, group, rerank_window
	Ranked    int                `json:"ranked"`           // documents that were ranked
	Total     Total              `json:"total"`
	Hit       Hit                `json:"hit"` // as a search would show it; its score is what it would have, had it been ranked
	Query     *Text              `json:"query,omitempty"`
	TookMS    float64            `json:"took_ms"`
	TimingsMS map[string]float64 `json:"timings_ms"`
	Degraded  bool               `json:"degraded"`
	Degrade   string             `json:"degraded_reason,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`   // as in a [Response]
	Rules     []RuleApplied      `json:"rules,omitempty"`      // as in a [Response]
	RequestID string             `json:"request_id,omitempty"` // set by the server
}

// Sentence is a sentence of a passage, bytes [Start, End) of the field's text.
type Sentence struct {
	Start int      `json:"start"`
	End   int      `json:"end"`
	Score *float64 `json:"score,omitempty"` // cosine with the query; absent where the passage is one sentence
}

// DiversityExplain says how diversity placed a hit: Value = (1-diversity)·Relevance -
// diversity·Similarity was the largest of those left. (Maximal marginal relevance, Carbonell and
// Goldstein 1998, lambda = 1-diversity.)
type DiversityExplain struct {
	RankBefore int     `json:"rank_before"` // by score, from 1
	Relevance  float64 `json:"relevance"`   // the score where it is in [0,1] by itself, else its share between 0 and the best
	Similarity float64 `json:"similarity"`  // the largest cosine of the best passage with that of a hit placed before; 0 for the first
	Value      float64 `json:"value"`
}
