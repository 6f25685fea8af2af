package search

import (
	"encoding/json"
	"searchd/search/fusion"
	"searchd/search/querytext"
	"time"
)

// Mode names the retrievers of a search.
type Mode = fusion.Mode

// The modes. The empty Mode is Hybrid.
const (
	Hybrid   = fusion.Hybrid
	Semantic = fusion.Semantic
	Keyword  = fusion.Keyword
)

// Fusion is the way in which a hybrid search makes one score of two.
type Fusion = fusion.Method

// The fusions. The empty Fusion is Relative.
const (
	Relative = fusion.Relative
	RRF      = fusion.RRF
)

// Limits of a [Query].
const (
	DefaultLimit  = 10
	MaxLimit      = 1000
	DefaultWindow = 200
	MaxWindow     = 10000
	MaxOffset     = 100_000 // of a query without words and of a keyword search
	MaxQueryBytes = 32 << 10
	MaxPassages   = 100

	DefaultRerankWindow = 30
	MaxRerankWindow     = 200
)

// Query asks a collection. The zero value of each field means its default.
//
// A Q without a word or phrase finds all documents that pass Filter and have nothing that Q
// excludes, in the order of Sort or of their first arrival, in every mode. They are compared with
// nothing: their scores are 0, their passages are the first of their texts, and Rerank,
// MinSimilarity, Diversity, Boosts, Sentences and Explain are refused.
type Query struct {
	Q             string    `json:"q"`                        // what the user typed: words, "phrases", -exclusions; see [QueryText]. Without a word or phrase: all documents
	Syntax        Syntax    `json:"syntax,omitempty"`         // operators (default); plain: quotes and minus signs in Q mean nothing
	Spelling      Spelling  `json:"spelling,omitempty"`       // corrected (default): words that no document has are read as near ones; exact (default with syntax plain)
	Unfinished    bool      `json:"unfinished,omitempty"`     // somebody is typing: the last word of Q, where no document has it, is read as one that begins with it
	Mode          Mode      `json:"mode,omitempty"`           // hybrid (default), semantic, keyword
	Alpha         *float64  `json:"alpha,omitempty"`          // weight of the vector retriever, 0..1; nil: what the query's cosines say, see docs/explanation/scoring.md
	Fusion        Fusion    `json:"fusion,omitempty"`         // relative (default), rrf
	Cutoff        Cutoff    `json:"cutoff,omitempty"`         // none (default), auto, or the score below which documents are not matches
	LessRelevant  int       `json:"less_relevant,omitempty"`  // results below the cutoff that the answer has beside its hits, 0..100
	Window        int       `json:"window,omitempty"`         // documents per leg that take part, 1..10000; default 200. Pages are stable within it
	Filter        string    `json:"filter,omitempty"`         // e.g. lang = 'en' AND year >= 2020
	Fields        Fields    `json:"fields,omitempty"`         // searched fields of the keyword leg and of phrases; default: all
	Operator      string    `json:"operator,omitempty"`       // of the keyword leg: or (default), and: all the words must occur
	Facets        []Facet   `json:"facets,omitempty"`         // count the values of fields over what is found
	Sort          []SortKey `json:"sort,omitempty"`           // default: by score. In keyword mode all matches are sorted, otherwise those of the window
	Boosts        []Boost   `json:"boosts,omitempty"`         // at most 8: what raises or lowers documents beside their relevance, within the window
	Group         string    `json:"group,omitempty"`          // a filterable field: of the documents of the window with the same value only the first is a hit
	Limit         *int      `json:"limit,omitempty"`          // hits per page, 0..1000; default 10. 0: total and facets alone
	Offset        int       `json:"offset,omitempty"`         // hits to skip; offset+limit <= window, but in a keyword search without group and boosts
	Page          int       `json:"page,omitempty"`           // in place of Offset: the page of Limit hits, from 1
	Passages      *int      `json:"passages,omitempty"`       // passages per hit, best first, 0..100; default 1
	ReturnFields  []string  `json:"return_fields,omitzero"`   // fields of the hits' documents, nested ones joined with dots; nil: all, empty: none
	OmitFields    []string  `json:"omit_fields,omitempty"`    // fields that the hits' documents come without, named as in ReturnFields
	MinSimilarity float64   `json:"min_similarity,omitempty"` // hits of the vector leg with a smaller cosine are left out, -1..1; default 0
	Diversity     float64   `json:"diversity,omitempty"`      // 0 (default): by score alone; up to 1: what is like an earlier hit comes later, see [DiversityExplain]
	Highlight     *bool     `json:"highlight,omitempty"`      // mark the query's words in the fields; default true
	Sentences     bool      `json:"sentences,omitempty"`      // tell the sentence of each hit's best passage that is nearest to the query; not in keyword mode
	Explain       bool      `json:"explain,omitempty"`        // say how each score came about
	Rerank        bool      `json:"rerank,omitempty"`         // put the best hits into the order of the cross-encoder that the server was given
	RerankWindow  int       `json:"rerank_window,omitempty"`  // how many, 1..200; default 30. With rerank, offset+limit <= rerank_window

	likeness bool      // there is no Q: the vector comes from [Similar]
	batched  bool      // Q is encoded together with those of other queries
	now      time.Time // what "now" means in Boosts; zero: the time at which the query is checked
}

