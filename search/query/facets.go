package query

import (
	"bytes"
	"encoding/json"
	"example.com/searchd/index/filter"
	"example.com/searchd/search/fault"
)

// Facet asks how the values of a filterable field are spread over the documents found. In JSON it
// is an object, or the name of the field.
type Facet struct {
	Field  string       `json:"field"`
	Limit  int          `json:"limit,omitempty"`  // values, the most frequent, 1..1000; default 10
	Ranges []FacetRange `json:"ranges,omitempty"` // given: instead of values, how many documents have one in each
}

// FacetRange is a half-open interval: values from From up to but not with To. Both are numbers
// (float64, int or json.Number), or both dates as RFC 3339 or YYYY-MM-DD; one may be absent.
type FacetRange struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Facet) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte{'"'}) {
		return json.Unmarshal(b, &f.Field)
	}
	type plain Facet // without this method
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode((*plain)(f)); err != nil {
		return fault.Field("facets", string(b), `the name of a field, or {"field": "year", "limit": 10}, or {"field": "year", "ranges": [{"from": 2000, "to": 2010}]}`)
	}
	for i := range f.Ranges {
		r := &f.Ranges[i]
		r.From, r.To = plainNumber(r.From), plainNumber(r.To)
	}
	return nil
}

// plainNumber returns the float64 of a json.Number that is one, and anything else as it is.
func plainNumber(x any) any {
	if n, ok := x.(json.Number); ok {
		if v, ok := filter.ParseNumber(string(n)); ok {
			return PlainValue(v)
		}
	}
	return x
}

// FacetCounts answers a [Facet]. The documents counted are those that [Response].Total counts, and
// Of says which these are: "keyword", all that match by words; "vector", the candidates of vector
// search; "union", both; "all", where the query has no word. A document with several values counts
// for each.
type FacetCounts struct {
	Of        string       `json:"of"`
	Documents int          `json:"documents"`          // that were counted
	Missing   int          `json:"missing"`            // of these, without a value
	Distinct  int          `json:"distinct,omitempty"` // different values, those beyond the limit too
	Values    []FacetValue `json:"values,omitempty"`   // by falling count, equal counts in the order of their values
	Ranges    []RangeCount `json:"ranges,omitempty"`   // in the order of the request
}

// FacetValue is a value, a string, float64, json.Number or bool, and the number of documents that
// have it.
type FacetValue struct {
	Value any `json:"value"`
	Count int `json:"count"`
}

// RangeCount is a range and the number of documents that have a value in it.
type RangeCount struct {
	FacetRange
	Count int `json:"count"`
}

// PlainValue is a value as JSON has it: an integer that shares its float64 with others is a
// json.Number.
func PlainValue(v filter.Value) any {
	switch v.Kind {
	case filter.Number:
		if v.Wide() {
			return json.Number(v.String())
		}
		return v.Num
	case filter.Bool:
		return v.Num != 0
	default:
		return v.Str
	}
}

// Boost raises documents, or with a negative weight lowers them, by what they hold: [BoostExplain]
// has the sum. Its value is between 0 and 1:
//
//  1. With Filter 1 where it passes, else 0.
//  2. With Field and Origin 1 at the origin, and half as much with each Scale away from it on
//     either side: 0.5^(|x - origin|/scale). The field holds dates, where Origin is "now" or a date
//     and Scale a span such as "12h", "30d" or "2w"; or points, where Origin is one and Scale a
//     length such as "500m", "5km" or "3mi"; or numbers, where both are numbers.
//  3. With Field and no Origin it rises with the number: x/(x + scale) where x is above 0, else 0.
//     At Scale it is one half.
//
// A document without a number, a date or a point has 0; of several the best counts. "now" is the
// same instant for all of an answer.
type Boost struct {
	Filter string  `json:"filter,omitempty"`
	Field  string  `json:"field,omitempty"`
	Origin any     `json:"origin,omitempty"` // "now", a date as RFC 3339 or YYYY-MM-DD, a point as in a SortKey, or a number: float64, int or json.Number
	Scale  any     `json:"scale,omitempty"`  // above 0: a number as in Origin, with dates a string of hours, days or weeks, with points one of m, km or mi
	Weight float64 `json:"weight"`           // -1 to 10, not 0
}

// BoostExplain says what boosts made of a hit: its score is Relevance + |Relevance|·(Factor - 1),
// which is Relevance·Factor where that is not below 0, as only raw outputs of cross-encoders and
// cosines can be.
type BoostExplain struct {
	RankBefore int          `json:"rank_before"` // by relevance, from 1; 0 where the document was not ranked
	Relevance  float64      `json:"relevance"`   // the score without boosts
	Factor     float64      `json:"factor"`      // 1 + the sum of weight·value, 0 or more
	Values     []BoostValue `json:"values"`      // in the order of the query
}

// BoostValue is what one boost adds to a document.
type BoostValue struct {
	Of     string  `json:"of"` // the field or filter
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}
