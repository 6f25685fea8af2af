package client

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
)

// Query asks a collection. The zero value of each field means the server's default, and a negative
// Alpha, Limit or Passages means 0. Without a word or phrase in Q all documents are found that pass
// Filter.
type Query struct {
	Q             string    `json:"q"`                       // words, "phrases", -exclusions
	Syntax        string    `json:"syntax,omitempty"`        // operators (default); plain: quotes and minus signs in Q mean nothing
	Spelling      string    `json:"spelling,omitempty"`      // corrected (default): words that no document has are read as near ones; exact (default with plain)
	Unfinished    bool      `json:"unfinished,omitempty"`    // the last word of Q, where no document has it, is read as one that begins with it
	Rules         *bool     `json:"rules,omitempty"`         // apply the rules of the collection; default true
	Mode          string    `json:"mode,omitempty"`          // hybrid (default), semantic, keyword
	Alpha         float64   `json:"alpha,omitempty"`         // weight of vector search, up to 1
	Vector        []float32 `json:"vector,omitempty"`        // of the query, in place of the one that the model makes of Q; without Q the search is semantic
	Fusion        string    `json:"fusion,omitempty"`        // relative (default), rrf
	Cutoff        any       `json:"cutoff,omitempty"`        // "none" (default), "auto", or the score below which documents are not matches
	LessRelevant  int       `json:"less_relevant,omitempty"` // results below the cutoff to return beside the hits
	Window        int       `json:"window,omitempty"`
	Filter        string    `json:"filter,omitempty"` // e.g. lang = 'en' AND year >= 2020
	Fields        []string  `json:"fields,omitempty"` // searched by keywords and phrases, with weights: "title^2"
	Operator      string    `json:"operator,omitempty"`
	Facets        []Facet   `json:"facets,omitempty"`
	Sort          []SortKey `json:"sort,omitempty"`   // default: by score
	Boosts        []Boost   `json:"boosts,omitempty"` // what raises or lowers documents beside their relevance
	Group         string    `json:"group,omitempty"`  // a field: of the candidates with the same value only the first is a hit
	Limit         int       `json:"limit,omitempty"`  // negative: total and facets alone
	Offset        int       `json:"offset,omitempty"`
	Page          int       `json:"page,omitempty"`         // in place of Offset, from 1
	Passages      int       `json:"passages,omitempty"`     // of each hit
	ReturnFields  []string  `json:"return_fields,omitzero"` // of the hits' documents, nested ones joined with dots; nil: all, empty: none
	OmitFields    []string  `json:"omit_fields,omitempty"`  // that the hits' documents come without
	MinSimilarity float64   `json:"min_similarity,omitempty"`
	Diversity     float64   `json:"diversity,omitempty"` // 0 to 1: how much what is like an earlier hit is held back
	NoHighlight   bool      `json:"-"`                   // leave out the marked texts
	NoAnalytics   bool      `json:"-"`                   // a server that logs searches leaves this one out
	Sentences     bool      `json:"sentences,omitempty"` // return the sentence of each hit's best passage that is nearest to the query
	Explain       bool      `json:"explain,omitempty"`
	AllowPartial  bool      `json:"allow_partial,omitempty"` // of a cluster: answer without partitions that no node serves
	Rerank        bool      `json:"rerank,omitempty"`        // put the best hits into the order of the server's cross-encoder
	RerankWindow  int       `json:"rerank_window,omitempty"` // how many; with Rerank, Offset+Limit is at most this
}

// MarshalJSON implements json.Marshaler.
func (q Query) MarshalJSON() ([]byte, error) {
	type plain Query // without this method
	body := struct {
		plain
		Alpha     *float64 `json:"alpha,omitempty"`
		Limit     *int     `json:"limit,omitempty"`
		Passages  *int     `json:"passages,omitempty"`
		Highlight *bool    `json:"highlight,omitempty"`
		Analytics *bool    `json:"analytics,omitempty"`
	}{plain: plain(q), Alpha: optional(q.Alpha), Limit: optional(q.Limit), Passages: optional(q.Passages)}
	if q.NoHighlight {
		body.Highlight = new(false)
	}
	if q.NoAnalytics {
		body.Analytics = new(false)
	}
	return json.Marshal(body)
}

// optional returns nil for 0, which stands for the default, and 0 for a negative number.
func optional[N int | float64](n N) *N {
	if n == 0 {
		return nil
	}
	return new(max(n, 0))
}

