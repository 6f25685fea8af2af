package keyword

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"example.com/searchd/index/keyword/analysis"
)

// Bounds on a query.
const (
	MaxTerms      = 64       // distinct terms that count; of more, the rarest
	maxQueryTerms = 512      // distinct terms that are looked up
	maxFields     = 64       // named fields
	maxWeight     = 10_000   // of a field
	maxQueryBytes = 32 << 10 // analysed
)

// Operator tells which documents a query finds.
type Operator uint8

const (
	Or  Operator = iota // those with at least one of the terms
	And                 // those with all of the terms, each in any of the fields
)

// FieldWeight names a text field to search. Weight multiplies the frequencies of terms in it, and
// its length; 0 means 1.
type FieldWeight struct {
	Name   string
	Weight float64
}

// Query is what to search for. Text is plain text without any syntax.
type Query struct {
	Text     string
	Fields   []FieldWeight              // none: every text field, each with its Weight
	Weight   func(field string) float64 // of a field where Fields is empty; nil: 1
	Operator Operator

	Synonyms *Synonyms // nil: none
	Exact    []string  // words of Text without alternatives
	Texts    Texts     // to find phrases among alternatives; nil: their words may be anywhere, and no word is split

	Global *Statistics // of all indexes that the documents are spread over; nil: only of this one
}

// plan is a Query on one view: its terms with their statistics and postings.
type plan struct {
	view     *view
	docs     uint64 // N
	global   bool   // df is that of several indexes
	fields   []FieldWeight
	hash     uint64 // see fieldsHash
	operator Operator
	terms    []planTerm
	required []requirement    // of And, in the order of from
	all      conjunction      // of required, with the terms that are kept
	postings [][]termPostings // by segment: those that exist, in the order of terms, then fields
	lengths  []docLengths     // by segment

	// BM25 of a term is weight*tf / (tf + base + slope*dl).
	k1, base, slope float64

	exhaustive bool // score every document that matches: the specification of search
	work       work
}

// termPostings are the postings of a term in a field.
type termPostings struct {
	*postings
	term, field int // of the plan
	alternative int // of the term's synonym
}

type planTerm struct {
	text    string
	key     string   // in Statistics.Terms
	name    bool     // a name whose words are terms, too
	synonym *synonym // nil: no alternatives
	count   int      // occurrences in the query
	df      uint64   // documents with the term
	own     uint64   // of df, without those that only have it split
	split   uint64   // documents that only have it split, see compounds
	counted bool     // df is known
	idf     float64
	weight  float64 // count * idf * (k1+1)
}

// newPlan analyses q and looks up its terms.
func (x *Index) newPlan(ctx context.Context, v *view, q Query) (*plan, error) {
	if q.Operator > And {
		return nil, fmt.Errorf("%w: operator is %d, allowed are %d (Or) and %d (And)", ErrQuery, q.Operator, Or, And)
	}
	l, err := x.lexicon(v, q)
	if err != nil {
		return nil, err
	}
	p := &plan{view: v, global: q.Global != nil, operator: q.Operator, k1: x.bm25.K1}
	if p.fields, err = planFields(l.fields(), q); err != nil {
		return nil, err
	}
	expansions, err := x.expansions(ctx, l, q)
	if err != nil {
		return nil, err
	}
	p.terms, p.required = x.queryTerms(q, expansions)
	docs, avgdl, err := l.documents(p.fields)
	if err != nil {
		return nil, err
	}
	p.docs, p.base = docs, p.k1*(1-x.bm25.B)
	if avgdl > 0 {
		p.slope = p.k1 * x.bm25.B / avgdl
	}
	if p.global {
		if err := p.useGlobal(q.Global); err != nil {
			return nil, err
		}
	}
	if err := p.lookup(ctx, x, q.Texts); err != nil {
		return nil, err
	}
	p.keepRarest(MaxTerms)
	if p.operator == And {
		p.all = newConjunction(p.required)
	}
	return p, nil
}

// planFields validates the fields of a query and fills in defaults. all are the text fields of the
// index.
func planFields(all []string, q Query) ([]FieldWeight, error) {
	if len(q.Fields) > maxFields {
		return nil, fmt.Errorf("%w: %d fields, allowed are at most %d", ErrQuery, len(q.Fields), maxFields)
	}
	fields := slices.Clone(q.Fields)
	for i := range fields {
		fields[i].Weight = cmp.Or(fields[i].Weight, 1)
	}
	if len(fields) == 0 {
		for _, name := range all {
			w := 1.0
			if q.Weight != nil {
				w = q.Weight(name)
			}
			fields = append(fields, FieldWeight{name, w})
		}
	}
	var errs []error
	for i, f := range fields {
		if !(f.Weight > 0 && f.Weight <= maxWeight) {
			errs = append(errs, fmt.Errorf("%w: weight of field %.100q is %v, must be above 0 and at most %d", ErrQuery, f.Name, f.Weight, maxWeight))
		}
		if len(q.Fields) > 0 && slices.ContainsFunc(fields[:i], func(g FieldWeight) bool { return g.Name == f.Name }) {
			errs = append(errs, fmt.Errorf("%w: field %.100q is named twice", ErrQuery, f.Name))
		}
	}
	return fields, errors.Join(errs...)
}

