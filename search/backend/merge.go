package backend

import (
	"cmp"
	"slices"
)

// MaxFacetValues is the Limit that parts are asked with, see [MergeFacets].
const MaxFacetValues = 100_000

// MergeFacets returns what one backend with the documents of all parts would answer to asked, where each part has answered to the same with
// [MaxFacetValues] as every Limit.
func MergeFacets(asked []Facet, parts [][]FacetCounts) []FacetCounts {
	out := make([]FacetCounts, len(asked))
	for i, f := range asked {
		out[i].Ranges = make([]int, len(f.Ranges))
		at := map[any]int{}
		for _, part := range parts {
			for _, v := range part[i].Values {
				j, ok := at[v.Value]
				if !ok {
					j = len(out[i].Values)
					at[v.Value], out[i].Values = j, append(out[i].Values, ValueCount{Value: v.Value})
				}
				out[i].Values[j].Count += v.Count
			}
			for j, n := range part[i].Ranges {
				out[i].Ranges[j] += n
			}
			out[i].Missing += part[i].Missing
		}
		out[i].Distinct = len(out[i].Values)
		slices.SortFunc(out[i].Values, func(a, b ValueCount) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value.Str, b.Value.Str))
		})
		out[i].Values = out[i].Values[:min(f.Limit, len(out[i].Values))]
	}
	return out
}

// MergeOrdered returns the first k of all parts by ref.
func MergeOrdered(_ []SortKey, parts [][]Ordered, k int) []Ordered {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b Ordered) int { return cmp.Compare(a.Ref, b.Ref) })
	return all[:min(k, len(all))]
}
