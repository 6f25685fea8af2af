package keyword

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// MaxHits is the largest k of Search.
const MaxHits = 100_000

// Hit is a document with its BM25.
type Hit struct {
	No    uint32
	Score float64
}

// Found is the result of Find.
type Found struct {
	Hits  []Hit
	Total int             // documents that match, beyond the first k too
	All   *roaring.Bitmap // all of them; nil unless requested

	// Ceiling is a bound on scores: that of a document that repeats every term of the query
	// endlessly. Terms that no document has count, so that a score's share of it tells how much of
	// the query the document covers. A name that no document has does not count: its words do.
	Ceiling float64
}

// Search returns the k documents with the highest scores among those that q finds and allow
// contains (nil: all), equal scores by number, and the number of documents that match. A query
// without terms finds nothing.
func (x *Index) Search(ctx context.Context, q Query, k int, allow *roaring.Bitmap) (hits []Hit, total int, err error) {
	found, err := x.Find(ctx, q, k, allow, false)
	return found.Hits, found.Total, err
}

// Find is Search that also returns Found.Ceiling and, with all, Found.All.
func (x *Index) Find(ctx context.Context, q Query, k int, allow *roaring.Bitmap, all bool) (found Found, err error) {
	if k < 0 || k > MaxHits {
		return Found{}, fmt.Errorf("%w: k is %d, must be from 0 to %d", ErrQuery, k, MaxHits)
	}
	top := &topK{k: k}
	if all {
		top.all = roaring.New()
	}
	err = x.read(func(v *view) error {
		p, err := x.newPlan(ctx, v, q)
		if err != nil || len(p.terms) == 0 {
			return err
		}
		for _, t := range p.terms {
			if !t.name || t.df > 0 {
				found.Ceiling += t.weight
			}
		}
		if found.Total, err = p.search(ctx, allow, top); err != nil {
			return err
		}
		found.Hits = top.sorted()
		return nil
	})
	found.All = top.all
	return found, err
}

// work counts what a search costs, whatever the machine.
type work struct {
	postings int // read
	scored   int // postings that added to a score
}

// search adds the documents of all segments to top and returns the number of matches.
func (p *plan) search(ctx context.Context, allow *roaring.Bitmap, top *topK) (total int, err error) {
	w := windows.Get().(*window)
	allowed := newAllowList(allow)
	for s := range p.view.segments {
		n, err := p.searchSegment(ctx, s, allowed, w, top)
		if err != nil {
			return 0, err
		}
		total += n
	}
	windows.Put(w) // not after a panic, which leaves scores in it
	return total, nil
}

// allowList is a set of document numbers, as bits where they are dense enough.
type allowList struct {
	docs *roaring.Bitmap // nil: all documents
	bits docBits
}

func newAllowList(docs *roaring.Bitmap) (a allowList) {
	const maxBits = 1 << 27
	if a.docs = docs; docs != nil && !docs.IsEmpty() && docs.Maximum() < maxBits && uint64(docs.Maximum()) < 256*docs.GetCardinality() {
		a.bits = bitsOf(docs, int(docs.Maximum())+1)
	}
	return a
}

func (a *allowList) has(no uint32) bool {
	switch {
	case a.docs == nil:
		return true
	case a.bits != nil:
		return int(no/64) < len(a.bits) && a.bits.has(no)
	}
	return a.docs.Contains(no)
}

// windowSize is the number of documents that are scored together: their scores fit the first-level
// cache.
const windowSize = 2048

// window has the scores of documents base to base+windowSize of a segment.
type window struct {
	score     [windowSize]float64
	tf        [windowSize]float64 // of one term, over its fields
	state     [windowSize]state
	terms     [windowSize]uint64 // that were found, for And
	touched   []uint16           // documents with tf
	survivors []uint16           // documents that may be among the best, ascending
	matches   []uint32           // numbers of the documents that match, for topK.all
}

