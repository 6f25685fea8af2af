package backend

import (
	"cmp"
	"slices"

	"searchd/index/keyword"
)

// ErrStatistics is matched by errors about Words.Global that is not of the words.
var ErrStatistics = keyword.ErrQuery

// MergeNear makes one answer of those of several parts, each of some of the documents. A word stands for all where it stands for one of them.
func MergeNear(parts []NearTerms) (out NearTerms) {
	at := map[string]int{}
	for _, p := range parts {
		if p.Stands {
			return NearTerms{Stands: true}
		}
		for _, t := range p.Terms {
			i, ok := at[t.Term]
			if !ok {
				at[t.Term], out.Terms = len(out.Terms), append(out.Terms, t)
				continue
			}
			out.Terms[i].Documents += t.Documents
			out.Terms[i].Refs = append(out.Terms[i].Refs, t.Refs...)
		}
	}
	slices.SortFunc(out.Terms, func(a, b NearTerm) int {
		return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Term, b.Term))
	})
	return out
}
