// Package query has the requests and responses of searches.
package query

import (
	"bytes"
	"encoding/json"
	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/fusion"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
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
// A Q without a word or phrase, and without Vector, finds all documents that pass Filter and have
// nothing that Q excludes, in the order of Sort or of their creation, in every mode. Nothing is
// compared: their scores are 0, their passages are the first of their texts, and Rerank,
// MinSimilarity, Diversity, Boosts, Sentences and Explain are refused.
type Query struct {
	Q             string        `json:"q"`                        // what the user typed: words, "phrases", -exclusions; see [Text]. Without a word or phrase: all documents
	Syntax        Syntax        `json:"syntax,omitempty"`         // operators (default); plain: quotes and minus signs in Q mean nothing
	Spelling      Spelling      `json:"spelling,omitempty"`       // corrected (default): words that no document has are read as near ones; exact (default with syntax plain)
	Unfinished    bool          `json:"unfinished,omitempty"`     // the user is still typing: the last word of Q, if no document has it, is completed
	Mode          fusion.Mode   `json:"mode,omitempty"`           // hybrid (default), semantic, keyword
	Alpha         *float64      `json:"alpha,omitempty"`          // weight of the vector retriever, 0..1; nil: what the query's cosines say, see docs/explanation/scoring.md
	Vector        []float32     `json:"vector,omitempty"`         // of the query, in place of the one that the model makes of Q; without Q the search is semantic
	Fusion        fusion.Method `json:"fusion,omitempty"`         // relative (default), rrf
	Cutoff        Cutoff        `json:"cutoff,omitempty"`         // none (default), auto, or the score below which documents are not matches
	LessRelevant  int           `json:"less_relevant,omitempty"`  // results below the cutoff that the answer has beside its hits, 0..100
	Window        int           `json:"window,omitempty"`         // documents of each retriever that take part, 1..10000; default 100, and 200 for results beyond that or where more depends on it. Pages are stable within it
	Filter        string        `json:"filter,omitempty"`         // e.g. lang = 'en' AND year >= 2020
	Fields        Fields        `json:"fields,omitempty"`         // searched fields of keyword search and of phrases; default: all
	Operator      string        `json:"operator,omitempty"`       // of keyword search: or (default), and: all words must occur
	Facets        []Facet       `json:"facets,omitempty"`         // count the values of fields over what is found
	Sort          []SortKey     `json:"sort,omitempty"`           // default: by score. In keyword mode all matches are sorted, otherwise the candidates
	Boosts        []Boost       `json:"boosts,omitempty"`         // at most 8: raise or lower candidates
	Group         string        `json:"group,omitempty"`          // a filterable field: of the candidates with the same value only the first is a hit
	Limit         *int          `json:"limit,omitempty"`          // hits per page, 0..1000; default 10. 0: total and facets alone
	Offset        int           `json:"offset,omitempty"`         // hits to skip; offset+limit <= window, but in a keyword search without group and boosts
	Page          int           `json:"page,omitempty"`           // in place of Offset: the page of Limit hits, from 1
	Passages      *int          `json:"passages,omitempty"`       // passages per hit, best first, 0..100; default 1
	ReturnFields  []string      `json:"return_fields,omitzero"`   // fields of the hits' documents, nested ones joined with dots; nil: all, empty: none
	OmitFields    []string      `json:"omit_fields,omitempty"`    // fields that the hits' documents come without, named as in ReturnFields
	MinSimilarity float64       `json:"min_similarity,omitempty"` // hits of vector search with a smaller cosine are left out, -1..1; default 0
	Diversity     float64       `json:"diversity,omitempty"`      // 0 (default): by score alone; up to 1: what is like an earlier hit comes later, see [DiversityExplain]
	Highlight     *bool         `json:"highlight,omitempty"`      // mark the query's words in the fields; default true
	Sentences     bool          `json:"sentences,omitempty"`      // return the sentence of each hit's best passage that is nearest to the query; not in keyword mode
	Explain       bool          `json:"explain,omitempty"`        // say how each score came about
	Rerank        bool          `json:"rerank,omitempty"`         // put the best hits into the order of the cross-encoder that the server was given
	AllowPartial  bool          `json:"allow_partial,omitempty"`  // in a cluster: answer without partitions that no node serves, instead of failing
	Rules         *bool         `json:"rules,omitempty"`          // apply the rules of the collection; default true
	RerankWindow  int           `json:"rerank_window,omitempty"`  // how many, 1..200; default 30. With rerank, offset+limit <= rerank_window
	Analytics     *bool         `json:"analytics,omitempty"`      // false: a server that logs searches leaves this one out

	Within filter.Expr `json:"-"` // documents that the sender may see, whatever Filter says; nil: all. The answer gives nothing else away, see docs/how-to/tenants.md
	Now    time.Time   `json:"-"` // the "now" of Boosts; zero: the time of the search
}

// Syntax says how the text of a query is read.
type Syntax string

// The syntaxes. The empty Syntax is Operators.
const (
	Operators Syntax = "operators" // phrases and exclusions, see [Text]
	Plain     Syntax = "plain"     // words alone
)

// Spelling is the treatment of words that no document has. The empty Spelling is
// Corrected, with [Plain] Exact.
type Spelling string

// The spellings.
const (
	Corrected Spelling = "corrected" // such a word is replaced by one of the documents with a similar spelling, see [querytext.Respelling]
	Exact     Spelling = "exact"     // no word is replaced
)

// Cutoff is the score below which documents are not matches: "none" (default), "auto", or a number.
// It applies before sorting, facets and totals. In JSON a number may be a number or a string.
//
// "auto" cuts documents whose probability of relevance, as the score of a hybrid or semantic search
// before the comparison token by token, is below 0.06 or 0.1. It cuts no match of a keyword search,
// nor in a hybrid search a document that contains all words of the query.
type Cutoff string

// Cutoffs. The empty Cutoff is CutoffNone.
const (
	CutoffNone Cutoff = "none"
	CutoffAuto Cutoff = "auto"
)

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cutoff) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte{'"'}) {
		return json.Unmarshal(b, (*string)(c))
	}
	*c = Cutoff(b)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (c Cutoff) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseFloat(string(c), 64); err == nil && json.Valid([]byte(c)) {
		return []byte(c), nil
	}
	return json.Marshal(string(c))
}

