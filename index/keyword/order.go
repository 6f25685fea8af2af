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
)

// SortKey is a field to sort documents by, or with an empty Field their scores.
type SortKey struct {
	Field string
	Desc  bool
}

// Order returns the first k of docs (nil: all that the index holds) in the order of keys; equal
// ones by number.
//
//  1. Numbers come first, then dates, booleans and strings, and documents without a value last,
//     whichever the direction; Desc turns the order within each kind around. Strings are ordered
//     byte by byte.
//  2. A document with several values counts by its first kind, and of that by its smallest value,
//     with Desc by its largest.
//  3. The score is what by gives; it is asked only for documents that earlier keys leave equal.
//
// Numbers and dates are found by walking down their prefixes, so that the first k cost little
// however many there are. Of strings all that docs have are looked at, once for all documents that
// earlier keys leave equal; ErrQuery says that these are too many, that k is negative, or that by
// has no score for a key that wants one. Documents that the index does not hold have no values.
func (x *Index) Order(ctx context.Context, keys []SortKey, docs *roaring.Bitmap, k int, by Scorer) ([]uint32, error) {
	return x.order(ctx, keys, docs, k, by, func(*order) error { return nil })
}

// order is Order. It calls then once the documents are found, before the index may change.
func (x *Index) order(ctx context.Context, keys []SortKey, docs *roaring.Bitmap, k int, by Scorer, then func(o *order) error) ([]uint32, error) {
	if k < 0 {
		return nil, fmt.Errorf("%w: k is %d, must not be negative", ErrQuery, k)
	}
	if by.Query == nil && by.Known == nil && slices.ContainsFunc(keys, func(key SortKey) bool { return key.Field == "" }) {
		return nil, fmt.Errorf("%w: a key wants the score, and the Scorer has neither Query nor Known", ErrQuery)
	}
	o := &order{k: k}
	err := x.read(func(v *view) error {
		o.view, o.scores = v, by.Known
		if by.Query != nil {
			o.scores = func(nos []uint32) ([]float64, error) { return x.scores(ctx, v, *by.Query, nos) }
		}
		group := docGroup{locals: v.allowed(docs)}
		group.strangers = v.strangers(docs, group.locals)
		if err := o.sort(ctx, group, keys); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		o.out = o.out[:min(k, len(o.out))]
		return then(o)
	})
	if err != nil {
		return nil, err
	}
	return o.out, nil
}

// Scorer says what the scores of documents are: their BM25 for Query, or else what Known returns,
// in the order of nos. Known must not use the index, which is being read.
type Scorer struct {
	Query *Query
	Known func(nos []uint32) ([]float64, error)
}

// errEnough ends an order that has its k documents.
var errEnough = errors.New("enough")

// docGroup is a set of documents: local numbers by segment, and the numbers of those in no segment.
type docGroup struct {
	locals    []*roaring.Bitmap // nil where there are none
	strangers *roaring.Bitmap   // nil where there are none
}

// size counts the documents.
func (g docGroup) size() (n int) {
	for _, l := range g.locals {
		if l != nil {
			n += int(l.GetCardinality())
		}
	}
	if g.strangers != nil {
		n += int(g.strangers.GetCardinality())
	}
	return n
}

// add adds the documents of another group of the same segments.
func (g *docGroup) add(other docGroup) {
	for i, l := range other.locals {
		switch {
		case l == nil:
		case g.locals[i] == nil:
			g.locals[i] = l.Clone()
		default:
			g.locals[i].Or(l)
		}
	}
	if other.strangers != nil {
		g.strangers.Or(other.strangers)
	}
}

// order is one Order under way.
type order struct {
	view   *view
	k      int
	scores func(nos []uint32) ([]float64, error)
	out    []uint32
}

