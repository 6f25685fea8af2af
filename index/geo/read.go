package geo

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The names of the members of an object that is a point.
var (
	latNames = [...]string{"lat", "latitude"}
	lonNames = [...]string{"lon", "lng", "longitude"}
)

// Of returns the point that an object of JSON is: {"lat": 48.9, "lon": 2.34}, also with latitude,
// and with lng or longitude, other members aside; or as GeoJSON has it, longitude first:
// {"type": "Point", "coordinates": [2.34, 48.9]}. Numbers may be strings. ok is false for any other
// object and for degrees out of range.
func Of(object map[string]any) (p Point, ok bool) {
	if list, _ := object["coordinates"].([]any); object["type"] == "Point" && (len(list) == 2 || len(list) == 3) { // the third is the height
		return degrees(list[1], list[0])
	}
	if len(object) < 2 {
		return p, false
	}
	return degrees(first(object, latNames[:]), first(object, lonNames[:]))
}

// Read returns the point that x is: an object as in [Of], or a list of latitude and longitude.
func Read(x any) (p Point, ok bool) {
	switch x := x.(type) {
	case map[string]any:
		return Of(x)
	case Point:
		return x, x.Valid()
	case []any:
		if len(x) == 2 {
			return degrees(x[0], x[1])
		}
	case []float64:
		if len(x) == 2 {
			return degrees(x[0], x[1])
		}
	}
	return p, false
}

// first returns the value of the first of names that object has; nil if none.
func first(object map[string]any, names []string) any {
	for _, name := range names {
		if v, ok := object[name]; ok {
			return v
		}
	}
	return nil
}

func degrees(lat, lon any) (p Point, ok bool) {
	a, okLat := float(lat)
	b, okLon := float(lon)
	p = Point{a, b}
	return p, okLat && okLon && p.Valid()
}

func float(x any) (float64, bool) {
	text := ""
	switch x := x.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	case json.Number:
		text = string(x)
	case string:
		text = x
	default:
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// units are the metres of each unit of length.
var units = map[string]float64{"m": 1, "km": 1000, "mi": 1609.344}

// Units names the units of length.
const Units = "m, km or mi"

// Metres returns the metres of a unit of length.
func Metres(unit string) (float64, bool) {
	m, ok := units[unit]
	return m, ok
}

// Length returns the metres of a length such as 500m, 5 km or 3mi.
func Length(text string) (float64, bool) {
	end := len(text)
	for end > 0 && 'a' <= text[end-1] && text[end-1] <= 'z' {
		end--
	}
	unit, ok := units[text[end:]]
	n, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	return n * unit, ok && err == nil && n*unit < math.Inf(1)
}
