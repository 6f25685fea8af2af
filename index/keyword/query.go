package keyword

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

const (
	// MaxTerms is the number of different terms of a query that count: of more, the rarest.
	MaxTerms = 64
	// maxAnalyzed is the number of different terms of a query that are looked at.
	maxAnalyzed = 512
	// maxFields is the number of fields that a query can name.
	maxFields = 64
	// maxWeight of a field.
	maxWeight = 10_000
	// maxQueryBytes of a query are analysed.
	maxQueryBytes = 32 << 10
)

// Operator says which documents a query finds.
type Operator uint8

const (
	Or  Operator = iota // those with at least one of the terms
	And                 // those with all of the terms, each in any of the fields
)

// String returns "or" or "and".
func (o Operator) String() string {
	switch o {
	case Or:
		return "or"
	case And:
		return "and"
	default:
		return fmt.Sprintf("Operator(%d)", uint8(o))
	}
}

// ParseOperator reads "or" or "and"; "" is Or.
func ParseOperator(s string) (Operator, error) {
	switch s {
	case "", "or":
		return Or, nil
	case "and":
		return And, nil
	}
	return Or, fmt.Errorf("%w: operator is %.100q, allowed are or, and", ErrQuery, s)
}

// FieldWeight names a text field to search. Weight multiplies how often terms occur in it, and its
// length; 0 means 1.
type FieldWeight struct {
	Name   string
	Weight float64
}

// Query is what to search for. Text is plain text: no character in it has a meaning of its own.
type Query struct {
	Text     string
	Fields   []FieldWeight              // none: every text field, each with its Weight
	Weight   func(field string) float64 // of a field where Fields is empty; nil: 1
	Operator Operator

	Synonyms *Synonyms // of words of Text; nil: none
	Exact    []string  // words of Text that are read as no others
	Texts    Texts     // by which synonyms of several words are found as phrases; nil: where they occur, however far apart, and no word is read apart

	Global *Statistics // of the query in all indexes that the documents are spread over; nil: they are all in this one
}

// plan is a Query on one view: its terms with their statistics and the formula of the ranking.
type plan struct {
	view     *view
	docs     uint64 // N
	global   bool   // the statistics are of other indexes, too
	fields   []FieldWeight
	operator Operator
	terms    []planTerm
	asks     []ask            // what And asks for, in the order of from
	need     need             // of it, what is left when the rarest terms are chosen
	postings [][]termPostings // by segment; those that there are, in the order of terms, then fields
	lengths  []docLengths     // by segment

	// The denominator of BM25 is tf + base + slope*dl, and its numerator tf*(k1+1).
	k1, base, slope float64
}

// termPostings are the postings of a term in a field.
type termPostings struct {
	term, field int // of the plan
	list        segment.PostingsList
	alternative int // of the term's synonym
}

type planTerm struct {
	text    []byte
	key     string   // by which Statistics have its df
	name    bool     // a whole name, whose parts are terms too
	synonym *synonym // nil: none
	count   int      // in the query
	df      uint64
	own     uint64 // of df, without apart
	apart   uint64 // documents that have it written apart alone, see breaks
	idf     float64
	weight  float64 // count * idf * (k1+1)
}

// newPlan analyses q and looks its terms up.
func (x *Index) newPlan(ctx context.Context, v *view, q Query) (*plan, error) {
	p := &plan{view: v, global: q.Global != nil, operator: q.Operator, k1: x.bm25.K1}
	if q.Operator > And {
		return nil, fmt.Errorf("%w: operator is %v, allowed are or, and", ErrQuery, q.Operator)
	}
	l, err := x.lexicon(v, q)
	if err != nil {
		return nil, err
	}
	if p.fields, err = planFields(l.fields(), q); err != nil {
		return nil, err
	}
	expansions, err := x.expansions(ctx, l, q)
	if err != nil {
		return nil, err
	}
	p.terms, p.asks = x.queryTerms(q, expansions)
	docs, avgdl, err := l.documents(p.fields)
	if err != nil {
		return nil, err
	}
	p.docs, p.base = docs, p.k1*(1-x.bm25.B)
	if avgdl > 0 {
		p.slope = p.k1 * x.bm25.B / avgdl
	}
	if p.global {
		if err := p.counts(q.Global); err != nil {
			return nil, err
		}
	}
	if err := p.lookup(ctx, x, q.Texts); err != nil {
		return nil, err
	}
	p.keepRarest(MaxTerms)
	if p.operator == And {
		p.need = needOf(p.asks)
	}
	return p, nil
}