// sort appends the documents of a group in the order of keys; errEnough once there are k.
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
	left := docGroup{locals: make([]*roaring.Bitmap, len(g.locals)), strangers: g.strangers}
	for i, l := range g.locals {
		if l != nil {
			left.locals[i] = l.Clone()
		}
	}
	w := walk{order: o, field: keys[0].Field, desc: keys[0].Desc, ties: ties{order: o, rest: keys[1:]}, left: left}
	for _, f := range []func(context.Context) error{
		func(ctx context.Context) error { return w.prefixes(ctx, termNumber, 0, 0, w.left.locals, math.MaxInt) },
		func(ctx context.Context) error { return w.prefixes(ctx, termDate, 0, 0, w.left.locals, math.MaxInt) },
		func(ctx context.Context) error { return w.terms(ctx, all(termBool), w.left.locals) },
		func(ctx context.Context) error { return w.terms(ctx, all(termString), w.left.locals) },
	} {
		if err := f(ctx); err != nil {
			return err
		}
	}
	if err := w.ties.add(ctx, w.left); err != nil {
		return err
	}
	return w.ties.end(ctx)
}

// ties are the groups of documents that a key leaves equal, in its order. A field's terms are
// looked through for all of them together: one by one that would be once for each group.
type ties struct {
	order *order
	rest  []SortKey // the keys that are left
	whole [][]uint32
	n     int      // documents in whole, all of which are among the first k
	equal docGroup // those of whole that are not alone in their group
}

// add takes the next group. Of one that goes beyond the first k only these are put in order.
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
			t.equal = docGroup{locals: make([]*roaring.Bitmap, len(g.locals)), strangers: roaring.New()}
		}
		t.equal.add(g)
	}
	if t.n == t.order.k-len(t.order.out) {
		return t.end(ctx)
	}
	return nil
}

// end appends the groups that were taken; errEnough once there are k.
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