// state tells what is known of a document in a window.
type state uint8

const (
	unmatched state = iota
	matched         // it has a term, but cannot be among the best
	candidate       // it has a term, and its score is in the window
)

var windows = sync.Pool{New: func() any { return &window{touched: make([]uint16, 0, windowSize)} }}

// cursor is a position in the postings of a term in a field.
type cursor struct {
	*postings
	at     int
	weight float64 // of the field
}

// termCursors are the cursors of a term in the fields of a segment.
type termCursors struct {
	term   int
	fields []cursor
	bound  float64 // that no score of the term in the segment exceeds
}

// searchSegment adds the documents of segment s to top and returns the number of matches. It is
// MaxScore (Turtle and Flood 1995) by windows:
//
//  1. Find the next window in which a term occurs.
//  2. Terms whose bounds together stay below the k-th best score are optional: a document with no
//     other term cannot be among the best. It is counted, but not scored.
//  3. Add up the scores of the other terms, and drop the documents that even with the bounds of all
//     optional terms stay below the k-th best score.
//  4. Score the rest anew by all terms in the order of the query, so that sums equal those of Score
//     to the last bit. Without optional terms step 3 has done so.
//  5. Collect the documents that match, are allowed and not deleted.
func (p *plan) searchSegment(ctx context.Context, s int, allowed allowList, w *window, top *topK) (total int, err error) {
	terms := p.cursors(s)
	byBound := slices.Clone(terms) // the fields are shared
	slices.SortStableFunc(byBound, func(a, b termCursors) int { return cmp.Compare(a.bound, b.bound) })
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		base := uint32(math.MaxUint32)
		for _, t := range terms {
			for _, c := range t.fields {
				if c.at < len(c.docs) {
					base = min(base, c.docs[c.at])
				}
			}
		}
		if base == math.MaxUint32 {
			return total, nil
		}
		base &^= windowSize - 1
		optional, bound := p.optional(byBound, top)
		if optional == 0 {
			for _, t := range terms {
				p.addTerm(s, base, t, w)
			}
		} else {
			p.addBest(s, base, terms, byBound[:optional], byBound[optional:], top.worst()*(1-rounding)-bound, &allowed, w)
		}
		total += p.collect(s, base, &allowed, w, top)
	}
}

// rounding is more than the relative error of a sum of MaxTerms bounds or scores.
const rounding = 1e-12

// optional returns how many of the terms, by ascending bound, are optional, and the sum of their
// bounds.
func (p *plan) optional(byBound []termCursors, top *topK) (n int, bound float64) {
	if p.exhaustive || p.operator == And || !top.full() {
		return 0, 0
	}
	for n < len(byBound) {
		next := bound + byBound[n].bound
		if next*(1+rounding) >= top.worst() {
			break
		}
		n, bound = n+1, next
	}
	return n, bound
}

// cursors returns the cursors of the terms that segment s has, in the order of the query.
func (p *plan) cursors(s int) (terms []termCursors) {
	lists := p.postings[s]
	all := make([]cursor, len(lists))
	for i, l := range lists {
		if i == 0 || l.term != lists[i-1].term {
			terms = append(terms, termCursors{term: l.term, fields: all[i:i]})
		}
		weight := p.fields[l.field].Weight
		all[i] = cursor{postings: l.postings, weight: weight}
		t := &terms[len(terms)-1]
		t.fields = t.fields[:len(t.fields)+1]
		// The sum over lists bounds the score: tf and dl are sums over fields, and each list's share
		// of tf is divided by less than all of them.
		t.bound += p.terms[l.term].weight * l.bound(weight, p.base, p.slope)
	}
	return terms
}

