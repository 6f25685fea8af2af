package keyword

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrStatistics is matched by errors about a Query.Global that is not of the query, or not
// complete. It matches [ErrQuery], too.
var ErrStatistics = fmt.Errorf("%w: its statistics do not fit it", ErrQuery)

// Statistics are what indexes know of the words of a query. Where documents are spread over several
// indexes, what all of them know together is what each must read the query and score with: then a
// document is found, and has the score, that it has in one index of all documents, to the last bit.
// Whoever asks
//
//  1. adds up what [Index.Statistics] says of every index, with Query.Global nil;
//  2. where the sum is not Complete, adds up what it says with that sum as Query.Global. Now it is:
//     there are two rounds at most, and one unless the query has a word that may be several, see
//     breaks;
//  3. asks with the sum as Query.Global.
//
// They are of a text, its Exact words, synonyms and fields, for either operator and any weights.
// What is written between two steps is found, and counts with the next query. Bounds are of each
// index: of reading texts for phrases, see together, and of fields with a name of their own, see
// MaxTextFields.
type Statistics struct {
	Parts     int               `json:"parts"` // indexes
	Documents uint64            `json:"documents"`
	Tokens    map[string]uint64 `json:"tokens"`          // of the documents, by text field that is searched
	Terms     map[string]uint64 `json:"terms"`           // documents with a term of the query in one of the fields, or with anything that it may be read as
	Found     map[string]bool   `json:"found,omitempty"` // of the words and phrases that the query may be read as, those that any document has
	Open      []string          `json:"open,omitempty"`  // words that may be several
	Complete  bool              `json:"complete"`        // nothing is open
}

// Add adds what another index knows. The zero Statistics are of no index.
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

// Statistics returns what the index knows of the words of q.
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
			if out.Terms[t.key] = t.own; t.apart > 0 {
				out.Terms[t.key+apartKey] = t.apart
			}
		}
		return nil
	})
	out.Complete = len(out.Open) == 0
	return out, err
}

// apartKey is behind the key of a term in Statistics.Terms that counts documents with the term
// written apart alone.
const apartKey = "\x00apart"

// possibleTerms returns the terms that a query may have on any of several indexes: each word as it
// stands, and with all that it may be read as. Of that, documents of this index count for what they
// have, so that it need not be known what others have.
func (x *Index) possibleTerms(ctx context.Context, l lexicon, q Query) (terms []planTerm, err error) {
	expansions, err := x.expansions(ctx, l, q)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	plain, _ := x.queryTerms(q, x.ruled(q))
	expanded, _ := x.queryTerms(q, expansions)
	for _, t := range slices.Concat(plain, expanded) {
		if !seen[t.key] {
			seen[t.key] = true
			terms = append(terms, t)
		}
	}
	return terms, nil
}

// lexicon says which words and phrases documents have: those of an index, or with Statistics those
// of all indexes that these are of.
type lexicon struct {
	index  *Index
	view   *view
	texts  Texts
	global *Statistics // nil: of the index
	notes  *Statistics // what is being asked for; nil: nothing is
}

// lexicon returns that of a query.
func (x *Index) lexicon(v *view, q Query) (lexicon, error) {
	if q.Global != nil && !q.Global.Complete {
		return lexicon{}, fmt.Errorf("%w: %d words are open", ErrStatistics, len(q.Global.Open))
	}
	return lexicon{x, v, q.Texts, q.Global, nil}, nil
}

// alone says whether there is one index.
func (l lexicon) alone() bool { return l.global == nil && l.notes == nil }

// first says whether nothing is known yet of the other indexes.
func (l lexicon) first() bool { return l.notes != nil && l.global == nil }

// has says whether any document has a term.
func (l lexicon) has(term string) (have bool, err error) {
	if l.global != nil {
		have = l.global.Found[term]
	} else if have, err = l.view.has([]byte(term)); err != nil {
		return false, err
	}
	if have && l.notes != nil {
		l.notes.Found[term] = true
	}
	return have, nil
}

// together says whether any document has a phrase.
func (l lexicon) together(ctx context.Context, alt alternative) (bool, error) {
	if l.global != nil && l.notes == nil {
		return l.global.Found[alt.text], nil
	}
	have, err := l.index.foundTogether(ctx, l.view, alt, l.texts)
	if have && l.notes != nil {
		l.notes.Found[alt.text] = true
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

// documents returns how many documents there are and their mean length over fields.
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

// counts takes over how many documents of all indexes have each term.
func (p *plan) counts(global *Statistics) error {
	var errs []error
	for t := range p.terms {
		term := &p.terms[t]
		df, ok := global.Terms[term.key]
		if df == 0 {
			df = global.Terms[term.key+apartKey]
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
