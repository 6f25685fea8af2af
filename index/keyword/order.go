package keyword

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/geo"
)

// SortKey is a field to sort documents by; an empty Field is the score.
type SortKey struct {
	Field  string
	Desc   bool
	Origin *geo.Point // not nil: by the distance of the field's points from it
}

// Order returns the first k of docs (nil: all) in the order of keys, equal ones by number.
//
//  1. Numbers come first, then dates, booleans, strings and documents without a value, in either
//     direction; Desc reverses the order within each kind. Strings are ordered byte by byte.
//  2. A document with several values counts by its first kind, and there by its smallest value, or
//     its largest with Desc.
//  3. With an Origin only points count, and of several the nearest, with Desc the farthest.
//  4. The scores are those of scorer, which are computed only for documents that earlier keys leave
//     equal.
//
// Numbers and dates are found along their prefixes, so that the first k are fast whatever their
// number. All strings of docs are read, once for all documents that earlier keys leave equal. Order
// returns ErrQuery if these are too many, if k is negative, or if scorer has no score for a key
// that needs it. Documents that the index does not have come last.
func (x *Index) Order(ctx context.Context, keys []SortKey, docs *roaring.Bitmap, k int, scorer Scorer) ([]uint32, error) {
	if k < 0 {
		return nil, fmt.Errorf("%w: k is %d, must not be negative", ErrQuery, k)
	}
	if scorer.Query == nil && scorer.Known == nil && slices.ContainsFunc(keys, func(key SortKey) bool { return key.Field == "" }) {
		return nil, fmt.Errorf("%w: a key needs the score, and the Scorer has neither Query nor Known", ErrQuery)
	}
	o := &order{k: k}
	err := x.read(func(v *view) error {
		o.view, o.scores = v, scorer.Known
		if scorer.Query != nil {
			o.scores = func(nos []uint32) ([]float64, error) { return x.scores(ctx, v, *scorer.Query, nos) }
		}
		group := docGroup{locals: v.allowed(docs)}
		group.unknown = v.unknown(docs, group.locals)
		if err := o.sort(ctx, group, keys); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		o.out = o.out[:min(k, len(o.out))]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o.out, nil
}

// Scorer gives documents their scores: their BM25 for Query, or else what Known returns in the
// order of nos. Known must not use the index.
type Scorer struct {
	Query *Query
	Known func(nos []uint32) ([]float64, error)
}

// errEnough ends an order that has its k documents.
var errEnough = errors.New("enough")

// order is a running Order.
type order struct {
	view   *view
	k      int
	scores func(nos []uint32) ([]float64, error)
	out    []uint32
}

// sort appends the documents of a group in the order of keys. It returns errEnough once there are
// k.
func (o *order) sort(ctx context.Context, g docGroup, keys []SortKey) error {
	if len(keys) == 0 {
		if o.out = append(o.out, o.numbers(g)...); len(o.out) >= o.k {
			return errEnough
		}
		return nil
	}
	if keys[0].Field == "" {
		return o.byScore(ctx, g, keys)
	}
	if keys[0].Origin != nil {
		return o.byDistance(ctx, g, keys)
	}
	left := docGroup{locals: make([]*roaring.Bitmap, len(g.locals)), unknown: g.unknown}
	for i, l := range g.locals {
		if l != nil {
			left.locals[i] = l.Clone()
		}
	}
	w := walk{order: o, field: keys[0].Field, desc: keys[0].Desc, ties: ties{order: o, rest: keys[1:]}, left: left}
	for _, kind := range []byte{termNumber, termDate} {
		if err := w.prefixes(ctx, kind, 0, 0, left.locals, math.MaxInt); err != nil {
			return err
		}
	}
	for _, kind := range []byte{termBool, termString} {
		if err := w.terms(ctx, termRange{[]byte{kind}, []byte{kind + 1}}, left.locals); err != nil {
			return err
		}
	}
	if err := w.ties.add(ctx, w.left); err != nil {
		return err
	}
	return w.ties.end(ctx)
}

// ties are the groups of documents that a key leaves equal, in its order. They are sorted by the
// other keys together, so that a field's terms are read once for all of them.
type ties struct {
	order *order
	rest  []SortKey // the other keys
	whole [][]uint32
	n     int      // documents in whole, all of which are among the first k
	equal docGroup // those of whole in groups of several
}

// add adds the next group. One that goes beyond the first k is sorted at once.
func (t *ties) add(ctx context.Context, g docGroup) error {
	n := g.size()
	if n == 0 {
		return nil
	}
	if len(t.rest) == 0 {
		return t.order.sort(ctx, g, nil)
	}
	if t.n+n > t.order.k-len(t.order.out) {
		if err := t.end(ctx); err != nil {
			return err
		}
		return t.order.sort(ctx, g, t.rest)
	}
	t.whole, t.n = append(t.whole, t.order.numbers(g)), t.n+n
	if n > 1 {
		if t.equal.locals == nil {
			t.equal = docGroup{locals: make([]*roaring.Bitmap, len(g.locals)), unknown: roaring.New()}
		}
		t.equal.add(g)
	}
	if t.n == t.order.k-len(t.order.out) {
		return t.end(ctx)
	}
	return nil
}

// end appends the groups that were added. It returns errEnough once there are k.
func (t *ties) end(ctx context.Context) error {
	place := map[uint32]int{}
	if n := t.equal.size(); n > 0 {
		o := &order{view: t.order.view, k: n, scores: t.order.scores}
		if err := o.sort(ctx, t.equal, t.rest); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for i, no := range o.out {
			place[no] = i
		}
	}
	out := &t.order.out
	for _, nos := range t.whole {
		slices.SortFunc(nos, func(a, b uint32) int { return cmp.Compare(place[a], place[b]) })
		*out = append(*out, nos...)
	}
	t.whole, t.n, t.equal = nil, 0, docGroup{}
	if len(*out) >= t.order.k {
		return errEnough
	}
	return nil
}

// byScore sorts a group by its scores.
func (o *order) byScore(ctx context.Context, g docGroup, keys []SortKey) error {
	nos := o.numbers(g)
	scores, err := o.scores(nos)
	if err != nil {
		return err
	}
	hits := make([]Hit, len(nos))
	for i, no := range nos {
		hits[i] = Hit{no, scores[i]}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		if keys[0].Desc {
			return cmp.Compare(b.Score, a.Score)
		}
		return cmp.Compare(a.Score, b.Score)
	})
	t := ties{order: o, rest: keys[1:]}
	for len(hits) > 0 {
		n := 1
		for n < len(hits) && hits[n].Score == hits[0].Score {
			n++
		}
		nos := make([]uint32, n)
		for i, h := range hits[:n] {
			nos[i] = h.No
		}
		if err := t.add(ctx, o.group(nos)); err != nil {
			return err
		}
		hits = hits[n:]
	}
	return t.end(ctx)
}

// fewDocs is the number of documents with a prefix from which on longer prefixes are followed;
// fewer documents have their values read at once. A longer prefix takes an iterator in every
// segment.
var fewDocs = 64

// maxFewTerms bounds the values read at once, as each document may have a long list of them.
const maxFewTerms = 4096

// walk goes through the values of a field in order.
type walk struct {
	order *order
	field string
	desc  bool
	ties  ties
	left  docGroup // documents without a value so far
}

// prefixes goes through the numbers or dates of docs that begin with a prefix of n bytes, which
// under documents have.
func (w *walk) prefixes(ctx context.Context, kind byte, n byte, prefix uint64, docs []*roaring.Bitmap, under int) error {
	if under <= fewDocs {
		first, end := appendPrefix([]byte{kind, 8}, n, prefix), appendPrefix([]byte{kind, 8}, n, prefix+1)
		if prefix+1 == 1<<(8*n) {
			end = []byte{kind, 9}
		}
		found, ok, err := w.find(ctx, termRange{first, end}, docs, maxFewTerms)
		if err != nil {
			return err
		}
		if ok {
			return w.takeAll(ctx, found)
		}
	}
	if n == 7 && kind == termNumber && wide(prefix<<8) {
		return w.wide(ctx, prefix, docs)
	}
	var children [256][]*roaring.Bitmap
	var below [256]int // documents, also those not in docs
	for i, s := range w.order.view.segments {
		if docs[i] == nil || docs[i].IsEmpty() {
			continue
		}
		err := s.eachValue(ctx, w.field, []termRange{childTerms(kind, n, prefix)}, func(term string, have termDocs) error {
			b := term[len(term)-1]
			below[b] += have.len()
			if have := have.in(docs[i], nil); have != nil {
				if children[b] == nil {
					children[b] = make([]*roaring.Bitmap, len(docs))
				}
				children[b][i] = have
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for at := range children {
		b := at
		if w.desc {
			b = 255 - at
		}
		child := children[b]
		if child == nil {
			continue
		}
		next := prefix<<8 | uint64(b)
		if n+1 < 8 {
			for i := range child {
				if child[i] != nil {
					child[i].And(w.left.locals[i])
				}
			}
			if err := w.prefixes(ctx, kind, n+1, next, child, below[b]); err != nil {
				return err
			}
		} else if err := w.take(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// wide goes through the numbers of docs that begin with a prefix of seven bytes where the eighth
// byte is followed by two that distinguish the integers of one float64.
func (w *walk) wide(ctx context.Context, prefix uint64, docs []*roaring.Bitmap) error {
	edge := func(b int) []byte { return appendPrefix([]byte{termNumber, 8}, 8, prefix<<8+uint64(b)) }
	var present [256]bool
	for i, s := range w.order.view.segments {
		if docs[i] == nil || docs[i].IsEmpty() {
			continue
		}
		values, err := s.values(w.field)
		if err != nil {
			return err
		}
		for b := 0; b < 256; b++ { // from one that is present to the next
			next := 256
			err := values.each(ctx, termRange{edge(b), edge(256)}, func(term []byte) error {
				next = int(term[9])
				present[next] = true
				return errEnough
			})
			if err != nil && !errors.Is(err, errEnough) {
				return err
			}
			b = next
		}
	}
	for at := range present {
		b := at
		if w.desc {
			b = 255 - at
		}
		if present[b] {
			if err := w.terms(ctx, termRange{edge(b), edge(b + 1)}, docs); err != nil {
				return err
			}
		}
	}
	return nil
}

// terms goes through the values in a range that documents of docs have, as far as they are left.
func (w *walk) terms(ctx context.Context, r termRange, docs []*roaring.Bitmap) error {
	found, _, err := w.find(ctx, r, docs, math.MaxInt)
	if err != nil {
		return err
	}
	return w.takeAll(ctx, found)
}

// find returns the values in a range that documents of docs have, as far as they are left, with
// these documents. ok is false if it would have to read more than most terms.
func (w *walk) find(ctx context.Context, r termRange, docs []*roaring.Bitmap, most int) (found map[string][]*roaring.Bitmap, ok bool, err error) {
	found = map[string][]*roaring.Bitmap{}
	read := 0
	for i, s := range w.order.view.segments {
		left := w.left.locals[i]
		if docs[i] == nil || docs[i].IsEmpty() || left == nil || left.IsEmpty() {
			continue
		}
		wanted := roaring.And(docs[i], left)
		var bits docBits
		if wanted.GetCardinality() > uint64(fewDocs) {
			bits = bitsOf(wanted, len(s.nos))
		}
		err := s.eachValue(ctx, w.field, []termRange{r}, func(term string, have termDocs) error {
			if read++; read > most {
				return errEnough
			}
			matching := have.in(wanted, bits)
			if matching == nil {
				return nil
			}
			docs := found[term]
			if docs == nil {
				docs = make([]*roaring.Bitmap, len(w.left.locals))
				found[term] = docs
			}
			docs[i] = matching
			if len(found) > MaxFacetValues {
				return tooManyValues(w.field, MaxFacetValues)
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return found, true, nil
}

// takeAll takes the documents of values in the order of the values.
func (w *walk) takeAll(ctx context.Context, found map[string][]*roaring.Bitmap) error {
	terms := slices.Sorted(maps.Keys(found))
	if w.desc {
		slices.Reverse(terms)
	}
	for _, term := range terms {
		if err := w.take(ctx, found[term]); err != nil {
			return err
		}
	}
	return nil
}

// take removes the documents of one value from what is left, to be sorted by the other keys.
func (w *walk) take(ctx context.Context, docs []*roaring.Bitmap) error {
	for i, d := range docs {
		if d != nil {
			d.And(w.left.locals[i])
			w.left.locals[i].AndNot(d)
		}
	}
	return w.ties.add(ctx, docGroup{locals: docs})
}
