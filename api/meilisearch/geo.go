package meilisearch

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"example.com/searchd/search"
)

// geoField is the attribute that has the place of a document.
const geoField = "_geo"

// radius reads _geoRadius(lat, lng, metres), also with a resolution, which circles do not need.
func (p *filterParser) radius() (string, bool) {
	if !p.accept("_geoRadius") {
		return "", false
	}
	n := p.numbers("(", ")")
	if p.err == nil && len(n) != 3 && len(n) != 4 || len(n) > 2 && n[2] < 0 {
		return p.fail("_geoRadius(latitude, longitude, metres)"), true
	}
	if p.err != nil {
		return "", true
	}
	return fmt.Sprintf("%s WITHIN %s m OF %s", geoField, decimal(n[2]), pointText(n)), true
}

// boundingBox reads _geoBoundingBox([lat, lng], [lat, lng]), the corner in the north-east first.
func (p *filterParser) boundingBox() (string, bool) {
	if !p.accept("_geoBoundingBox") {
		return "", false
	}
	c := p.corners()
	if p.err == nil && len(c) != 2 {
		return p.fail("_geoBoundingBox([latitude, longitude], [latitude, longitude])"), true
	}
	if p.err != nil {
		return "", true
	}
	return fmt.Sprintf("%s WITHIN BOX (%s, %s)", geoField, pointText([]float64{c[0][0], c[1][1]}), pointText([]float64{c[1][0], c[0][1]})), true
}

// polygon reads _geoPolygon([lat, lng], [lat, lng], [lat, lng], ...).
func (p *filterParser) polygon() (string, bool) {
	if !p.accept("_geoPolygon") {
		return "", false
	}
	var parts []string
	for _, c := range p.corners() {
		parts = append(parts, pointText(c))
	}
	return fmt.Sprintf("%s WITHIN POLYGON (%s)", geoField, strings.Join(parts, ", ")), true
}

// corners reads points in brackets, in parentheses.
func (p *filterParser) corners() (points [][]float64) {
	if !p.accept("(") {
		p.fail("(")
	}
	for p.err == nil {
		point := p.numbers("[", "]")
		if p.err == nil && len(point) != 2 {
			p.fail("[latitude, longitude]")
		}
		points = append(points, point)
		if p.accept(")") {
			return points
		}
		if !p.accept(",") {
			p.fail(", or )")
		}
	}
	return nil
}

// numbers reads numbers in brackets.
func (p *filterParser) numbers(open, end string) (list []float64) {
	if !p.accept(open) {
		p.fail(open)
	}
	for p.err == nil {
		x, err := strconv.ParseFloat(p.word, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			p.fail("a number")
			return nil
		}
		list = append(list, x)
		p.next()
		if p.accept(end) {
			return list
		}
		if !p.accept(",") {
			p.fail(", or " + end)
		}
	}
	return nil
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func pointText(point []float64) string {
	return "(" + decimal(point[0]) + ", " + decimal(point[1]) + ")"
}

// geoKey reads a sort by _geoPoint(latitude, longitude).
func geoKey(text string) (k search.SortKey, ok bool) {
	keys, err := search.ParseSortKeys(text)
	if err != nil || len(keys) != 1 || keys[0].Field != "_geoPoint" || keys[0].Origin == nil {
		return k, false
	}
	keys[0].Field = geoField
	return keys[0], true
}

// sortParam reads the sort of a query string: keys with commas between them.
func sortParam(v url.Values) []string {
	if text := v.Get("sort"); text != "" {
		return search.SplitSortKeys(text)
	}
	return nil
}
