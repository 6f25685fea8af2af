package keyword

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
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
	// the query the document covers. A name that no document has does not count: its words do. 0
	// where no document has any of the terms.
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
		some := false
		for _, t := range p.terms {
			if some = some || t.df > 0; !t.name || t.df > 0 {
				found.Ceiling += t.weight
			}
		}
		if !some {
			found.Ceiling = 0
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
	score      [windowSize]float64
	tf         [windowSize]float64 // of one term, over its fields
	matched    windowBits          // documents that have a term
	candidates windowBits          // of these, those whose scores are in the window
	terms      [windowSize]uint64  // that were found, for And
	touched    []uint16            // documents with tf
	survivors  []uint16            // documents that may be among the best, ascending
	nos        []uint32            // of the documents that match, for topK.all
}

// windowBits has a bit for each document of a window.
type windowBits [windowSize / 64]uint64

func (b *windowBits) has(at uint16) bool { return b[at/64]>>(at%64)&1 != 0 }
func (b *windowBits) set(at uint16)      { b[at/64] |= 1 << (at % 64) }
func (b *windowBits) clear(at uint16)    { b[at/64] &^= 1 << (at % 64) }

// all returns the documents in the set, ascending. They may be removed meanwhile.
func (b *windowBits) all() iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(uint16(64*i + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

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
//  3. Add up the scores of the other terms, drop the documents that even with the bounds of all
//     optional terms stay below the k-th best score, and add the scores of these to the rest.
//  4. Score what is not below the k-th best score anew, by all terms in the order of the query, so
//     that sums equal those of Score to the last bit. Without optional terms step 3 has done so.
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
			p.addBest(s, base, terms, byBound[:optional], byBound[optional:], top.worst(), bound, &allowed, w)
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
		// The sum over lists bounds the score: tf and dl are sums over fields, and each list's
		// share of tf is divided by less than all of them.
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
			at := uint16(c.docs[c.at] - base)
			if w.tf[at] == 0 {
				w.touched = append(w.touched, at)
			}
			w.tf[at] += c.weight * float64(c.freq(c.at))
		}
		p.work.postings += c.at - from
	}
	for _, at := range w.touched {
		w.matched.set(at)
		w.candidates.set(at)
		if p.operator == And {
			w.terms[at] |= 1 << t.term
		}
	}
	p.scoreTouched(s, base, t.term, w)
}

// addBest adds the documents that may be among the best to the window, and marks the other matches.
// worst is the k-th best score so far, bound the sum of the bounds of the optional terms.
func (p *plan) addBest(s int, base uint32, terms, optional, required []termCursors, worst, bound float64, allowed *allowList, w *window) {
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
	worst *= 1 - rounding
	for at := range w.candidates.all() {
		local := base + uint32(at)
		if w.score[at]*(1+rounding)+bound < worst || seg.isDeleted(local) || !allowed.has(seg.nos[local]) {
			w.score[at] = 0
			w.candidates.clear(at)
		}
	}
	for _, t := range slices.Backward(optional) {
		p.addOptional(s, base, t, w)
	}
	w.survivors = w.survivors[:0]
	for at := range w.candidates.all() {
		if w.score[at]*(1+rounding) < worst {
			w.candidates.clear(at)
		} else {
			w.survivors = append(w.survivors, at)
		}
		w.score[at] = 0
	}
	p.rescore(s, base, terms, begins, w)
}

// addOptional adds an optional term's scores to those of candidates in the window, and marks the
// other documents that have the term.
func (p *plan) addOptional(s int, base uint32, t termCursors, w *window) {
	end := base + windowSize
	w.touched = w.touched[:0]
	for i := range t.fields {
		c := &t.fields[i]
		from := c.at
		for ; c.at < len(c.docs) && c.docs[c.at] < end; c.at++ {
			at := uint16(c.docs[c.at] - base)
			w.matched.set(at)
			if w.candidates.has(at) {
				if w.tf[at] == 0 {
					w.touched = append(w.touched, at)
				}
				w.tf[at] += c.weight * float64(c.freq(c.at))
			}
		}
		p.work.postings += c.at - from
	}
	p.scoreTouched(s, base, t.term, w)
}

// scoreTouched adds the scores of a term to those of the documents in w.touched.
func (p *plan) scoreTouched(s int, base uint32, t int, w *window) {
	p.work.scored += len(w.touched)
	term, lengths := &p.terms[t], &p.lengths[s]
	for _, at := range w.touched {
		w.score[at] += p.score(term, w.tf[at], lengths.at(base+uint32(at)))
		w.tf[at] = 0
	}
}

// rescore adds up the scores of the survivors in the order of the query.
func (p *plan) rescore(s int, base uint32, terms []termCursors, begins []int, w *window) {
	lengths := &p.lengths[s]
	for _, t := range terms {
		ats := begins[:len(t.fields)]
		begins = begins[len(t.fields):]
		for _, at := range w.survivors {
			local, tf := base+uint32(at), 0.0
			for i := range t.fields {
				c := &t.fields[i]
				if ats[i] = c.seek(ats[i], local); ats[i] < len(c.docs) && c.docs[ats[i]] == local {
					tf += c.weight * float64(c.freq(ats[i]))
				}
			}
			if tf > 0 {
				w.score[at] += p.score(&p.terms[t.term], tf, lengths.at(local))
				p.work.scored++
			}
		}
	}
}

// collect moves what matches from the window to top, clears the window and returns the number of
// matches.
func (p *plan) collect(s int, base uint32, allowed *allowList, w *window, top *topK) (total int) {
	seg := p.view.segments[s]
	if seg.deletedBits != nil {
		for i, word := range seg.deletedBits[base/64 : min(len(seg.deletedBits), int(base+windowSize)/64)] {
			w.matched[i] &^= word
		}
	}
	w.nos = w.nos[:0]
	if p.operator == And || allowed.docs != nil || top.all != nil {
		for at := range w.matched.all() {
			no := seg.nos[base+uint32(at)]
			if p.operator == And && !p.all.met(w.terms[at]) || !allowed.has(no) {
				w.matched.clear(at)
			} else if top.all != nil {
				w.nos = append(w.nos, no)
			}
		}
		if top.all != nil {
			top.all.AddMany(w.nos)
		}
	}
	for _, word := range w.matched {
		total += bits.OnesCount64(word)
	}
	for at := range w.candidates.all() {
		if w.matched.has(at) {
			top.add(Hit{seg.nos[base+uint32(at)], w.score[at]})
		}
		w.score[at], w.terms[at] = 0, 0
	}
	w.matched, w.candidates = windowBits{}, windowBits{}
	return total
}
