package keyword

import (
	"context"
	"fmt"
	"math"
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

// search adds the documents of all segments to top and returns the number of matches.
func (p *plan) search(ctx context.Context, allow *roaring.Bitmap, top *topK) (total int, err error) {
	w := windows.Get().(*window)
	for s := range p.view.segments {
		n, err := p.searchSegment(ctx, s, allow, w, top)
		if err != nil {
			return 0, err // w may hold sums and is not used again
		}
		total += n
	}
	windows.Put(w)
	return total, nil
}

// windowSize is the number of documents that are scored together: their scores fit the first-level
// cache.
const windowSize = 2048

// window has the scores of documents base to base+windowSize of a segment.
type window struct {
	score   [windowSize]float64
	tf      [windowSize]float64 // of one term, over its fields
	matched [windowSize]bool
	terms   [windowSize]uint64 // that were found, for And
	touched []uint16           // documents with tf
}

var windows = sync.Pool{New: func() any { return &window{touched: make([]uint16, 0, windowSize)} }}

// cursor is a position in the postings of a term in a field.
type cursor struct {
	*postings
	at     int
	weight float64 // of the field
}

// searchSegment adds the documents of segment s to top and returns the number of matches.
//
//  1. Find the next window in which a term occurs.
//  2. Add the scores of each term in the order of the query, so that sums equal those of Score to
//     the last bit.
//  3. Collect the documents that match, are allowed and not deleted.
func (p *plan) searchSegment(ctx context.Context, s int, allow *roaring.Bitmap, w *window, top *topK) (total int, err error) {
	cursors := p.cursors(s)
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		base := uint32(math.MaxUint32)
		for _, term := range cursors {
			for _, c := range term {
				if c.at < len(c.docs) {
					base = min(base, c.docs[c.at])
				}
			}
		}
		if base == math.MaxUint32 {
			return total, nil
		}
		base &^= windowSize - 1
		for t, term := range cursors {
			p.addTerm(s, base, t, term, w)
		}
		total += p.collect(s, base, allow, w, top)
	}
}

// cursors returns for each term the cursors of its fields in segment s.
func (p *plan) cursors(s int) [][]cursor {
	all := make([]cursor, len(p.postings[s]))
	terms := make([][]cursor, len(p.terms))
	first := 0 // of a term
	for i, l := range p.postings[s] {
		all[i] = cursor{postings: l.postings, weight: p.fields[l.field].Weight}
		if i > 0 && l.term != p.postings[s][i-1].term {
			first = i
		}
		terms[l.term] = all[first : i+1]
	}
	return terms
}

// addTerm adds a term's scores to the window that begins at base.
func (p *plan) addTerm(s int, base uint32, t int, fields []cursor, w *window) {
	end := uint64(base) + windowSize
	w.touched = w.touched[:0]
	for i := range fields {
		c := &fields[i]
		for ; c.at < len(c.docs) && uint64(c.docs[c.at]) < end; c.at++ {
			at := c.docs[c.at] - base
			if w.tf[at] == 0 {
				w.touched = append(w.touched, uint16(at))
			}
			w.tf[at] += c.weight * float64(c.freq(c.at))
		}
	}
	term, lengths := &p.terms[t], &p.lengths[s]
	for _, at := range w.touched {
		w.score[at] += p.score(term, w.tf[at], lengths.at(base+uint32(at)))
		w.matched[at] = true
		w.tf[at] = 0
		if p.operator == And {
			w.terms[at] |= 1 << t
		}
	}
}

// collect moves what matches from the window to top, clears the window and returns the number of
// matches.
func (p *plan) collect(s int, base uint32, allow *roaring.Bitmap, w *window, top *topK) (total int) {
	seg := p.view.segments[s]
	for at, matched := range w.matched[:min(windowSize, len(seg.nos)-int(base))] {
		if !matched {
			continue
		}
		score := w.score[at]
		w.score[at], w.matched[at] = 0, false
		local := base + uint32(at)
		if p.operator == And {
			terms := w.terms[at]
			if w.terms[at] = 0; !p.all.met(terms) {
				continue
			}
		}
		no := seg.nos[local]
		if seg.isDeleted(local) || allow != nil && !allow.Contains(no) {
			continue
		}
		total++
		if top.all != nil {
			top.all.Add(no)
		}
		top.add(Hit{no, score})
	}
	return total
}