// Response is the answer to a [Query].
type Response struct {
	Hits         []Hit                  `json:"hits"`
	LessRelevant []Hit                  `json:"less_relevant,omitempty"` // below the cutoff
	Total        Total                  `json:"total"`
	Facets       map[string]FacetCounts `json:"facets,omitempty"`
	TookMS       float64                `json:"took_ms"`
	TimingsMS    map[string]float64     `json:"timings_ms"`
	Degraded     bool                   `json:"degraded"` // keyword or vector search could not run, and the answer is the other's
	Reason       string                 `json:"degraded_reason"`
	Warnings     []string               `json:"warnings,omitempty"`           // fields of the query that neither the settings nor a document has; hits that are damaged
	Missing      []int                  `json:"missing_partitions,omitempty"` // whose documents are left out
	Query        *QueryText             `json:"query,omitempty"`              // how Q was parsed; nil if it is plain words without corrections
	Rules        []RuleApplied          `json:"rules,omitempty"`              // of the collection that the query matches
	Redirect     string                 `json:"redirect,omitempty"`           // where the first of these that has a redirect sends the user
	SearchID     string                 `json:"search_id,omitempty"`          // for [Events.Click], where the server logs searches
	RequestID    string                 `json:"request_id"`
}

// RuleApplied is a rule of the collection that the query matches.
type RuleApplied struct {
	ID string `json:"id"`
}

// Facet counts the values of a field in the matching documents: the Limit most frequent ones, or
// the documents in each range.
type Facet struct {
	Field  string       `json:"field"`
	Limit  int          `json:"limit,omitempty"`
	Ranges []FacetRange `json:"ranges,omitempty"`
}

// FacetRange is the interval from From up to but not with To, of numbers or of dates; one may be
// nil.
type FacetRange struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// FacetCounts answers a [Facet] over the documents that the total counts, which Of names as it does
// there.
type FacetCounts struct {
	Of        string       `json:"of"`
	Documents int          `json:"documents"`
	Missing   int          `json:"missing"` // documents without a value
	Distinct  int          `json:"distinct,omitempty"`
	Values    []FacetValue `json:"values,omitempty"`
	Ranges    []RangeCount `json:"ranges,omitempty"`
}

// FacetValue is a string, float64, json.Number or bool and the number of documents that have it.
type FacetValue struct {
	Value any `json:"value"`
	Count int `json:"count"`
}

// RangeCount is a range and the number of documents that have a value in it.
type RangeCount struct {
	FacetRange
	Count int `json:"count"`
}

// SortKey is a field, or _score, and its direction: asc, desc, or the default of the field. With
// Origin, a list of latitude and longitude, documents come by their distance from it.
type SortKey struct {
	Field  string    `json:"field"`
	Order  string    `json:"order,omitempty"`
	Origin []float64 `json:"origin,omitempty"`
}

// Boost raises documents, with a negative weight lowers them: the score is multiplied with 1 + the
// sum of Weight times a value from 0 to 1. With Filter that is 1 where the filter passes; with
// Field and Origin ("now" or a date with a Scale such as "30d", a list of latitude and longitude
// with one such as "5km", or numbers) it halves with each Scale away from Origin; with Field alone
// it is x/(x+Scale).
type Boost struct {
	Filter string  `json:"filter,omitempty"`
	Field  string  `json:"field,omitempty"`
	Origin any     `json:"origin,omitempty"`
	Scale  any     `json:"scale,omitempty"`
	Weight float64 `json:"weight"`
}

// QueryText is a parsed query: the text that ranks, the phrases that must occur, the words and
// phrases that must not, and those of both that the analysis drops.
type QueryText struct {
	Text    string   `json:"text"`
	Phrases []string `json:"phrases,omitempty"`
	Without []string `json:"without,omitempty"`
	Ignored []string `json:"ignored,omitempty"`

	Respelled []Respelling `json:"respelled,omitempty"` // in Text
	Completed *Respelling  `json:"completed,omitempty"` // in Text: the word that was not finished
}

// Respelling is a word of a query that no document has, and the one as which it was read.
type Respelling struct {
	Word string `json:"word"`
	As   string `json:"as"`
}

// Total counts the matches of the searches that Of names; Relation is "eq", or "gte" where the
// count was cut.
type Total struct {
	Value    int    `json:"value"`
	Relation string `json:"relation"`
	Of       string `json:"of"`
	Groups   int    `json:"groups,omitempty"` // where hits are grouped
}

// Hit is one document of an answer.
type Hit struct {
	ID         string              `json:"id"`
	Score      float64             `json:"score"`
	Document   json.RawMessage     `json:"document"`
	Passages   []Passage           `json:"passages"`
	Highlights map[string][]string `json:"highlights"`         // HTML-escaped, the query's words in <mark>…</mark>
	Group      *HitGroup           `json:"group,omitempty"`    // where hits are grouped
	Distance   *float64            `json:"distance,omitempty"` // in metres, where the query's sort, boosts or filter have a place
	Pinned     bool                `json:"pinned,omitempty"`   // by a rule of the collection
	Loose      bool                `json:"loose,omitempty"`    // it has a phrase of the query only in other forms of its words, and ranks below the hits that have these
	Explain    *Explain            `json:"explain"`
}

