package remote

import (
	"fmt"
	"time"

	"searchd/search/backend"
)

// The messages of what looks at the values of a set, and of what a shard tells of itself.

type facets struct {
	Collection string  `json:"collection"`
	Facets     []facet `json:"facets"`
	Set        *chosen `json:"set"`
}

type facet struct {
	Field  text         `json:"field"`
	Limit  int          `json:"limit"`
	Ranges []facetRange `json:"ranges"`
}

type facetRange struct {
	From *value `json:"from"`
	To   *value `json:"to"`
}

func facetOf(f backend.Facet) facet {
	return facet{text(f.Field), f.Limit, convert(f.Ranges, func(r backend.FacetRange) facetRange { return facetRange{optionalOf(r.From), optionalOf(r.To)} })}
}

func (f facet) facet() (out backend.Facet, err error) {
	out = backend.Facet{Field: string(f.Field), Limit: f.Limit}
	out.Ranges, err = parse(f.Ranges, func(r facetRange) (out backend.FacetRange, err error) {
		if out.From, err = r.From.optional(); err == nil {
			out.To, err = r.To.optional()
		}
		return out, err
	})
	return out, err
}

type facetCounts struct {
	Values   []valueCount `json:"values"`
	Distinct int          `json:"distinct"`
	Ranges   []int        `json:"ranges"`
	Missing  int          `json:"missing"`
}

type valueCount struct {
	Value value `json:"value"`
	Count int   `json:"count"`
}

func facetCountsOf(f backend.FacetCounts) facetCounts {
	return facetCounts{convert(f.Values, func(v backend.ValueCount) valueCount { return valueCount{valueOf(v.Value), v.Count} }), f.Distinct, f.Ranges, f.Missing}
}

func (f facetCounts) facetCounts() (out backend.FacetCounts, err error) {
	out = backend.FacetCounts{Distinct: f.Distinct, Ranges: f.Ranges, Missing: f.Missing}
	out.Values, err = parse(f.Values, func(v valueCount) (backend.ValueCount, error) {
		got, err := v.Value.value()
		return backend.ValueCount{Value: got, Count: v.Count}, err
	})
	return out, err
}

// ofField is a question about a field of documents.
type ofField struct {
	Collection string `json:"collection"`
	Field      text   `json:"field"`
	Dates      bool   `json:"dates,omitempty"`
	Refs       []byte `json:"refs"`
}

type passing struct {
	Collection string `json:"collection"`
	Filter     []part `json:"filter"`
	Refs       []byte `json:"refs"`
}

type order struct {
	Collection string    `json:"collection"`
	Keys       []sortKey `json:"keys"`
	Set        *chosen   `json:"set"`
	K          int       `json:"k"`
	Words      *words    `json:"words"`
	Known      []byte    `json:"known"` // matches
	Values     bool      `json:"values,omitempty"`
}

type sortKey struct {
	Field text `json:"field"`
	Desc  bool `json:"desc,omitempty"`
}

func sortKeyOf(k backend.SortKey) sortKey { return sortKey{text(k.Field), k.Desc} }

func (k sortKey) sortKey() backend.SortKey {
	return backend.SortKey{Field: string(k.Field), Desc: k.Desc}
}

func knownOf(scores map[backend.Ref]float64) []byte {
	if scores == nil {
		return nil
	}
	list := make([]backend.Match, 0, len(scores))
	for ref, score := range scores {
		list = append(list, backend.Match{Ref: ref, Score: score})
	}
	return matches.pack(list)
}

func known(b []byte) (map[backend.Ref]float64, error) {
	list, err := matches.unpack(b)
	if list == nil || err != nil {
		return nil, err
	}
	scores := make(map[backend.Ref]float64, len(list))
	for _, m := range list {
		scores[m.Ref] = m.Score
	}
	return scores, nil
}

type ordered struct {
	Ref    backend.Ref `json:"ref"`
	Values []*value    `json:"values"`
}

func orderedOf(o backend.Ordered) ordered { return ordered{o.Ref, convert(o.Values, optionalOf)} }

func (o ordered) ordered() (out backend.Ordered, err error) {
	out.Ref = o.Ref
	out.Values, err = parse(o.Values, (*value).optional)
	return out, err
}

type changed struct {
	Collection string           `json:"collection"`
	After      backend.Position `json:"after"`
	Limit      int              `json:"limit"`
}

type changedAnswer struct {
	IDs  []text           `json:"ids"`
	Next backend.Position `json:"next"`
}

type hold struct {
	Collection string           `json:"collection"`
	After      backend.Position `json:"after"`
	Holder     string           `json:"holder"` // a random name, by which it is renewed and released
}

type held struct {
	Collection string `json:"collection"`
	Holder     string `json:"holder"`
}

type encoded struct {
	Collection string `json:"collection"`
	ID         text   `json:"id"`
}

type encodedAnswer struct {
	Document *document `json:"document"`
	Vectors  [][]byte  `json:"vectors"`
}

// damagedVectors are ids by collection.
type damagedVectors map[string][]text

type checked struct {
	Deep bool `json:"deep,omitempty"`
}

type state struct {
	Fault *fault `json:"fault,omitempty"` // why no writes are taken
}

type rebuild struct {
	Collection string    `json:"collection"`
	Index      string    `json:"index"`
	Done       int64     `json:"done"`
	Total      int64     `json:"total"`
	Began      time.Time `json:"began"`
}

// within refuses a number that nothing may be made of.
func within(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%w: %s is %d, allowed: %d to %d", backend.ErrInvalid, name, n, least, most)
	}
	return nil
}
