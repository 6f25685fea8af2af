package geo

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// chord returns the distance of two points by the angle between their unit vectors: the slow twin
// of [Point.Distance].
func chord(p, q Point) float64 {
	vector := func(p Point) [3]*big.Float {
		lat, lon := p.Lat*math.Pi/180, p.Lon*math.Pi/180
		return [3]*big.Float{big.NewFloat(math.Cos(lat) * math.Cos(lon)), big.NewFloat(math.Cos(lat) * math.Sin(lon)), big.NewFloat(math.Sin(lat))}
	}
	sum := new(big.Float)
	for i, a := range vector(p) {
		d := new(big.Float).Sub(a, vector(q)[i])
		sum.Add(sum, d.Mul(d, d))
	}
	half, _ := sum.Sqrt(sum).Float64()
	return 2 * Radius * math.Asin(min(half/2, 1))
}

// points draws points anywhere, and often at poles, at the 180th meridian or near one another.
func points(t *rapid.T, name string) Point {
	if rapid.Bool().Draw(t, name+" on an edge") {
		return Point{rapid.SampledFrom([]float64{-90, -89.9999, -0.001, 0, 0.001, 45, 89.9999, 90}).Draw(t, name+" lat"),
			rapid.SampledFrom([]float64{-180, -179.9999, -0.001, 0, 0.001, 90, 179.9999, 180}).Draw(t, name+" lon")}
	}
	return Point{rapid.Float64Range(-90, 90).Draw(t, name+" lat"), rapid.Float64Range(-180, 180).Draw(t, name+" lon")}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to Point
		want     float64
	}{
		{"the same", Point{48.9, 2.34}, Point{48.9, 2.34}, 0},
		{"Paris to London", Point{48.8566, 2.3522}, Point{51.5074, -0.1278}, 343_556},
		{"pole to pole", Point{90, 7}, Point{-90, -33}, math.Pi * Radius},
		{"over the 180th meridian", Point{0, 179.5}, Point{0, -179.5}, math.Pi * Radius / 180},
		{"half the equator", Point{0, 0}, Point{0, 180}, math.Pi * Radius},
	} {
		if got := tt.from.Distance(tt.to); math.Abs(got-tt.want) > 1 {
			t.Errorf("%s: %v to %v is %.1f m, want %.1f", tt.name, tt.from, tt.to, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, q := points(t, "p"), points(t, "q")
		got, want := p.Distance(q), chord(p, q)
		if math.Abs(got-want) > 1e-7*Radius || got != q.Distance(p) {
			t.Fatalf("%v to %v: %v m, back %v, want %v", p, q, got, q.Distance(p), want)
		}
	})
}

func TestCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := points(t, "p")
		c := p.Code()
		q := c.Point()
		if d := chord(p, q); !q.Valid() || d > 0.008 || q.Code() != c { // half a step of both
			t.Fatalf("%v becomes %v, %v m away, with the code %x, want %x", p, q, d, q.Code(), c)
		}
		n := rapid.IntRange(0, 8).Draw(t, "n")
		if r := Cell(uint64(c)>>(64-8*n), n); !r.contains(q) {
			t.Fatalf("the cell of %d bytes %v lacks %v", n, r, q)
		}
	})
}

// areas draws an area.
func areas(t *rapid.T) Area {
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return Circle{points(t, "center"), math.Pow(10, rapid.Float64Range(-1, 7.4).Draw(t, "radius"))}
	case 1:
		return NewBox(points(t, "west"), points(t, "east"))
	}
	p := rapid.Custom(func(t *rapid.T) Area {
		corners := make([]Point, rapid.IntRange(3, 6).Draw(t, "corners"))
		for i := range corners {
			corners[i] = points(t, "corner")
		}
		if p, err := NewPolygon(corners); err == nil {
			return p
		}
		return nil
	})
	return p.Filter(func(a Area) bool { return a != nil }).Draw(t, "polygon")
}

// TestRelate compares the relation of areas to cells with the points of cells that they contain.
func TestRelate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := areas(t)
		for range 20 {
			p := points(t, "p")
			n := rapid.IntRange(0, 7).Draw(t, "n")
			r := Cell(uint64(p.Code())>>(64-8*n), n)
			inside := a.Contains(p.Code().Point())
			if got := a.Relate(r); got == Inside && !inside || got == Outside && inside {
				t.Fatalf("%v contains %v: %v, but is %v to its cell %v", a, p, inside, got, r)
			}
		}
	})
}

