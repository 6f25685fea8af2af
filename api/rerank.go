package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/searchd/search"
)

// Limits of one re-ranking request: its texts, as in Cohere's API, and the members of a document
// that are joined.
const (
	maxRerankTexts = 10000
	maxRankFields  = 16
)

// rerankRequest is the union of what clients of Cohere, Jina and compatible servers send.
type rerankRequest struct {
	Model     string      `json:"model"` // not used; there is one
	Query     string      `json:"query"`
	Documents rerankTexts `json:"documents"`
	Texts     rerankTexts `json:"texts"` // another name for documents
	TopN      *int        `json:"top_n"`

	ReturnDocuments bool `json:"return_documents"`
	ReturnText      bool `json:"return_text"` // another name for return_documents
	RawScores       bool `json:"raw_scores"`  // logits instead of relevance

	RankFields   []string `json:"rank_fields"`        // members of documents that are objects; default: text
	MaxChunks    *int     `json:"max_chunks_per_doc"` // not used: a document is cut where the checkpoint ends
	MaxTokens    *int     `json:"max_tokens_per_doc"` // not used
	Truncation   *bool    `json:"truncation"`         // false: what would be cut is refused
	Priority     *int     `json:"priority"`           // not used
	EmbeddingsOf bool     `json:"return_embeddings"`  // not used
}

// rerankTexts are the texts of a request. At most one more than allowed is decoded.
type rerankTexts []rerankText

func (l *rerankTexts) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*[]rerankText)(l)) // null, or wrong
	}
	*l = rerankTexts{}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() && len(*l) <= maxRerankTexts {
		var t rerankText
		if err := dec.Decode(&t); err != nil {
			return err
		}
		*l = append(*l, t)
	}
	return nil
}

// rerankText is a string, or an object with a text.
type rerankText struct {
	begins string // how its JSON begins, for errors
	text   *string
	all    map[string]json.RawMessage
}

func (t *rerankText) UnmarshalJSON(data []byte) error {
	t.begins = string(data[:min(len(data), 80)])
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &t.text)
	}
	return json.Unmarshal(data, &t.all)
}

// read returns the text to rank.
func (t *rerankText) read(field string, members []string) (string, error) {
	if t.text != nil {
		return *t.text, nil
	}
	if len(members) == 0 {
		members = []string{"text"}
	}
	var parts []string
	for _, name := range members {
		var s string
		if json.Unmarshal(t.all[name], &s) != nil {
			return "", &search.FieldError{Field: field, Value: literal(t.begins), Allowed: "a string, or an object with the string member " + name}
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "\n"), nil
}

type rerankAnswer struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"` // list
	Model   string         `json:"model"`
	Results []rerankResult `json:"results"` // best first
	Usage   embeddingUsage `json:"usage"`
	Meta    rerankMeta     `json:"meta"`
}

type rerankResult struct {
	Index     int          `json:"index"` // into the documents of the request
	Relevance float64      `json:"relevance_score"`
	Document  *rerankShown `json:"document,omitempty"`
}

type rerankShown struct {
	Text string `json:"text"`
}

type rerankMeta struct {
	API struct {
		Version string `json:"version"`
	} `json:"api_version"`
	Billed struct {
		SearchUnits int `json:"search_units"`
	} `json:"billed_units"`
}

// rerank serves /v1/rerank and /v2/rerank.
func (s *Server) rerank(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.o.Inference.Encoder().Reranker == nil {
		return nil, search.ErrNoReranker
	}
	var q rerankRequest
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	field, documents := "documents", q.Documents
	if documents == nil && q.Texts != nil {
		field, documents = "texts", q.Texts
	} else if q.Texts != nil {
		return nil, &search.FieldError{Field: "texts", Value: len(q.Texts), Allowed: "either this or documents"}
	}
	if q.TopN != nil && *q.TopN < 1 {
		return nil, &search.FieldError{Field: "top_n", Value: *q.TopN, Allowed: "1 or more"}
	}
	if err := checkRankFields(q.RankFields); err != nil {
		return nil, err
	}
	texts := make([]string, len(documents))
	for i := range documents {
		var err error
		if texts[i], err = documents[i].read(fmt.Sprintf("%s[%d]", field, i), q.RankFields); err != nil {
			return nil, err
		}
	}
	ranking, order, err := s.rank(w, r, q.Query, field, texts, q.Truncation != nil && !*q.Truncation)
	if err != nil {
		return nil, err
	}
	a := rerankAnswer{ID: requestID(r.Context()), Object: "list", Model: ranking.Model.Name, Results: []rerankResult{},
		Usage: embeddingUsage{ranking.Tokens, ranking.Tokens, count(ranking.Truncated)}}
	a.Meta.API.Version, a.Meta.Billed.SearchUnits = strings.TrimPrefix(strings.SplitN(r.URL.Path, "/", 3)[1], "v"), 1
	if q.TopN != nil {
		order = order[:min(*q.TopN, len(order))]
	}
	for _, i := range order {
		res := rerankResult{Index: i, Relevance: ranking.Relevance[i]}
		if q.RawScores {
			res.Relevance = float64(ranking.Logits[i])
		}
		if q.ReturnDocuments || q.ReturnText {
			res.Document = &rerankShown{texts[i]}
		}
		a.Results = append(a.Results, res)
	}
	return a, nil
}

