package keyword

import "github.com/RoaringBitmap/roaring/v2"

// docGroup is a set of documents. Nil bitmaps are empty.
type docGroup struct {
	locals  []*roaring.Bitmap // by segment: local numbers
	unknown *roaring.Bitmap   // numbers of documents in no segment
}

func (g docGroup) size() (n int) {
	for _, l := range g.locals {
		if l != nil {
			n += int(l.GetCardinality())
		}
	}
	if g.unknown != nil {
		n += int(g.unknown.GetCardinality())
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
	if other.unknown != nil {
		g.unknown.Or(other.unknown)
	}
}

// unknown returns the documents of docs (nil: none) that are in no segment; locals has those that
// are.
func (v *view) unknown(docs *roaring.Bitmap, locals []*roaring.Bitmap) *roaring.Bitmap {
	known := roaring.New()
	if docs == nil {
		return known
	}
	n := uint64(0)
	for _, l := range locals {
		n += l.GetCardinality()
	}
	if n == docs.GetCardinality() { // all are known
		return known
	}
	for i, s := range v.segments {
		s.addNumbers(known, locals[i])
	}
	return roaring.AndNot(docs, known)
}

// numbers returns the document numbers of a group in order.
func (o *order) numbers(g docGroup) []uint32 {
	all := roaring.New()
	if g.unknown != nil {
		all.Or(g.unknown)
	}
	for i, l := range g.locals {
		if l != nil {
			o.view.segments[i].addNumbers(all, l)
		}
	}
	return all.ToArray()
}

// group returns documents as a group.
func (o *order) group(nos []uint32) docGroup {
	g := docGroup{locals: make([]*roaring.Bitmap, len(o.view.segments)), unknown: roaring.New()}
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
		g.unknown.Add(no)
	}
	return g
}