func TestAreas(t *testing.T) {
	polygon := func(corners ...Point) Area {
		p, err := NewPolygon(corners)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	fiji := polygon(Point{-16, 177}, Point{-16, -178}, Point{-20, -178}, Point{-20, 177})
	for _, tt := range []struct {
		name string
		area Area
		at   Point
		want bool
	}{
		{"circle", Circle{Point{48.9, 2.34}, 1000}, Point{48.9, 2.3536}, true},
		{"circle, beyond", Circle{Point{48.9, 2.34}, 1000}, Point{48.9, 2.3538}, false},
		{"circle of nothing", Circle{Point{48.9, 2.34}, 0}, Point{48.9, 2.34}.Code().Point(), true},
		{"circle over the 180th meridian", Circle{Point{-17, 179.9}, 50_000}, Point{-17, -179.9}, true},
		{"circle round a pole", Circle{Point{89.9, 0}, 30_000}, Point{89.9, 180}, true},
		{"box", NewBox(Point{49, 2.2}, Point{48.8, 2.5}), Point{48.9, 2.34}, true},
		{"box, the other corners", NewBox(Point{48.8, 2.2}, Point{49, 2.5}), Point{48.9, 2.34}, true},
		{"box, beyond", NewBox(Point{49, 2.2}, Point{48.8, 2.5}), Point{48.9, 2.51}, false},
		{"box on its edge", NewBox(Point{49, 2.2}, Point{48.8, 2.5}), Point{49, 2.5}.Code().Point(), true},
		{"box over the 180th meridian", NewBox(Point{-16, 177}, Point{-20, -178}), Point{-17, -179}, true},
		{"box over the 180th meridian, beyond", NewBox(Point{-16, 177}, Point{-20, -178}), Point{-17, 0}, false},
		{"polygon over the 180th meridian, west", fiji, Point{-17, 178}, true},
		{"polygon over the 180th meridian, east", fiji, Point{-17, -179}, true},
		{"polygon over the 180th meridian, beyond", fiji, Point{-17, 0}, false},
		{"notch of a polygon", polygon(Point{0, 0}, Point{0, 10}, Point{10, 10}, Point{1, 5}, Point{10, 0}), Point{5, 5}, false},
	} {
		if got := tt.area.Contains(tt.at); got != tt.want {
			t.Errorf("%s: %v contains %v: %v, want %v", tt.name, tt.area, tt.at, got, tt.want)
		}
	}
	for _, tt := range []struct {
		name    string
		corners []Point
		want    error
	}{
		{"two corners", []Point{{0, 0}, {1, 1}, {0, 0}}, ErrFewCorners},
		{"a line", []Point{{0, 0}, {1, 1}, {2, 2}}, ErrFewCorners},
		{"half the earth", []Point{{0, 0}, {1, 180}, {2, 2}}, ErrHalfway},
		{"a pole", []Point{{80, 0}, {80, 120}, {80, -120}}, ErrPole},
	} {
		if _, err := NewPolygon(tt.corners); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestRead(t *testing.T) {
	paris := Point{48.9, 2.34}
	for _, tt := range []struct {
		text string
		want Point // the zero one: none
	}{
		{`{"lat": 48.9, "lon": 2.34}`, paris},
		{`{"lat": "48.9", "lng": "2.34", "city": "Paris"}`, paris},
		{`{"latitude": 48.9, "longitude": 2.34}`, paris},
		{`{"type": "Point", "coordinates": [2.34, 48.9]}`, paris},
		{`{"type": "Point", "coordinates": [2.34, 48.9, 35]}`, paris},
		{`[48.9, 2.34]`, paris},
		{`{"lat": 48.9}`, Point{}},
		{`{"lat": 148.9, "lon": 2.34}`, Point{}},
		{`{"lat": "NaN", "lon": 2.34}`, Point{}},
		{`{"lat": true, "lon": 2.34}`, Point{}},
		{`{"type": "Point", "coordinates": [[2.34, 48.9]]}`, Point{}},
		{`{"type": "LineString", "coordinates": [2.34, 48.9]}`, Point{}},
		{`[48.9, 2.34, 1]`, Point{}},
		{`"48.9, 2.34"`, Point{}},
	} {
		for _, numbers := range []bool{true, false} {
			dec := json.NewDecoder(strings.NewReader(tt.text))
			if numbers {
				dec.UseNumber()
			}
			var x any
			if err := dec.Decode(&x); err != nil {
				t.Fatal(err)
			}
			if got, ok := Read(x); ok != (tt.want != Point{}) || ok && got != tt.want {
				t.Errorf("Read(%s) = %v, %v, want %v", tt.text, got, ok, tt.want)
			}
		}
	}
	for text, want := range map[string]float64{"500m": 500, "5 km": 5000, "1e1mi": 16093.44, "0m": 0} {
		if got, ok := Length(text); !ok || got != want {
			t.Errorf("Length(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "km", "5", "5 miles", "x5km", "1e308km", "NaNkm"} {
		if got, ok := Length(text); ok {
			t.Errorf("Length(%q) = %v, want none", text, got)
		}
	}
}
