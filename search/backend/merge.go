package backend

import (
	"cmp"
	"slices"
	"strings"

	"searchd/index/filter"
	"searchd/index/keyword"
)

// MaxFacetValues is the Limit that parts are asked with, see [MergeFacets].
const MaxFacetValues = keyword.MaxFacetValues

// MergeFacets returns what one backend with the documents of all parts would answer to asked, where each part has answered to the same with
// [MaxFacetValues] as every Limit, see [keyword.MergeFacets].
func MergeFacets(asked []Facet, parts [][]FacetCounts) []FacetCounts {
	return keyword.MergeFacets(asked, parts)
}

// MergeOrdered returns what one backend with the documents of all parts would answer to Order, where each part has answered with the first k of
// its own and with their Values; one that it leaves out is none. Refs must be those of the whole, and stand in each part in its order.
func MergeOrdered(keys []SortKey, parts [][]Ordered, k int) []Ordered {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b Ordered) int {
		for i, key := range keys {
			if c := compareBy(key, a.value(i), b.value(i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Ref, b.Ref)
	})
	return all[:min(k, len(all))]
}

// value returns what the document has for a key, by its place.
func (o Ordered) value(key int) *filter.Value {
	if key < len(o.Values) {
		return o.Values[key]
	}
	return nil
}

// kinds are in the order in which values of different kinds are sorted.
var kinds = []filter.Kind{filter.Number, filter.Date, filter.Bool, filter.String}

// compareBy compares what two documents have for a key: numbers come before dates, booleans, strings and nothing, whichever the direction.
func compareBy(key SortKey, a, b *filter.Value) int {
	place := func(v *filter.Value) int {
		if v == nil {
			return len(kinds)
		}
		return slices.Index(kinds, v.Kind)
	}
	if c := cmp.Compare(place(a), place(b)); c != 0 || a == nil {
		return c
	}
	c := strings.Compare(a.Str, b.Str) // Keys, which Value.Compare would make others of
	if a.Kind != filter.String {
		c, _ = a.Compare(*b)
	}
	if key.Desc {
		return -c
	}
	return c
}