// Bounds of [Fields].
const (
	maxQueryFields = 32
	maxFieldWeight = 100
)

// Fields names the searched fields that a query looks at, each as name or name^weight. The weight,
// 1 by default, multiplies the one of the collection's mapping. In JSON it is a list, ["title^3",
// "body"], or an object, {"title": 3, "body": 1}.
type Fields []string

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fields) UnmarshalJSON(b []byte) error {
	allowed := `a list of names, ["title^3", "body"], or an object of weights, {"title": 3, "body": 1}`
	switch {
	case string(b) == "null":
		return nil
	case bytes.HasPrefix(b, []byte{'['}):
		var list []string
		if err := json.Unmarshal(b, &list); err != nil {
			return fault.Field("fields", string(b), allowed)
		}
		*f = list
		return nil
	}
	var weights map[string]float64
	if err := json.Unmarshal(b, &weights); err != nil {
		return fault.Field("fields", string(b), allowed)
	}
	*f = make(Fields, 0, len(weights))
	for name, w := range weights {
		*f = append(*f, name+"^"+strconv.FormatFloat(w, 'g', -1, 64))
	}
	slices.Sort(*f)
	return nil
}

// Weights returns the names and weights. Its error is a *fault.FieldError.
func (f Fields) Weights() ([]backend.FieldWeight, error) {
	if len(f) > maxQueryFields {
		return nil, fault.Field("fields", len(f), fmt.Sprintf("at most %d fields", maxQueryFields))
	}
	var out []backend.FieldWeight
	for _, s := range f {
		name, w := s, 1.0
		if i := strings.LastIndexByte(s, '^'); i >= 0 {
			var err error
			name = s[:i]
			if w, err = strconv.ParseFloat(s[i+1:], 64); err != nil || !(w > 0 && w <= maxFieldWeight) || math.IsInf(w, 0) {
				return nil, fault.Field("fields", s, fmt.Sprintf("name or name^weight, the weight above 0 and at most %d", maxFieldWeight))
			}
		}
		if name == "" {
			return nil, fault.Field("fields", s, "name or name^weight")
		}
		if slices.ContainsFunc(out, func(o backend.FieldWeight) bool { return o.Name == name }) {
			return nil, fault.Field("fields", s, "each field once")
		}
		out = append(out, backend.FieldWeight{Name: name, Weight: w})
	}
	return out, nil
}