// addTerm adds a term's scores to the window that begins at base.
func (p *plan) addTerm(s int, base uint32, t termCursors, w *window) {
	end := base + windowSize
	w.touched = w.touched[:0]
	for i := range t.fields {
		c := &t.fields[i]
		from := c.at
		for ; c.at < len(c.docs) && c.docs[c.at] < end; c.at++ {
			at := c.docs[c.at] - base
			if w.tf[at] == 0 {
				w.touched = append(w.touched, uint16(at))
			}
			w.tf[at] += c.weight * float64(c.freq(c.at))
		}
		p.work.postings += c.at - from
	}
	p.work.scored += len(w.touched)
	term, lengths := &p.terms[t.term], &p.lengths[s]
	for _, at := range w.touched {
		w.score[at] += p.score(term, w.tf[at], lengths.at(base+uint32(at)))
		w.state[at] = candidate
		w.tf[at] = 0
		if p.operator == And {
			w.terms[at] |= 1 << t.term
		}
	}
}

// addBest adds the documents with required terms that may be among the best to the window, and marks
// the other matches. A document needs a score above least by required terms.
func (p *plan) addBest(s int, base uint32, terms, optional, required []termCursors, least float64, allowed *allowList, w *window) {
	end := base + windowSize
	seg := p.view.segments[s]
	begins := make([]int, 0, len(p.postings[s])) // where the window begins in each list, in the order of terms
	for _, t := range terms {
		for i := range t.fields {
			begins = append(begins, t.fields[i].at)
		}
	}
	for _, t := range required {
		p.addTerm(s, base, t, w)
	}
	w.survivors = w.survivors[:0]
	for at := range w.state[:min(windowSize, len(seg.nos)-int(base))] {
		if w.state[at] != candidate {
			continue
		}
		local := base + uint32(at)
		if w.score[at]*(1+rounding) < least || seg.isDeleted(local) || !allowed.has(seg.nos[local]) {
			w.state[at] = matched
		} else {
			w.survivors = append(w.survivors, uint16(at))
		}
		w.score[at] = 0
	}
	for _, t := range optional {
		for i := range t.fields {
			c := &t.fields[i]
			from := c.at
			for ; c.at < len(c.docs) && c.docs[c.at] < end; c.at++ {
				if at := c.docs[c.at] - base; w.state[at] == unmatched {
					w.state[at] = matched
				}
			}
			p.work.postings += c.at - from
		}
	}
	lengths := &p.lengths[s]
	list := 0
	for _, t := range terms {
		term := &p.terms[t.term]
		ats := begins[list : list+len(t.fields)]
		list += len(t.fields)
		for _, at := range w.survivors {
			local, tf := base+uint32(at), 0.0
			for i := range t.fields {
				c := &t.fields[i]
				if ats[i] = c.seek(ats[i], local); ats[i] < len(c.docs) && c.docs[ats[i]] == local {
					tf += c.weight * float64(c.freq(ats[i]))
				}
			}
			if tf > 0 {
				w.score[at] += p.score(term, tf, lengths.at(local))
				p.work.scored++
			}
		}
	}
}

// collect moves what matches from the window to top, clears the window and returns the number of
// matches.
func (p *plan) collect(s int, base uint32, allowed *allowList, w *window, top *topK) (total int) {
	seg := p.view.segments[s]
	w.matches = w.matches[:0]
	for at, state := range w.state[:min(windowSize, len(seg.nos)-int(base))] {
		if state == unmatched {
			continue
		}
		score := w.score[at]
		w.score[at], w.state[at] = 0, unmatched
		if p.operator == And {
			terms := w.terms[at]
			if w.terms[at] = 0; !p.all.met(terms) {
				continue
			}
		}
		local := base + uint32(at)
		no := seg.nos[local]
		if seg.isDeleted(local) || !allowed.has(no) {
			continue
		}
		total++
		if top.all != nil {
			w.matches = append(w.matches, no)
		}
		if state == candidate {
			top.add(Hit{no, score})
		}
	}
	if top.all != nil {
		top.all.AddMany(w.matches)
	}
	return total
}