// cutQuery returns the part of a text that is analysed.
func cutQuery(text string) string {
	if len(text) > maxQueryBytes {
		text = text[:analysis.CutAt(text, maxQueryBytes)]
	}
	return text
}

// queryTerms returns the distinct terms of a query in the order of their first occurrence, with
// expansions in place of parts of its text, and what And requires.
func (x *Index) queryTerms(q Query, expansions []expansion) (terms []planTerm, required []requirement) {
	index := map[string]int{}
	add := func(key string, term planTerm, t analysis.Token) bool {
		i, seen := index[key]
		if !seen {
			if len(terms) == maxQueryTerms {
				return false
			}
			i = len(terms)
			index[key] = i
			term.key = cmp.Or(term.key, key)
			terms = append(terms, term)
		} else if term.synonym == nil {
			terms[i].text = term.text // the query has the term itself
		}
		terms[i].count++
		required = append(required, requirement{t.Position, t.Next, i})
		return true
	}
	inside := 0 // end of an expansion that is a term already
	for t := range x.analyzer.QueryTokens(cutQuery(q.Text)) {
		for len(expansions) > 0 && expansions[0].end <= t.Start {
			expansions = expansions[1:]
		}
		e := expansion{start: math.MaxInt}
		if len(expansions) > 0 {
			e = expansions[0]
		}
		switch {
		case t.End <= inside:
			last := &required[len(required)-1]
			last.to = max(last.to, t.Next)
		case e.parts && e.start == t.Start && e.end == t.End, !e.parts && e.start <= t.Start && t.End <= e.end:
			expansions = expansions[1:]
			if add(e.key, planTerm{text: e.name, key: e.statistics, synonym: e.synonym}, t) && !e.parts {
				inside = e.end
			}
		default:
			add(t.Term, planTerm{text: t.Term, name: t.Kind == analysis.Name}, t)
		}
	}
	if q.Operator == And && !slices.ContainsFunc(terms, func(t planTerm) bool { return strings.HasPrefix(t.text, analysis.StopPrefix) }) {
		for t := range x.analyzer.Tokens(cutQuery(q.Text)) {
			if t.Kind == analysis.Stop {
				required = append(required, requirement{t.Position, t.Next, noTerm})
			}
		}
	}
	return terms, required
}

// onlyTerm returns the term of a text that is one term of a query and not a stop word.
func (x *Index) onlyTerm(text string) (term string, ok bool) {
	terms, _ := x.queryTerms(Query{Text: text}, nil)
	if len(terms) != 1 || strings.HasPrefix(terms[0].text, analysis.StopPrefix) {
		return "", false
	}
	return terms[0].text, true
}

// lookup finds the postings of every term and counts its documents. With statistics of several
// indexes they are counted already, and terms without documents are skipped.
func (p *plan) lookup(ctx context.Context, x *Index, texts Texts) error {
	key := sync.OnceValue(func() string { return weightsKey(p.fields) })
	cached := func(t *planTerm) dfKey { return dfKey{p.fieldsHash(), t.text} }
	for t := range p.terms {
		if term := &p.terms[t]; p.global {
			term.counted = true
		} else if term.synonym == nil {
			term.df, term.counted = p.view.df.Get(cached(term))
		}
	}
	for _, s := range p.view.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		lengths, have := s.docLengths(p.fields, key)
		var marked docBits
		var lists []termPostings
		for t := range p.terms {
			if p.global && p.terms[t].df == 0 {
				continue
			}
			before := len(lists)
			var err error
			if lists, err = p.lookupTerm(ctx, x, s, t, have, texts, lists); err != nil {
				return err
			}
			if !p.terms[t].counted {
				if marked == nil {
					marked = newDocBits(len(s.nos))
				}
				p.count(t, s, lists[before:], marked)
			}
		}
		p.postings = append(p.postings, lists)
		p.lengths = append(p.lengths, lengths)
	}
	for t := range p.terms {
		term := &p.terms[t]
		if !term.counted && term.synonym == nil {
			p.view.df.Put(cached(term), term.df, len(term.text))
		}
		if term.own = term.df; term.own == 0 {
			term.df += term.split
		}
		term.idf = idf(p.docs, term.df)
		if term.synonym != nil && slices.ContainsFunc(term.synonym.alternatives, func(a alternative) bool { return a.guessed }) {
			term.idf *= guessedShare
		}
		term.weight = float64(term.count) * term.idf * (p.k1 + 1)
	}
	return nil
}