// numbers returns the document numbers of a group, in order.
func (o *order) numbers(g docGroup) []uint32 {
	all := roaring.New()
	if g.strangers != nil {
		all.Or(g.strangers)
	}
	for i, l := range g.locals {
		if l != nil {
			o.view.segments[i].addNumbers(all, l)
		}
	}
	return all.ToArray()
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

// group makes a group of documents by their numbers.
func (o *order) group(nos []uint32) docGroup {
	g := docGroup{locals: make([]*roaring.Bitmap, len(o.view.segments)), strangers: roaring.New()}
nos:
	for _, no := range nos {
		for i, s := range o.view.segments {
			if local, ok := s.local(no); ok {
				if g.locals[i] == nil {
					g.locals[i] = roaring.New()
				}
				g.locals[i].Add(local)
				continue nos
			}
		}
		g.strangers.Add(no)
	}
	return g
}

// orderFew is how many documents may have a prefix for their values to be looked at one by one:
// each longer prefix costs an iterator in every segment, which for the last documents of a walk is
// many times what their values are.
var orderFew = 64

// fewTerms is how many values these documents may have between them: each may have a long list.
const fewTerms = 4096

// walk goes through the values of a field in order.
type walk struct {
	order *order
	field string
	desc  bool
	ties  ties
	left  docGroup // documents that no value has been met of
}

// prefixes goes through the numbers or dates that docs have and that begin with a prefix of n
// bytes; under is how many documents have one.
func (w *walk) prefixes(ctx context.Context, kind byte, n byte, prefix uint64, docs []*roaring.Bitmap, under int) error {
	if under <= orderFew {
		first, end := appendPrefix([]byte{kind, 8}, n, prefix), appendPrefix([]byte{kind, 8}, n, prefix+1)
		if prefix+1 == 1<<(8*n) {
			end = []byte{kind, 9}
		}
		found, ok, err := w.find(ctx, termRange{first, end}, docs, fewTerms)
		if err != nil {
			return err
		}
		if ok {
			return w.meetAll(ctx, found)
		}
	}
	if n == 7 && kind == termNumber && wide(prefix<<8) {
		return w.wide(ctx, prefix, docs)
	}
	var children [256][]*roaring.Bitmap
	var below [256]int // documents, those that are not in docs too
	for i, s := range w.order.view.segments {
		if docs[i] == nil || docs[i].IsEmpty() {
			continue
		}
		first := appendPrefix([]byte{kind, n + 1}, n, prefix)
		r := termRange{append(slices.Clone(first), 0), append(slices.Clone(first), 0xff, 0xff)}
		err := s.eachValue(ctx, w.field, []termRange{r}, func(term string, have termDocs) error {
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
		} else if err := w.meet(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// wide goes through the numbers that docs have and that begin with a prefix of seven bytes, where
// each eighth byte, that of a float64, is followed by those that tell its integers apart.
func (w *walk) wide(ctx context.Context, prefix uint64, docs []*roaring.Bitmap) error {
	edge := func(b int) []byte { return appendPrefix([]byte{termNumber, 8}, 8, prefix<<8+uint64(b)) }
	var there [256]bool
	for i, s := range w.order.view.segments {
		if docs[i] == nil || docs[i].IsEmpty() {
			continue
		}
		values, err := s.values(w.field)
		if err != nil {
			return err
		}
		for b := 0; b < 256; b++ { // from one that is there to the next
			next := 256
			err := values.each(ctx, termRange{edge(b), edge(256)}, func(term []byte) error {
				next = int(term[9])
				there[next] = true
				return errEnough
			})
			if err != nil && !errors.Is(err, errEnough) {
				return err
			}
			b = next
		}
	}
	for at := range there {
		b := at
		if w.desc {
			b = 255 - at
		}
		if there[b] {
			if err := w.terms(ctx, termRange{edge(b), edge(b + 1)}, docs); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendPrefix appends the n low bytes of prefix, the highest first.
func appendPrefix(dst []byte, n byte, prefix uint64) []byte {
	for i := int(n) - 1; i >= 0; i-- {
		dst = append(dst, byte(prefix>>(8*i)))
	}
	return dst
}

// all is the range of the terms that begin with a byte.
func all(kind byte) termRange { return termRange{[]byte{kind}, []byte{kind + 1}} }

// terms goes through the values of a range of terms that those of docs have which are left.
func (w *walk) terms(ctx context.Context, r termRange, docs []*roaring.Bitmap) error {
	found, _, err := w.find(ctx, r, docs, math.MaxInt)
	if err != nil {
		return err
	}
	return w.meetAll(ctx, found)
}

// find returns the values of a range of terms that those of docs have which are left, and who has
// each; false where more than most terms would have to be looked at.
func (w *walk) find(ctx context.Context, r termRange, docs []*roaring.Bitmap, most int) (found map[string][]*roaring.Bitmap, ok bool, err error) {
	found = map[string][]*roaring.Bitmap{}
	looked := 0
	for i, s := range w.order.view.segments {
		left := w.left.locals[i]
		if docs[i] == nil || docs[i].IsEmpty() || left == nil || left.IsEmpty() {
			continue
		}
		wanted := roaring.And(docs[i], left)
		var bits docBits
		if wanted.GetCardinality() > uint64(orderFew) {
			bits = bitsOf(wanted, len(s.nos))
		}
		err := s.eachValue(ctx, w.field, []termRange{r}, func(term string, have termDocs) error {
			if looked++; looked > most {
				return errEnough
			}
			meant := have.in(wanted, bits)
			if meant == nil {
				return nil
			}
			docs := found[term]
			if docs == nil {
				docs = make([]*roaring.Bitmap, len(w.left.locals))
				found[term] = docs
			}
			docs[i] = meant
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

// meetAll meets the documents of values in the order of these.
func (w *walk) meetAll(ctx context.Context, found map[string][]*roaring.Bitmap) error {
	names := slices.Sorted(maps.Keys(found))
	if w.desc {
		slices.Reverse(names)
	}
	for _, term := range names {
		if err := w.meet(ctx, found[term]); err != nil {
			return err
		}
	}
	return nil
}

// meet takes the documents of one value out of what is left; the other keys sort them.
func (w *walk) meet(ctx context.Context, docs []*roaring.Bitmap) error {
	g := docGroup{locals: docs}
	for i, d := range docs {
		if d != nil {
			d.And(w.left.locals[i])
			w.left.locals[i].AndNot(d)
		}
	}
	return w.ties.add(ctx, g)
}