// SortKey is one key of the order of the hits: a filterable field, or _score. In JSON it is an
// object or a string: "year", "year:desc", "_score". Fields ascend and the score falls unless Order
// says otherwise.
//
// Numbers come before dates, these before booleans and these before strings, whichever the
// direction; documents without a value are last. A document with several values counts by its
// smallest, descending by its largest. Documents with equal keys come in the order of their first
// arrival.
//
// With an Origin, a point as [geo.Read] takes it, documents come by the distance of their points in
// the field from it, also as a string: "location(48.9, 2.34)". Those without a point are last.
type SortKey struct {
	Field  string `json:"field"`
	Order  string `json:"order,omitempty"` // asc, desc
	Origin any    `json:"origin,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (k *SortKey) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte{'"'}) {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		key, err := ParseSortKey(s)
		*k = key
		return err
	}
	type plain SortKey // without this method
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode((*plain)(k)); err != nil {
		return fault.Field("sort", string(b), `"year:desc", {"field": "year", "order": "desc"}, or {"field": "location", "origin": [48.9, 2.34]}`)
	}
	return nil
}

// ParseSortKeys reads keys as [ParseSortKey] does, with commas between them.
func ParseSortKeys(s string) (keys []SortKey, err error) {
	for _, text := range SplitSortKeys(s) {
		k, err := ParseSortKey(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// SplitSortKeys splits keys at the commas that are not in parentheses.
func SplitSortKeys(s string) (keys []string) {
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && s[i] == '(':
			depth++
		case i < len(s) && s[i] == ')':
			depth--
		case i == len(s) || s[i] == ',' && depth <= 0:
			keys, from = append(keys, strings.TrimSpace(s[from:i])), i+1
		}
	}
	return keys
}

// ParseSortKey reads field, field:asc or field:desc, where field may be followed by an origin, as
// in location(48.9, 2.34). Its error, for what else has a colon, is a [FieldError].
func ParseSortKey(s string) (SortKey, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return fromOrigin(SortKey{Field: s}), nil
	}
	switch order := s[i+1:]; order {
	case "asc", "desc":
		return fromOrigin(SortKey{Field: s[:i], Order: order}), nil
	}
	return SortKey{}, fault.Field("sort", s, `field, field:asc or field:desc; a field whose name has a colon as an object, {"field": "a:b"}`)
}

// fromOrigin moves two numbers in parentheses from the end of the field to the origin.
func fromOrigin(k SortKey) SortKey {
	field, rest, ok := strings.Cut(k.Field, "(")
	lat, lon, two := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
	a, errLat := strconv.ParseFloat(strings.TrimSpace(lat), 64)
	b, errLon := strconv.ParseFloat(strings.TrimSpace(lon), 64)
	if ok && two && strings.HasSuffix(rest, ")") && errLat == nil && errLon == nil {
		k.Field, k.Origin = field, []float64{a, b}
	}
	return k
}

// Similar asks for documents that are like others. The zero value of each field but IDs,
// NegativeIDs and Text means its default, as in [Query].
//
// The vector that is searched for: each document counts with the mean of its passages' vectors,
// Text with the mean of the vectors of the passages that it would be cut into. With p the mean of
// IDs and Text together and n that of NegativeIDs it is p, or p + (p - n), at unit length.
// Documents named by IDs and NegativeIDs are not among the hits.
type Similar struct {
	IDs         []string `json:"ids,omitempty"`          // documents of the collection that hits are like, at most 100
	NegativeIDs []string `json:"negative_ids,omitempty"` // and unlike, at most 100
	Text        string   `json:"text,omitempty"`         // a text that hits are like; IDs, Text or both are needed

	Filter        string    `json:"filter,omitempty"`
	Window        int       `json:"window,omitempty"`
	Limit         *int      `json:"limit,omitempty"`
	Offset        int       `json:"offset,omitempty"`
	Page          int       `json:"page,omitempty"`
	Passages      *int      `json:"passages,omitempty"`
	ReturnFields  []string  `json:"return_fields,omitzero"`
	OmitFields    []string  `json:"omit_fields,omitempty"`
	MinSimilarity float64   `json:"min_similarity,omitempty"`
	Diversity     float64   `json:"diversity,omitempty"`
	Facets        []Facet   `json:"facets,omitempty"`
	Sort          []SortKey `json:"sort,omitempty"`
	Boosts        []Boost   `json:"boosts,omitempty"`
	Group         string    `json:"group,omitempty"`
	Sentences     bool      `json:"sentences,omitempty"`
	Explain       bool      `json:"explain,omitempty"`

	Within filter.Expr `json:"-"` // as in a Query; the documents of IDs and NegativeIDs have to pass it, too
}