// dfKey names a document frequency in a view by the fields, as a hash, and the term.
type dfKey struct {
	fields uint64
	term   string
}

// fieldsHash returns a hash of the names of the fields.
func (p *plan) fieldsHash() uint64 {
	if p.hash == 0 {
		var h maphash.Hash
		h.SetSeed(termSeed)
		for _, f := range p.fields {
			h.WriteString(f.Name)
			h.WriteByte(0)
		}
		p.hash = h.Sum64() | 1
	}
	return p.hash
}

// lookupTerm appends the postings of term t, or of its alternatives, in the fields that a segment
// has to lists, field by field.
func (p *plan) lookupTerm(ctx context.Context, x *Index, s *segmentView, t int, have []int, texts Texts, lists []termPostings) ([]termPostings, error) {
	term := &p.terms[t]
	alternatives := []alternative{{text: term.text}}
	if term.synonym != nil {
		alternatives = term.synonym.alternatives
	}
	names := make([]string, len(have))
	for i, f := range have {
		names[i] = p.fields[f].Name
	}
	phrases := make([][]*postings, len(alternatives)) // by alternative and field; nil: no phrase
	for a, alt := range alternatives {
		if alt.phrase.Len() > 0 {
			var err error
			if phrases[a], err = x.phrasePostings(ctx, p.view, s, alt, names, texts); err != nil {
				return lists, err
			}
		}
	}
	for i, f := range have {
		for a, alt := range alternatives {
			var list *postings
			if phrases[a] != nil {
				list = phrases[a][i]
			} else {
				var err error
				if list, err = s.postings(names[i], alt.text); err != nil {
					return lists, err
				}
				if alt.part != "" && len(list.docs) > 0 { // wi-fi is indexed joined and in parts, and counts once
					part, err := s.postings(names[i], alt.part)
					if err != nil {
						return lists, err
					}
					list = list.minus(part, s.lengths[names[i]])
				}
			}
			if len(list.docs) > 0 {
				lists = append(lists, termPostings{list, t, f, a})
			}
		}
	}
	return lists, nil
}

// count adds the documents of a segment to the document frequency of term t. Documents that only
// have it split count where no document has it, so that the score of one that has it does not
// depend on them.
func (p *plan) count(t int, s *segmentView, lists []termPostings, marked docBits) {
	term := &p.terms[t]
	isSplit := func(l termPostings) bool {
		return term.synonym != nil && term.synonym.alternatives[l.alternative].without != ""
	}
	term.df += s.countDocs(lists, marked, func(l termPostings) bool { return !isSplit(l) })
	if term.synonym != nil {
		term.split += s.countDocs(lists, marked, isSplit)
	}
}

// countDocs returns the number of documents that are not deleted in the union of those lists that
// include accepts. marked is empty scratch memory.
func (s *segmentView) countDocs(lists []termPostings, marked docBits, include func(l termPostings) bool) (n uint64) {
	if len(lists) == 1 && s.deleted == nil && include(lists[0]) {
		return uint64(len(lists[0].docs))
	}
	for _, l := range lists {
		if !include(l) {
			continue
		}
		for _, doc := range l.docs {
			if !marked.has(doc) && !s.isDeleted(doc) {
				marked.set(doc)
				n++
			}
		}
	}
	for _, l := range lists {
		for _, doc := range l.docs {
			marked.clear(doc)
		}
	}
	return n
}

// idf returns the weight of a term that df of n documents have.
func idf(n, df uint64) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// keepRarest drops all but the n terms with the highest idf and keeps their order.
func (p *plan) keepRarest(n int) {
	if len(p.terms) <= n {
		return
	}
	order := make([]int, len(p.terms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.terms[a].df, p.terms[b].df) })
	// A term that no document has does not matter for Or, and decides And.
	if p.operator == Or {
		order = slices.DeleteFunc(order, func(t int) bool { return p.terms[t].df == 0 })
	}
	order = order[:min(n, len(order))]
	slices.Sort(order)
	terms := make([]planTerm, len(order))
	renumbered := map[int]int{}
	for i, t := range order {
		terms[i], renumbered[t] = p.terms[t], i
	}
	for s, lists := range p.postings {
		kept := lists[:0]
		for _, l := range lists {
			if t, ok := renumbered[l.term]; ok {
				l.term = t
				kept = append(kept, l)
			}
		}
		p.postings[s] = kept
	}
	p.terms = terms
	for i, r := range p.required {
		if t, ok := renumbered[r.term]; ok {
			p.required[i].term = t
		} else {
			p.required[i].term = noTerm
		}
	}
}

// score returns the contribution of a term that occurs tf times (weighted) in a document of
// weighted length dl.
func (p *plan) score(term *planTerm, tf, dl float64) float64 {
	return term.weight * tf / (tf + p.base + p.slope*dl)
}