// planFields checks the fields of a query and fills in what is left open. all are the text fields
// that there are.
func planFields(all []string, q Query) ([]FieldWeight, error) {
	fields := q.Fields
	var out []FieldWeight
	if len(fields) == 0 {
		for _, name := range all {
			w := 1.0
			if q.Weight != nil {
				w = q.Weight(name)
			}
			if !(w > 0 && w <= maxWeight) {
				return nil, fmt.Errorf("%w: weight of field %.100q is %v, must be above 0 and at most %d", ErrQuery, name, w, maxWeight)
			}
			out = append(out, FieldWeight{name, w})
		}
		return out, nil
	}
	if len(fields) > maxFields {
		return nil, fmt.Errorf("%w: %d fields, allowed are at most %d", ErrQuery, len(fields), maxFields)
	}
	var errs []error
	for i, f := range fields {
		if f.Weight == 0 {
			f.Weight = 1
		}
		if !(f.Weight > 0 && f.Weight <= maxWeight) {
			errs = append(errs, fmt.Errorf("%w: weight of field %.100q is %v, must be above 0 and at most %d", ErrQuery, f.Name, f.Weight, maxWeight))
		}
		if slices.ContainsFunc(fields[:i], func(g FieldWeight) bool { return g.Name == f.Name }) {
			errs = append(errs, fmt.Errorf("%w: field %.100q is named twice", ErrQuery, f.Name))
		}
		out = append(out, f)
	}
	return out, errors.Join(errs...)
}

// cutQuery returns the part of a text that is analysed.
func cutQuery(text string) string {
	if len(text) > maxQueryBytes {
		text = text[:cutAt(text, maxQueryBytes)]
	}
	return text
}

// queryTerms returns the different terms of a query in the order of their first occurrence, with
// expansions in the place of parts of its text, and what And asks for.
func (x *Index) queryTerms(q Query, expansions []expansion) (terms []planTerm, asks []ask) {
	at := map[string]int{}
	add := func(key string, term planTerm, t token) bool {
		i, seen := at[key]
		if !seen {
			if len(terms) == maxAnalyzed {
				return false
			}
			i = len(terms)
			at[key] = i
			term.key = cmp.Or(term.key, key)
			terms = append(terms, term)
		} else if term.synonym == nil {
			terms[i].text = term.text // the query has it itself
		}
		terms[i].count++
		asks = append(asks, ask{t.position, t.next, i})
		return true
	}
	inside := 0 // an expansion that is a term already: its end
	x.analyzer.asked(cutQuery(q.Text), func(t token) bool {
		for len(expansions) > 0 && expansions[0].end <= t.start {
			expansions = expansions[1:]
		}
		e := expansion{start: math.MaxInt}
		if len(expansions) > 0 {
			e = expansions[0]
		}
		switch {
		case t.end <= inside:
			asks[len(asks)-1].to = max(asks[len(asks)-1].to, t.next)
		case e.parts && e.start == t.start && e.end == t.end, !e.parts && e.start <= t.start && t.end <= e.end:
			if expansions = expansions[1:]; add(e.key, planTerm{text: []byte(e.name), key: e.widest, synonym: e.synonym}, t) && !e.parts {
				inside = e.end
			}
		default:
			add(t.term, planTerm{text: []byte(t.term), name: t.kind == nameTerm}, t)
		}
		return true
	})
	if q.Operator == And && !slices.ContainsFunc(terms, func(t planTerm) bool { return strings.HasPrefix(string(t.text), commonMark) }) {
		x.analyzer.each(cutQuery(q.Text), func(t token) bool {
			if t.kind == commonTerm {
				asks = append(asks, ask{t.position, t.next, -1})
			}
			return true
		})
	}
	return terms, asks
}

// onlyTerm returns the term of a text that a query takes for exactly one, and for no stop word.
func (x *Index) onlyTerm(text string) (term string, ok bool) {
	terms, _ := x.queryTerms(Query{Text: text}, nil)
	if len(terms) != 1 || strings.HasPrefix(string(terms[0].text), commonMark) {
		return "", false
	}
	return string(terms[0].text), true
}

// lookup finds the postings of every term and counts the documents that have it in at least one
// field. With statistics of other indexes these are counted, and what no document had then, none
// has.
func (p *plan) lookup(ctx context.Context, x *Index, texts Texts) error {
	union := roaring.New()
	key := sync.OnceValue(func() string { return weightsKey(p.fields) })
	for _, s := range p.view.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		lengths, have := s.docLengths(p.fields, key)
		dicts := make([]segment.TermDictionary, len(have))
		for i, f := range have {
			var err error
			if dicts[i], err = s.segment.Dictionary(textPrefix + p.fields[f].Name); err != nil {
				return err
			}
		}
		var lists []termPostings
		for t := range p.terms {
			if p.global && p.terms[t].df == 0 {
				continue
			}
			before := len(lists)
			if p.terms[t].synonym != nil {
				var err error
				if lists, err = p.lookupSynonym(ctx, x, s, t, have, dicts, texts, lists); err != nil {
					return err
				}
			} else {
				for i, f := range have {
					pl, err := dicts[i].PostingsList(p.terms[t].text, nil, nil)
					if err != nil {
						return err
					}
					if pl.Count() > 0 {
						lists = append(lists, termPostings{term: t, field: f, list: pl})
					}
				}
			}
			if p.global {
				continue
			}
			if err := p.count(t, s, lists[before:], union); err != nil {
				return err
			}
		}
		p.postings = append(p.postings, lists)
		p.lengths = append(p.lengths, lengths)
	}
	for t := range p.terms {
		term := &p.terms[t]
		if term.own = term.df; term.own == 0 {
			term.df += term.apart
		}
		term.idf = idf(p.docs, term.df)
		if term.synonym != nil && slices.ContainsFunc(term.synonym.alternatives, func(a alternative) bool { return a.guessed }) {
			term.idf *= apartShare
		}
		term.weight = float64(term.count) * term.idf * (p.k1 + 1)
	}
	return nil
}

