package search

import (
	"math"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
	"example.com/searchd/search/backend"
)

// pointForm is how a query names a point.
const pointForm = `a point of latitude -90 to 90 and longitude -180 to 180: [48.9, 2.34] or {"lat": 48.9, "lon": 2.34}`

// origin is a place from which the distances of hits are shown.
type origin struct {
	field string
	at    geo.Point
}

// measure asks for the distances of hits from a place, unless there is one already: that of the
// sort comes before those of boosts and of the filter.
func (p *plan) measure(field string, at geo.Point) {
	if p.origin == nil {
		p.origin = &origin{field, at}
	}
}

// measureFilter is measure of the center of a circle in the filter, where it has one.
func (p *plan) measureFilter() {
	if p.asked == nil {
		return
	}
	if field, at, ok := filter.Center(p.asked); ok {
		p.measure(field, at)
	}
}

// distances returns the metres to the nearest of the points of each of n documents, nil for one
// that has none.
func (p *plan) distances(n int, points [][]backend.Point) []*float64 {
	out := make([]*float64, n)
	if p.origin == nil {
		return out
	}
	for _, x := range points[0] {
		d := math.Round(p.origin.at.Distance(x.At.Point())*100) / 100 // points are not more accurate
		if out[x.Index] == nil || d < *out[x.Index] {
			out[x.Index] = &d
		}
	}
	return out
}
