package keyword

import (
	"context"
	"fmt"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// MaxHits is the largest k of Search.
const MaxHits = 100_000

// Hit is a document found, with its BM25.
type Hit struct {
	No    uint32
	Score float64
}

// Found is what Find finds.
type Found struct {
	Hits  []Hit
	Total int             // documents found, beyond the first k too
	All   *roaring.Bitmap // all of them; nil unless asked for

	// Ceiling is a score that no document can exceed: what one would have that repeats every term
	// of the query endlessly. Terms that no document has count too, so that the share of the
	// ceiling that a score reaches says how much of the query it covers. A whole name that no
	// document has does not: its parts say as much.
	Ceiling float64
}

// Search returns the k documents with the highest scores among those that q finds and allow holds
// (nil: all), best first and equal scores by number, and how many there are in total. A query
// without terms finds nothing.
func (x *Index) Search(ctx context.Context, q Query, k int, allow *roaring.Bitmap) (hits []Hit, total int, err error) {
	found, err := x.Find(ctx, q, k, allow, false)
	return found.Hits, found.Total, err
}

// Find is Search that also tells what no score can exceed and, with all, all documents found.
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

// search adds the documents of all segments to top and returns how many match. A window that an
// error or a panic leaves with sums in it is not used again.
func (p *plan) search(ctx context.Context, allow *roaring.Bitmap, top *topK) (total int, err error) {
	w := windows.Get().(*window)
	for s := range p.view.segments {
		n, err := p.searchSegment(ctx, s, allow, w, top)
		if err != nil {
			return 0, err
		}
		total += n
	}
	windows.Put(w)
	return total, nil
}

// windowSize is the number of documents whose scores are summed up together: their sums fit the
// first-level cache.
const windowSize = 2048

// window has the sums of documents base to base+windowSize of a segment.
type window struct {
	score   [windowSize]float64
	tf      [windowSize]float64 // of one term, over its fields
	matched [windowSize]bool    // whether a term was found
	terms   [windowSize]uint64  // those found, where And asks for some
	touched []uint16            // those with tf
}

var windows = sync.Pool{New: func() any { return &window{touched: make([]uint16, 0, windowSize)} }}

// cursor walks through the postings of a term in a field.
type cursor struct {
	it     segment.PostingsIterator
	doc    uint32
	tf     uint64
	done   bool
	weight float64
}

func (c *cursor) next() error {
	p, err := c.it.Next()
	if err != nil {
		return err
	}
	if p == nil {
		c.done = true
		return nil
	}
	c.doc, c.tf = uint32(p.Number()), p.Frequency()
	return nil
}

// searchSegment adds the documents of segment s to top and returns how many match.
//
//  1. Take the next window in which a term occurs.
//  2. For each term in the order of the query, add its scores to the window's: so each sum has one
//     order, and equals what Score gives, to the last bit.
//  3. Count and keep the documents that match, are allowed and not deleted.
func (p *plan) searchSegment(ctx context.Context, s int, allow *roaring.Bitmap, w *window, top *topK) (total int, err error) {
	cursors, err := p.cursors(s)
	if err != nil {
		return 0, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		base, more := uint32(0), false
		for _, term := range cursors {
			for i := range term {
				if !term[i].done && (!more || term[i].doc < base) {
					base, more = term[i].doc, true
				}
			}
		}
		if !more {
			return total, nil
		}
		base &^= windowSize - 1
		for t, term := range cursors {
			if err := p.addTerm(s, base, t, term, w); err != nil {
				return 0, err
			}
		}
		total += p.collect(s, base, allow, w, top)
	}
}

// cursors returns for each term the cursors of its fields that have postings in segment s, each at
// its first.
func (p *plan) cursors(s int) ([][]cursor, error) {
	all := make([]cursor, len(p.postings[s]))
	terms := make([][]cursor, len(p.terms))
	first := 0 // of a term
	for i, l := range p.postings[s] {
		all[i] = cursor{it: l.list.Iterator(true, false, false, nil), weight: p.fields[l.field].Weight}
		if err := all[i].next(); err != nil {
			return nil, err
		}
		if i > 0 && l.term != p.postings[s][i-1].term {
			first = i
		}
		terms[l.term] = all[first : i+1]
	}
	return terms, nil
}

// addTerm adds a term's scores to the window that begins at base.
func (p *plan) addTerm(s int, base uint32, t int, fields []cursor, w *window) error {
	term := &p.terms[t]
	end := uint64(base) + windowSize
	w.touched = w.touched[:0]
	for i := range fields {
		c := &fields[i]
		for !c.done && uint64(c.doc) < end {
			at := c.doc - base
			if w.tf[at] == 0 {
				w.touched = append(w.touched, uint16(at))
			}
			w.tf[at] += c.weight * float64(c.tf)
			if err := c.next(); err != nil {
				return err
			}
		}
	}
	lengths := &p.lengths[s]
	for _, at := range w.touched {
		w.score[at] += p.score(term, w.tf[at], lengths.at(base+uint32(at)))
		w.matched[at] = true
		w.tf[at] = 0
		if p.operator == And {
			w.terms[at] |= 1 << t
		}
	}
	return nil
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
			if w.terms[at] = 0; !p.need.met(terms) {
				continue
			}
		}
		if seg.deleted != nil && seg.deleted.Contains(local) {
			continue
		}
		no := seg.nos[local]
		if allow != nil && !allow.Contains(no) {
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