// count adds the documents of a segment that lists find to those that have term t. What a word is
// written apart as does not count unless no document has the word: so the score of one that has it
// does not depend on others.
func (p *plan) count(t int, s *segmentView, lists []termPostings, scratch *roaring.Bitmap) error {
	term := &p.terms[t]
	var own, apart []termPostings
	for _, l := range lists {
		if term.synonym != nil && term.synonym.alternatives[l.alternative].without != "" {
			apart = append(apart, l)
		}
	}
	if own = lists; len(apart) > 0 {
		own = slices.DeleteFunc(slices.Clone(lists), func(l termPostings) bool { return term.synonym.alternatives[l.alternative].without != "" })
	}
	n, err := s.documents(own, scratch)
	if err != nil {
		return err
	}
	term.df += n
	n, err = s.documents(apart, scratch)
	term.apart += n
	return err
}

// lookupSynonym adds the postings of the alternatives of term t in the fields that a segment has to
// lists, field by field.
func (p *plan) lookupSynonym(ctx context.Context, x *Index, s *segmentView, t int, have []int, dicts []segment.TermDictionary, texts Texts, lists []termPostings) ([]termPostings, error) {
	alternatives := p.terms[t].synonym.alternatives
	phrases := make([][]*phrasePostings, len(alternatives)) // by field
	names := make([]string, len(have))
	for i, f := range have {
		names[i] = p.fields[f].Name
	}
	for a, alt := range alternatives {
		if alt.phrase.Len() > 0 {
			var err error
			if phrases[a], err = x.together(ctx, p.view, s, alt, names, texts); err != nil {
				return lists, err
			}
		}
	}
	for i, f := range have {
		for a, alt := range alternatives {
			var pl segment.PostingsList
			if phrases[a] != nil {
				pl = phrases[a][i]
			} else {
				var err error
				if pl, err = dicts[i].PostingsList([]byte(alt.text), nil, nil); err != nil {
					return lists, err
				}
				if alt.part != "" && pl.Count() > 0 {
					part, err := dicts[i].PostingsList([]byte(alt.part), nil, nil)
					if err != nil {
						return lists, err
					}
					pl = beyond{pl, part}
				}
			}
			if pl.Count() > 0 {
				lists = append(lists, termPostings{t, f, pl, a})
			}
		}
	}
	return lists, nil
}

// idf is how much a term says that df of n documents have.
func idf(n, df uint64) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// documents counts the documents, deleted ones left out, of the union of lists.
func (s *segmentView) documents(lists []termPostings, scratch *roaring.Bitmap) (uint64, error) {
	if len(lists) == 0 {
		return 0, nil
	}
	if len(lists) == 1 && s.deleted == nil {
		return lists[0].list.Count(), nil
	}
	scratch.Clear()
	for _, pl := range lists {
		if err := orInto(scratch, pl.list); err != nil {
			return 0, err
		}
	}
	n := scratch.GetCardinality()
	if s.deleted != nil {
		n -= scratch.AndCardinality(s.deleted)
	}
	return n, nil
}

// keepRarest leaves the n terms with the highest idf, in the order of the query.
func (p *plan) keepRarest(n int) {
	if len(p.terms) <= n {
		return
	}
	order := make([]int, len(p.terms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(int64(p.terms[a].df) - int64(p.terms[b].df)) })
	// A term that no document has says nothing under Or, and everything under And.
	if p.operator == Or {
		order = slices.DeleteFunc(order, func(t int) bool { return p.terms[t].df == 0 })
	}
	order = order[:min(n, len(order))]
	slices.Sort(order)
	terms := make([]planTerm, len(order))
	now := map[int]int{} // place among terms, by that before
	for i, t := range order {
		terms[i], now[t] = p.terms[t], i
	}
	for s, lists := range p.postings {
		kept := lists[:0]
		for _, l := range lists {
			if t, ok := now[l.term]; ok {
				kept = append(kept, termPostings{t, l.field, l.list, l.alternative})
			}
		}
		p.postings[s] = kept
	}
	p.terms = terms
	for i, a := range p.asks {
		if t, ok := now[a.term]; ok {
			p.asks[i].term = t
		} else {
			p.asks[i].term = -1
		}
	}
}

// score is the contribution of a term that occurs tf times (weighted) in a document of weighted
// length dl.
func (p *plan) score(term *planTerm, tf, dl float64) float64 {
	return term.weight * tf / (tf + p.base + p.slope*dl)
}