func checkRankFields(names []string) error {
	if len(names) > maxRankFields {
		return &search.FieldError{Field: "rank_fields", Value: literal(fmt.Sprintf("%d items", len(names))), Allowed: fmt.Sprintf("at most %d names", maxRankFields)}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return &search.FieldError{Field: fmt.Sprintf("rank_fields[%d]", i), Value: name, Allowed: "each name once"}
		}
	}
	return nil
}

// rank scores texts for a query and returns their order, best first. whole refuses texts that would
// be cut.
func (s *Server) rank(w http.ResponseWriter, r *http.Request, query, field string, texts []string, whole bool) (*search.Ranking, []int, error) {
	if strings.TrimSpace(query) == "" {
		return nil, nil, &search.FieldError{Field: "query", Value: query, Allowed: "a text that is not empty"}
	}
	if len(texts) == 0 || len(texts) > maxRerankTexts {
		return nil, nil, &search.FieldError{Field: field, Value: literal(fmt.Sprintf("%d items", len(texts))), Allowed: fmt.Sprintf("1 to %d texts", maxRerankTexts)}
	}
	if len(query) > search.MaxQueryBytes {
		return nil, nil, &search.FieldError{Field: "query", Value: literal(fmt.Sprintf("%d bytes", len(query))), Allowed: fmt.Sprintf("at most %d bytes", search.MaxQueryBytes)}
	}
	for i, t := range texts {
		if len(t) > s.o.MaxItem {
			return nil, nil, &search.FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Value: literal(fmt.Sprintf("%d bytes", len(t))), Allowed: fmt.Sprintf("at most %d bytes", s.o.MaxItem)}
		}
	}
	began := time.Now()
	ranking, err := s.o.Inference.Rerank(r.Context(), query, texts)
	if err != nil {
		return nil, nil, named(field, err)
	}
	if whole {
		if err := cutError(field, ranking.Truncated, ranking.Model.MaxTokens); err != nil {
			return nil, nil, err
		}
	}
	took := time.Since(began)
	s.writeCost(w, cost{texts: len(texts), pairs: true, total: took, tokenization: ranking.Tokenization, inference: took - ranking.Tokenization, characters: inputs{texts: texts}.characters(), tokens: ranking.Tokens, truncated: count(ranking.Truncated)})
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranking.Logits[b], ranking.Logits[a]) })
	return ranking, order, nil
}

// cutError refuses the first input that was cut.
func cutError(field string, truncated []bool, limit int) error {
	if i := slices.Index(truncated, true); i >= 0 {
		return &search.FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Value: literal("a longer text"), Allowed: fmt.Sprintf("at most %d tokens, special tokens included; or allow truncation", limit)}
	}
	return nil
}

type teiRerankRequest struct {
	Query      string   `json:"query"`
	Texts      []string `json:"texts"`
	RawScores  bool     `json:"raw_scores"`
	ReturnText bool     `json:"return_text"`
	teiTruncation
}

type teiRank struct {
	Index int     `json:"index"`
	Score float64 `json:"score"`
	Text  *string `json:"text,omitempty"`
}

// teiRerank serves /rerank.
func (s *Server) teiRerank(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.o.Inference.Encoder().Reranker == nil {
		return nil, search.ErrNoReranker
	}
	var q teiRerankRequest
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	if q.Direction != "" && !strings.EqualFold(q.Direction, "right") {
		return nil, &search.FieldError{Field: "truncation_direction", Value: q.Direction, Allowed: "Right"}
	}
	ranking, order, err := s.rank(w, r, q.Query, "texts", q.Texts, q.refuses())
	if err != nil {
		return nil, err
	}
	ranks := make([]teiRank, len(order))
	for n, i := range order {
		ranks[n] = teiRank{Index: i, Score: ranking.Relevance[i]}
		if q.RawScores {
			ranks[n].Score = float64(ranking.Logits[i])
		}
		if q.ReturnText {
			ranks[n].Text = &q.Texts[i]
		}
	}
	return ranks, nil
}