// HitGroup is the value of a hit's group, nil where it has none, and how many more documents of the
// window have it.
type HitGroup struct {
	Value any `json:"value"`
	More  int `json:"more"`
}

// Passage is a part of a document's field: bytes [Start, End) of its text.
type Passage struct {
	Field  string   `json:"field"`
	Start  int      `json:"start"`
	End    int      `json:"end"`
	Text   string   `json:"text"`
	Marked string   `json:"marked,omitempty"` // the text HTML-escaped, the query's words in <mark>…</mark>
	Score  *float64 `json:"score,omitempty"`  // cosine with the query
	Trail  []string `json:"trail,omitempty"`  // title and headings above the passage, outermost first
	Header string   `json:"header,omitempty"` // of the table in whose rows it begins
	Page   int      `json:"page,omitempty"`   // page or slide on which it begins

	Sentence *Sentence `json:"sentence,omitempty"` // of the best passage, where sentences were asked for
}

// Sentence is a sentence of a passage: bytes [Start, End) of the field's text, and its cosine with
// the query where it was one of several.
type Sentence struct {
	Start int      `json:"start"`
	End   int      `json:"end"`
	Score *float64 `json:"score,omitempty"`
}

// Explain says how a score came about. A search that did not run is nil.
type Explain struct {
	Keyword *KeywordExplain `json:"keyword"`
	Vector  *VectorExplain  `json:"vector"`
	Fusion  *FusionExplain  `json:"fusion"`
	Rerank  *RerankExplain  `json:"rerank"`
	Boost   *BoostExplain   `json:"boost,omitempty"`

	Diversity *DiversityExplain `json:"diversity,omitempty"`
}

// DiversityExplain has the rank of a hit by score, its relevance in [0,1], the largest cosine with
// an earlier hit, and the value that the two give.
type DiversityExplain struct {
	RankBefore int     `json:"rank_before"`
	Relevance  float64 `json:"relevance"`
	Similarity float64 `json:"similarity"`
	Value      float64 `json:"value"`
}

// BoostExplain is the effect of boosts on a hit: its rank and score without them, the factor, and
// the value of each boost.
type BoostExplain struct {
	RankBefore int          `json:"rank_before"`
	Relevance  float64      `json:"relevance"`
	Factor     float64      `json:"factor"`
	Values     []BoostValue `json:"values"`
}

// BoostValue is the value of one boost for a document; Of is its field or filter.
type BoostValue struct {
	Of     string  `json:"of"`
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}

// RerankExplain is the cross-encoder's result for a hit: the raw output for the query and the best
// passage, the score made of it, and rank and score before.
type RerankExplain struct {
	Logit       float64 `json:"logit"`
	Relevance   float64 `json:"relevance"`
	RankBefore  int     `json:"rank_before"`
	ScoreBefore float64 `json:"score_before"`
	Window      int     `json:"window"`
}

// KeywordExplain is the result of keyword search: its rank (0 where the score was filled in), BM25,
// what BM25 cannot exceed for this query, and its share of that to the power of 1.3.
type KeywordExplain struct {
	Rank    int           `json:"rank"`
	Score   float64       `json:"score"`
	Ceiling float64       `json:"ceiling"`
	Norm    float64       `json:"norm"`
	Terms   []TermExplain `json:"terms"`
}

// TermExplain is one query term's share of a BM25 score.
type TermExplain struct {
	Term  string  `json:"term"`
	For   string  `json:"for,omitempty"` // the words of the query that the term is a synonym of; empty where the query has it
	Field string  `json:"field"`
	TF    int     `json:"tf"`
	DF    int     `json:"df"`
	IDF   float64 `json:"idf"`
	Score float64 `json:"score"`
}

// VectorExplain is the result of vector search: its rank (0 where the score was filled in), the
// cosine of the best passage, and that in [0,1].
type VectorExplain struct {
	Rank   int     `json:"rank"`
	Cosine float64 `json:"cosine"`
	Norm   float64 `json:"norm"` // how far the similarity, or without one the cosine, lies between that of unrelated texts and 1

	Mean      float64 `json:"mean"`      // of the query's cosines with the collection
	Deviation float64 `json:"deviation"` // of these

	// In semantic mode, where texts are compared token by token.
	Match      *float64 `json:"match,omitempty"` // absent for documents after the first 50
	Similarity *float64 `json:"similarity,omitempty"`
}

