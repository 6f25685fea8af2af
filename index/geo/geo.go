// Package geo has points on the earth, areas of it and distances, for filters and orders.
//
// Positions are rounded to a grid of 2^32 steps in each direction, which is within 6 mm, and named
// by a [Code], whose first bytes all points of a cell share. The earth is a sphere of the mean
// radius of WGS 84; distances are at most 0.6% off those on the ellipsoid.
package geo

import (
	"fmt"
	"math"
	"strconv"
)

// Radius is the mean radius of the earth in metres.
const Radius = 6_371_008.8

// Point is a position in degrees: Lat from -90 to 90, Lon from -180 to 180.
type Point struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// Valid reports whether p is a position.
func (p Point) Valid() bool { return math.Abs(p.Lat) <= 90 && math.Abs(p.Lon) <= 180 } // not NaN either

// String returns p as filters have it: (48.9, 2.34).
func (p Point) String() string { return "(" + number(p.Lat) + ", " + number(p.Lon) + ")" }

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Distance returns the metres between two points along the great circle, by the haversine formula.
func (p Point) Distance(q Point) float64 {
	const rad = math.Pi / 180
	lat, lon := math.Sin((q.Lat-p.Lat)*rad/2), math.Sin((q.Lon-p.Lon)*rad/2)
	h := lat*lat + math.Cos(p.Lat*rad)*math.Cos(q.Lat*rad)*lon*lon
	return 2 * Radius * math.Asin(math.Sqrt(min(h, 1)))
}

// Code is a point of the grid: the bits of its longitude and its latitude in turn, the highest
// first, so that the points of a cell have the same first bits.
type Code uint64

// steps is the number of steps of the grid in each direction.
const steps = 1<<32 - 1

// Code returns the point of the grid that is nearest to p, which must be valid.
func (p Point) Code() Code {
	lat, lon := math.Round((p.Lat+90)/180*steps), math.Round((p.Lon+180)/360*steps)
	return Code(interleave(uint32(lon))<<1 | interleave(uint32(lat)))
}

// Point returns the point of a code.
func (c Code) Point() Point {
	lat, lon := deinterleave(uint64(c)), deinterleave(uint64(c)>>1)
	return Point{float64(lat)/steps*180 - 90, float64(lon)/steps*360 - 180}
}

// interleave puts a zero before each bit.
func interleave(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// deinterleave takes every second bit, from the lowest.
func deinterleave(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// Rect is a rectangle of degrees that does not cross the 180th meridian, edges included.
type Rect struct{ South, West, North, East float64 }

// Cell returns the rectangle of the points whose codes begin with the n low bytes of prefix, n from
// 0 to 8.
func Cell(prefix uint64, n int) Rect {
	free := 64 - 8*n
	first := Code(prefix << free)
	last := first | Code(uint64(1)<<free-1)
	a, b := first.Point(), last.Point()
	return Rect{a.Lat, a.Lon, b.Lat, b.Lon}
}

func (r Rect) contains(p Point) bool {
	return r.South <= p.Lat && p.Lat <= r.North && r.West <= p.Lon && p.Lon <= r.East
}

func (r Rect) within(s Rect) bool {
	return s.South <= r.South && r.North <= s.North && s.West <= r.West && r.East <= s.East
}

func (r Rect) meets(s Rect) bool {
	return r.South <= s.North && s.South <= r.North && r.West <= s.East && s.West <= r.East
}

func (r Rect) grown(by float64) Rect {
	return Rect{r.South - by, r.West - by, r.North + by, r.East + by}
}

// reach returns a point of r and metres within which all others are.
func (r Rect) reach() (Point, float64) {
	const rad = math.Pi / 180
	nearest := 0.0 // the latitude nearest to the equator, where degrees of longitude are longest
	switch {
	case r.South > 0:
		nearest = r.South
	case r.North < 0:
		nearest = r.North
	}
	up, along := (r.North-r.South)/2, (r.East-r.West)/2*math.Cos(nearest*rad)
	return Point{(r.South + r.North) / 2, (r.West + r.East) / 2}, (up + along) * rad * Radius
}

// Relation is what the points of a rectangle are to an area.
type Relation uint8

// The relations. Mixed is also the answer where the others would take long to find out.
const (
	Mixed Relation = iota
	Inside
	Outside
)

// Area is a part of the earth's surface: a [Circle], a [Box] or a [Polygon].
type Area interface {
	// Contains reports whether p is in the area.
	Contains(p Point) bool
	// Relate reports whether all points of r are in the area, or none.
	Relate(r Rect) Relation
	// String returns the area as filters have it after WITHIN.
	String() string
}

// Circle has the points up to Radius metres from Center, and a centimetre, as points are rounded.
type Circle struct {
	Center Point
	Radius float64
}

const centimetre = 0.01

// Contains implements Area.
func (c Circle) Contains(p Point) bool { return c.Center.Distance(p) <= c.Radius+centimetre }

// Relate implements Area.
func (c Circle) Relate(r Rect) Relation {
	middle, reach := r.reach()
	const slack = 1 // metre: more than distances are computed wrong
	switch d := c.Center.Distance(middle); {
	case d-reach > c.Radius+slack:
		return Outside
	case d+reach < c.Radius-slack:
		return Inside
	}
	return Mixed
}

// String implements Area.
func (c Circle) String() string { return number(c.Radius) + " m OF " + c.Center.String() }

// Box has the points between two parallels and, from West eastwards to East, two meridians. With
// West above East it crosses the 180th meridian.
type Box struct{ North, West, South, East float64 }

// NewBox returns the box between a western and an eastern corner, one of them north of the other.
func NewBox(west, east Point) Box {
	return Box{max(west.Lat, east.Lat), west.Lon, min(west.Lat, east.Lat), east.Lon}
}

// halves returns the parts of b on both sides of the 180th meridian, grown by a step of the grid.
func (b Box) halves() []Rect {
	const step = 1e-7
	if b.West <= b.East {
		return []Rect{Rect{b.South, b.West, b.North, b.East}.grown(step)}
	}
	return []Rect{Rect{b.South, b.West, b.North, 180}.grown(step), Rect{b.South, -180, b.North, b.East}.grown(step)}
}

// Contains implements Area.
func (b Box) Contains(p Point) bool {
	for _, r := range b.halves() {
		if r.contains(p) {
			return true
		}
	}
	return false
}

// Relate implements Area.
func (b Box) Relate(r Rect) Relation {
	relation := Outside
	for _, half := range b.halves() {
		switch {
		case r.within(half):
			return Inside
		case r.meets(half):
			relation = Mixed
		}
	}
	return relation
}

// String implements Area.
func (b Box) String() string {
	return fmt.Sprintf("BOX (%v, %v)", Point{b.North, b.West}, Point{b.South, b.East})
}
