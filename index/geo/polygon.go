package geo

import (
	"errors"
	"math"
	"strings"
)

// Polygon has the points within a line through corners, whose edges are straight in degrees of
// latitude and longitude. An edge goes the shorter way round the earth, also over the 180th
// meridian. Points on an edge may be in or out.
type Polygon struct {
	corners []Point
	line    []Point // the corners, longitudes going on beyond 180 degrees, and the first again
	bounds  Rect    // of line
}

// The errors of NewPolygon.
var (
	ErrFewCorners = errors.New("a polygon has at least three corners, not on one line")
	ErrHalfway    = errors.New("an edge of a polygon spans less than 180 degrees of longitude; add a corner between")
	ErrPole       = errors.New("a polygon does not go round a pole; use a circle or a box")
)

// NewPolygon returns the polygon through corners. The last may be the first again.
func NewPolygon(corners []Point) (Polygon, error) {
	if n := len(corners); n > 1 && corners[0] == corners[n-1] {
		corners = corners[:n-1]
	}
	if len(corners) < 3 {
		return Polygon{}, ErrFewCorners
	}
	p := Polygon{corners: corners, line: []Point{corners[0]}}
	area := 0.0
	for i := range corners {
		from, to := p.line[i], corners[(i+1)%len(corners)]
		turn := math.Remainder(to.Lon-from.Lon, 360)
		if math.Abs(turn) == 180 {
			return Polygon{}, ErrHalfway
		}
		to.Lon = from.Lon + turn
		p.line = append(p.line, to)
		area += (from.Lon-corners[0].Lon)*(to.Lat-corners[0].Lat) - (to.Lon-corners[0].Lon)*(from.Lat-corners[0].Lat)
	}
	last := &p.line[len(corners)]
	if math.Abs(last.Lon-corners[0].Lon) > 180 {
		return Polygon{}, ErrPole
	}
	if *last = corners[0]; area == 0 {
		return Polygon{}, ErrFewCorners
	}
	p.bounds = Rect{90, math.Inf(1), -90, math.Inf(-1)}
	for _, c := range p.line {
		p.bounds.South, p.bounds.North = min(p.bounds.South, c.Lat), max(p.bounds.North, c.Lat)
		p.bounds.West, p.bounds.East = min(p.bounds.West, c.Lon), max(p.bounds.East, c.Lon)
	}
	return p, nil
}

// Contains implements Area.
func (p Polygon) Contains(q Point) bool {
	for _, turn := range turns {
		if p.surrounds(Point{q.Lat, q.Lon + turn}) {
			return true
		}
	}
	return false
}

// turns are the degrees that may be added to the longitude of a point for it to be in line.
var turns = [...]float64{0, 360, -360}

// surrounds reports whether q is within the line: whether a ray to the east crosses it an odd
// number of times.
func (p Polygon) surrounds(q Point) bool {
	if !p.bounds.contains(q) {
		return false
	}
	in := false
	for i, b := range p.line[1:] {
		a := p.line[i]
		if (a.Lat > q.Lat) != (b.Lat > q.Lat) && q.Lon < a.Lon+(q.Lat-a.Lat)/(b.Lat-a.Lat)*(b.Lon-a.Lon) {
			in = !in
		}
	}
	return in
}

// Relate implements Area.
func (p Polygon) Relate(r Rect) Relation {
	relation := Outside
	for _, turn := range turns {
		moved := Rect{r.South, r.West + turn, r.North, r.East + turn}
		switch {
		case !moved.meets(p.bounds):
		case p.crosses(moved.grown(1e-9)):
			return Mixed
		case p.surrounds(Point{(moved.South + moved.North) / 2, (moved.West + moved.East) / 2}):
			relation = Inside
		}
	}
	return relation
}

// crosses reports whether an edge has a point in r.
func (p Polygon) crosses(r Rect) bool {
	for i, b := range p.line[1:] {
		if a := p.line[i]; clipped(a, b, r) {
			return true
		}
	}
	return false
}

// clipped reports whether the segment from a to b has a part in r (Liang and Barsky, 1984).
func clipped(a, b Point, r Rect) bool {
	from, to := 0.0, 1.0
	clip := func(change, room float64) bool { // the part where change·t <= room
		switch t := room / change; {
		case change == 0:
			return room >= 0
		case change < 0:
			from = max(from, t)
		default:
			to = min(to, t)
		}
		return from <= to
	}
	x, y := b.Lon-a.Lon, b.Lat-a.Lat
	return clip(-x, a.Lon-r.West) && clip(x, r.East-a.Lon) && clip(-y, a.Lat-r.South) && clip(y, r.North-a.Lat)
}

// String implements Area.
func (p Polygon) String() string {
	parts := make([]string, len(p.corners))
	for i, c := range p.corners {
		parts[i] = c.String()
	}
	return "POLYGON (" + strings.Join(parts, ", ") + ")"
}