// FusionExplain says how keyword and vector scores were combined.
type FusionExplain struct {
	Method string  `json:"method"`
	Alpha  float64 `json:"alpha"`
	Window int     `json:"window"`
	Scale  float64 `json:"scale"` // log-odds of relevance that one unit of evidence is worth
	Prior  float64 `json:"prior"` // log-odds of relevance without evidence
}

// Search answers a query; ErrNotFound, ErrInvalid.
func (c *Client) Search(ctx context.Context, collection string, q Query) (*Response, error) {
	out := &Response{}
	return out, c.send(ctx, call{method: http.MethodPost, path: collectionPath(collection) + "/search", effect: reads}, q, out)
}

// CollectionQuery is one of the searches of a [MultiQuery].
type CollectionQuery struct {
	Collection string  `json:"collection"`
	Weight     float64 `json:"weight,omitempty"` // its scores are multiplied by it; default 1
	Query      Query   `json:"query"`            // without a page and Sort
}

// MultiQuery asks several collections. All searches have the same Mode, Fusion and Rerank.
type MultiQuery struct {
	Q        string            `json:"q,omitempty"` // of the searches that have none of their own
	Searches []CollectionQuery `json:"searches"`
	Limit    int               `json:"limit,omitempty"` // of all hits together; default 10
	Offset   int               `json:"offset,omitempty"`
}

// MultiHit is a hit with the search that found it.
type MultiHit struct {
	Collection string `json:"collection"`
	Search     int    `json:"search"` // its place in Searches
	Hit
}

// MultiResponse has the hits of several searches, best first.
type MultiResponse struct {
	Hits     []MultiHit `json:"hits"`
	Total    Total      `json:"total"`
	Searches []struct {
		Collection string   `json:"collection"`
		Response   Response `json:"response"` // without hits
	} `json:"searches"`
	TookMS    float64 `json:"took_ms"`
	RequestID string  `json:"request_id"`
}

// MultiSearch searches several collections and merges the hits by their scores; ErrNotFound,
// ErrInvalid.
func (c *Client) MultiSearch(ctx context.Context, q MultiQuery) (*MultiResponse, error) {
	out := &MultiResponse{}
	return out, c.send(ctx, call{method: http.MethodPost, path: "/v1/search", effect: reads}, q, out)
}

// EmbedOptions are options of Embed. The zero value embeds documents at full length.
type EmbedOptions struct {
	Query      bool // with the checkpoint's query prompt
	Dimensions int  // leading components, renormalised; 0: all
}

// Embeddings are the vectors of texts, in their order.
type Embeddings struct {
	Vectors   [][]float32
	Truncated []bool // the text was longer than the checkpoint takes
	Tokens    int
	Model     string
}

// Embed turns texts into vectors of unit length, at most 2048 and Options.BatchBytes of them with
// one request, and no more than the server takes; any number may be given.
func (c *Client) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	// A server takes 300,000 tokens with a request. A token has a byte or more, and a text gets a
	// prompt and special tokens.
	const page, most, perText = 2048, 300_000, 32
	out := &Embeddings{}
	for len(texts) > 0 {
		n := 1
		for bytes := len(texts[0]) + perText; n < min(page, len(texts)); n++ {
			if bytes += len(texts[n]) + perText; bytes > min(c.o.BatchBytes, most) {
				break
			}
		}
		body := map[string]any{"input": texts[:n], "encoding_format": "base64"}
		if o.Query {
			body["input_type"] = "query"
		}
		if o.Dimensions > 0 {
			body["dimensions"] = o.Dimensions
		}
		if err := c.embedPage(ctx, body, n, out); err != nil {
			return nil, err
		}
		texts = texts[n:]
	}
	return out, nil
}

func (c *Client) embedPage(ctx context.Context, body map[string]any, n int, out *Embeddings) error {
	var list struct {
		Model string `json:"model"`
		Data  []struct {
			Embedding []byte `json:"embedding"` // base64 of little-endian float32
			Truncated bool   `json:"truncated"`
		} `json:"data"`
		Usage struct {
			Tokens int `json:"total_tokens"`
		} `json:"usage"`
	}
	q := call{method: http.MethodPost, path: "/v1/embeddings", effect: reads}
	if err := c.send(ctx, q, body, &list); err != nil {
		return err
	}
	if err := q.counted(len(list.Data), n); err != nil {
		return err
	}
	for _, d := range list.Data {
		out.Vectors = append(out.Vectors, floats(d.Embedding))
		out.Truncated = append(out.Truncated, d.Truncated)
	}
	out.Tokens += list.Usage.Tokens
	out.Model = list.Model
	return nil
}

func floats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// Ready returns nil when the server answers searches, else the reason. It does not retry.
func (c *Client) Ready(ctx context.Context) error {
	res, err := c.once(ctx, call{method: http.MethodGet, path: "/readyz"})
	if err != nil {
		return err
	}
	return res.Body.Close()
}
