package keyword

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrStatistics is returned for a Query.Global that is of another query or not complete. It matches
// [ErrQuery], too.
var ErrStatistics = fmt.Errorf("%w: its statistics do not fit it", ErrQuery)

// Statistics are the counts that BM25 needs for the text of a query, its Exact words, synonyms and
// fields, with either operator and any weights. Where documents are spread over several indexes,
// the sum of their statistics gives every document the score that it has in one index of all
// documents, to the last bit:
//
//  1. Add up what [Index.Statistics] returns for each index, with Query.Global nil.
//  2. If the sum is not Complete, add up what it returns with that sum as Query.Global. A second
//     round is needed only for words that may be split, see compounds.
//  3. Search with the sum as Query.Global.
//
// Documents written in between are found, and count in the next query. Bounds on reading texts and
// on the number of text fields hold for each index.
type Statistics struct {
	Parts     int               `json:"parts"` // number of indexes
	Documents uint64            `json:"documents"`
	Tokens    map[string]uint64 `json:"tokens"`          // of the documents, by text field that is searched
	Terms     map[string]uint64 `json:"terms"`           // documents with a term of the query, or an alternative, in one of the fields
	Found     map[string]bool   `json:"found,omitempty"` // alternatives that any document has
	Open      []string          `json:"open,omitempty"`  // words that no index has and that may be split
	Complete  bool              `json:"complete"`        // Open is empty
}

// Add adds the statistics of another index. The zero Statistics are those of no index.
func (s *Statistics) Add(other Statistics) {
	if s.Parts == 0 {
		*s = Statistics{Tokens: map[string]uint64{}, Terms: map[string]uint64{}, Found: map[string]bool{}, Open: slices.Clone(other.Open)}
	}
	s.Parts += other.Parts
	s.Documents += other.Documents
	for name, n := range other.Tokens {
		s.Tokens[name] += n
	}
	for term, n := range other.Terms {
		s.Terms[term] += n
	}
	maps.Copy(s.Found, other.Found)
	s.Open = slices.DeleteFunc(s.Open, func(word string) bool { return !slices.Contains(other.Open, word) })
	s.Complete = len(s.Open) == 0
}

// Statistics returns the statistics of this index for q.
func (x *Index) Statistics(ctx context.Context, q Query) (Statistics, error) {
	out := Statistics{Parts: 1, Tokens: map[string]uint64{}, Terms: map[string]uint64{}, Found: map[string]bool{}}
	err := x.read(func(v *view) (err error) {
		p := &plan{view: v, docs: v.docs}
		if p.fields, err = planFields(v.fields, q); err != nil {
			return err
		}
		out.Documents = v.docs
		for _, f := range p.fields {
			out.Tokens[f.Name] = v.tokens[f.Name]
		}
		if p.terms, err = x.possibleTerms(ctx, lexicon{x, v, q.Texts, q.Global, &out}, q); err != nil {
			return err
		}
		if err := p.lookup(ctx, x, q.Texts); err != nil {
			return err
		}
		for _, t := range p.terms {
			if out.Terms[t.key] = t.own; t.split > 0 {
				out.Terms[t.key+splitKey] = t.split
			}
		}
		return nil
	})
	out.Complete = len(out.Open) == 0
	return out, err
}

// splitKey follows the key of a term in Statistics.Terms for documents that only have it split.
const splitKey = "\x00apart"

// possibleTerms returns the terms that q may have on any of several indexes: each word alone, and
// with all its possible alternatives.
func (x *Index) possibleTerms(ctx context.Context, l lexicon, q Query) (terms []planTerm, err error) {
	expansions, err := x.expansions(ctx, l, q)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	plain, _ := x.queryTerms(q, x.ruleExpansions(q))
	expanded, _ := x.queryTerms(q, expansions)
	for _, t := range slices.Concat(plain, expanded) {
		if !seen[t.key] {
			seen[t.key] = true
			terms = append(terms, t)
		}
	}
	return terms, nil
}

// lexicon is the set of terms and phrases that documents have: in this index, or with Statistics in
// any of the indexes that these cover.
type lexicon struct {
	index   *Index
	view    *view
	texts   Texts
	global  *Statistics // nil: this index only
	collect *Statistics // being collected; nil: none
}

// lexicon returns the lexicon for a query.
func (x *Index) lexicon(v *view, q Query) (lexicon, error) {
	if q.Global != nil && !q.Global.Complete {
		return lexicon{}, fmt.Errorf("%w: %d words are open", ErrStatistics, len(q.Global.Open))
	}
	return lexicon{x, v, q.Texts, q.Global, nil}, nil
}

// local reports whether there is only this index.
func (l lexicon) local() bool { return l.global == nil && l.collect == nil }

// firstRound reports whether statistics are being collected without knowledge of other indexes.
func (l lexicon) firstRound() bool { return l.collect != nil && l.global == nil }

// has reports whether any document has a term.
func (l lexicon) has(term string) (have bool, err error) {
	if l.global != nil {
		have = l.global.Found[term]
	} else if have, err = l.view.hasTerm(term); err != nil {
		return false, err
	}
	if have && l.collect != nil {
		l.collect.Found[term] = true
	}
	return have, nil
}

// hasPhrase reports whether any document has a phrase.
func (l lexicon) hasPhrase(ctx context.Context, alt alternative) (bool, error) {
	if l.global != nil && l.collect == nil {
		return l.global.Found[alt.text], nil
	}
	have, err := l.index.hasPhrase(ctx, l.view, alt, l.texts)
	if have && l.collect != nil {
		l.collect.Found[alt.text] = true
	}
	return have, err
}

// fields returns the text fields that documents have, sorted.
func (l lexicon) fields() []string {
	if l.global != nil {
		return slices.Sorted(maps.Keys(l.global.Tokens))
	}
	return l.view.fields
}

// documents returns the number of documents and their mean length over fields.
func (l lexicon) documents(fields []FieldWeight) (docs uint64, mean float64, err error) {
	docs, tokens := l.view.docs, l.view.tokens
	if l.global != nil {
		docs, tokens = l.global.Documents, l.global.Tokens
	}
	for _, f := range fields {
		n, ok := tokens[f.Name]
		if !ok && l.global != nil {
			return 0, 0, fmt.Errorf("%w: they lack the field %.100q", ErrStatistics, f.Name)
		}
		mean += f.Weight * float64(n)
	}
	return docs, mean / float64(max(docs, 1)), nil
}

// useGlobal sets the document frequencies of the terms to those of all indexes.
func (p *plan) useGlobal(global *Statistics) error {
	var errs []error
	for t := range p.terms {
		term := &p.terms[t]
		df, ok := global.Terms[term.key]
		if df == 0 {
			df = global.Terms[term.key+splitKey]
		}
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%w: they lack the term %.100q", ErrStatistics, term.key))
		case df > global.Documents:
			errs = append(errs, fmt.Errorf("%w: of %d documents %d have the term %.100q", ErrStatistics, global.Documents, df, term.key))
		}
		term.df = df
	}
	return errors.Join(errs...)
}