// Response is the answer to a [Query].
type Response struct {
	Hits   []Hit                  `json:"hits"`
	Total  Total                  `json:"total"`
	Facets map[string]FacetCounts `json:"facets,omitempty"` // by field

	LessRelevant []Hit `json:"less_relevant,omitempty"` // the best results below the cutoff, where the query asks for them

	TookMS    float64            `json:"took_ms"`
	TimingsMS map[string]float64 `json:"timings_ms"` // filter, spell, embed (tokenize is a part of it), find (keyword and vector side by side), fill, fuse, match in semantic mode, facets, sort, boost, group, rerank and diversify where asked, fetch, sentences where asked
	Degraded  bool               `json:"degraded"`   // true when a leg or the re-ranking could not run and the answer is without it
	Reason    string             `json:"degraded_reason,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`   // fields of the query that neither the settings nor a document has; boosts by numbers or dates that no document found has; hits that are damaged
	Query     *QueryText         `json:"query,omitempty"`      // how Q was read; absent where it is words alone and none was respelled
	RequestID string             `json:"request_id,omitempty"` // set by the server
}

// Total counts matches. Value counts the documents that the legs named by Of found.
type Total struct {
	Value    int    `json:"value"`
	Relation string `json:"relation"`         // "eq", or "gte" where the window cut the count, or more texts had all words of a phrase than are read
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
	Explain    *Explain            `json:"explain,omitempty"`

	weak bool // below the cutoff
}

// HitGroup says what a hit stands for.
type HitGroup struct {
	Value any `json:"value"` // of the field, the first where it has several; null: none, and the hit stands for itself alone
	More  int `json:"more"`  // documents of the window with the same value, which are no hits
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
	Page   int      `json:"page,omitempty"`   // page or slide on which it begins

	Sentence *Sentence `json:"sentence,omitempty"` // of the best passage, where sentences were asked for

	column int // of its line at which it begins, in runes; 0 where no sentences were asked for
}

// Explain says how a score came about. A leg that did not run is nil.
type Explain struct {
	Keyword *KeywordExplain `json:"keyword,omitempty"`
	Vector  *VectorExplain  `json:"vector,omitempty"`
	Fusion  *FusionExplain  `json:"fusion,omitempty"`
	Rerank  *RerankExplain  `json:"rerank,omitempty"`
	Boost   *BoostExplain   `json:"boost,omitempty"`

	Diversity *DiversityExplain `json:"diversity,omitempty"`

	Loose bool `json:"loose,omitempty"` // it has a phrase of the query only in other forms of its words, and stands below the hits that have these
}

// RerankExplain says what the cross-encoder made of a hit.
type RerankExplain struct {
	Logit       float64 `json:"logit"`        // raw output for the query and the best passage
	Relevance   float64 `json:"relevance"`    // the logit as the checkpoint wants it shown: its sigmoid, or itself
	RankBefore  int     `json:"rank_before"`  // from 1
	ScoreBefore float64 `json:"score_before"` // of the fusion, boosted
	Window      int     `json:"window"`       // hits that were re-ranked
}

// KeywordExplain is the keyword leg of an [Explain].
type KeywordExplain struct {
	Rank    int           `json:"rank"`    // from 1; 0 where the document was not among the leg's window and its score was filled in
	Score   float64       `json:"score"`   // BM25
	Ceiling float64       `json:"ceiling"` // a BM25 that no document can exceed for this query
	Norm    float64       `json:"norm"`    // in [0,1], see fusion
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

// VectorExplain is the vector leg of an [Explain].
type VectorExplain struct {
	Rank   int     `json:"rank"`   // from 1; 0 where the score was filled in
	Cosine float64 `json:"cosine"` // of the passage nearest to the query
	Norm   float64 `json:"norm"`   // how far the similarity, or without one the cosine, lies between that of unrelated texts and 1

	Mean      float64 `json:"mean"`      // of the query's cosines with the collection
	Deviation float64 `json:"deviation"` // of these

	// In semantic mode, where texts are compared token by token.
	Match      *float64 `json:"match,omitempty"`      // of the best passage; absent for a document behind the first 50, which counts with their least
	Similarity *float64 `json:"similarity,omitempty"` // the weighted mean of cosine and match
}

// FusionExplain says how the legs were joined.
type FusionExplain struct {
	Method Fusion  `json:"method"`
	Alpha  float64 `json:"alpha"`
	Window int     `json:"window"`
}

// Syntax says how the text of a query is read.
type Syntax string

// The syntaxes. The empty Syntax is Operators.
const (
	Operators Syntax = "operators" // phrases and exclusions, see [QueryText]
	Plain     Syntax = "plain"     // words alone: a text that nobody typed into a search box
)

// QueryText is a parsed query.
type QueryText = querytext.Text

// Respelling is a word of a query that was read as another.
type Respelling = querytext.Respelling

// ParseQueryText parses a query.
func ParseQueryText(q string) QueryText { return querytext.Parse(q) }

// Spelling says what becomes of words of a query that no document has. The empty Spelling is
// Corrected, with [Plain] Exact.
type Spelling string

// The spellings.
const (
	Corrected Spelling = "corrected" // such a word is read as one of the documents that is spelled much like it, see [Respelling]
	Exact     Spelling = "exact"     // every word is taken as it stands
)
