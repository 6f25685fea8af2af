package backend

import (
	"maps"
	"slices"

	"searchd/index/keyword"
)

// Bounds of NearTerms.
const (
	MaxNear     = keyword.MaxNear     // terms
	MaxNearRefs = keyword.MaxNearRefs // documents of a term
)

// MergeNear makes one answer of those of several parts, each of some of the documents. A word stands for all where it stands for one of them. It is what one backend with
// all documents answers, unless a part has more than MaxNear such terms or so many text fields that it leaves some out: then terms may be counted in too few documents.
func MergeNear(parts []NearTerms) NearTerms {
	terms := map[string]NearTerm{}
	for _, p := range parts {
		if p.Stands {
			return NearTerms{Stands: true}
		}
		for _, t := range p.Terms {
			all, seen := terms[t.Term]
			if !seen {
				all = NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled}
			}
			all.Documents += t.Documents
			all.Refs = append(all.Refs, t.Refs...)
			terms[t.Term] = all
		}
	}
	merged := slices.SortedFunc(maps.Values(terms), func(a, b NearTerm) int { return keyword.CompareNear(a.ofIndex(), b.ofIndex()) })
	merged = merged[:min(len(merged), MaxNear)]
	for i := range merged {
		refs := merged[i].Refs
		slices.Sort(refs)
		merged[i].Refs = refs[:min(len(refs), MaxNearRefs)]
	}
	return NearTerms{Terms: merged}
}

// ofIndex is the term as the keyword index orders it.
func (t NearTerm) ofIndex() keyword.NearTerm {
	return keyword.NearTerm{Term: t.Term, Edits: t.Edits, Doubled: t.Doubled, DF: t.Documents}
}
