package filter

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/searchd/index/geo"
)

// Within holds if a point of Field is in Area.
type Within struct {
	Field string
	Area  geo.Area
}

func (Within) sealed() {}

func (e Within) Match(values map[string]any) bool {
	return slices.ContainsFunc(Values(nil, values[e.Field]), func(v Value) bool {
		return v.Kind == Point && e.Area.Contains(v.Code().Point())
	})
}

func (e Within) String() string { return fieldName(e.Field) + " WITHIN " + e.Area.String() }

// Center returns the field and the center of the circles in e where they are all of the same; ok is
// false where there are none.
func Center(e Expr) (field string, at geo.Point, ok bool) {
	several := false
	each(e, func(e Expr) {
		w, _ := e.(Within)
		c, circle := w.Area.(geo.Circle)
		if circle {
			several = several || ok && (w.Field != field || c.Center != at)
			field, at, ok = w.Field, c.Center, true
		}
	})
	return field, at, ok && !several
}

// Code returns the position that v is, of kind Point.
func (v Value) Code() geo.Code { return geo.Code(v.Time) }

const (
	wantArea   = "a distance (5 km OF (48.9, 2.34)), BOX or POLYGON after WITHIN"
	boxForm    = "BOX ((49, 2.2), (48.8, 2.5)), the western corner first"
	maxDegrees = "a latitude of -90 to 90 and a longitude of -180 to 180"
)

// area = number unit "OF" point | ( "BOX" | "POLYGON" ) "(" point { "," point } ")"
func (p *parser) area(field string) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	var area geo.Area
	var err error
	switch at := p.tok.pos; {
	case p.tok.kind == tokNumber:
		area, err = p.circle()
	case p.isWord("BOX"):
		var corners []geo.Point
		if corners, err = p.points(); err == nil && len(corners) != 2 {
			err = &SyntaxError{Pos: at, Expected: "two corners", Found: fmt.Sprint(len(corners)), Hint: boxForm}
		}
		if err == nil {
			area = geo.NewBox(corners[0], corners[1])
		}
	case p.isWord("POLYGON"):
		var corners []geo.Point
		if corners, err = p.points(); err == nil {
			area, err = geo.NewPolygon(corners)
		}
		var syntax *SyntaxError
		if err != nil && !errors.As(err, &syntax) {
			err = &SyntaxError{Pos: at, Expected: err.Error()}
		}
	default:
		return nil, p.expected(wantArea)
	}
	return Within{Field: field, Area: area}, err
}

// circle reads 5 km OF (48.9, 2.34).
func (p *parser) circle() (geo.Area, error) {
	v, ok := ParseNumber(p.tok.text)
	if !ok || v.Num < 0 {
		return nil, p.expected("a distance of 0 or more")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	metres, ok := geo.Metres(p.tok.text)
	if !ok || p.tok.kind != tokField || math.IsInf(v.Num*metres, 0) {
		return nil, p.suggest(geo.Units+" after the distance", "5 km OF (48.9, 2.34)")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.isWord("OF") {
		return nil, p.suggest("OF after the distance", "5 km OF (48.9, 2.34)")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	center, err := p.point()
	return geo.Circle{Center: center, Radius: v.Num * metres}, err
}

// points reads points in parentheses.
func (p *parser) points() (points []geo.Point, err error) {
	word := p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokOpen {
		return nil, p.expected("( after " + word)
	}
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		one, err := p.point()
		if err != nil {
			return nil, err
		}
		points = append(points, one)
		switch p.tok.kind {
		case tokComma:
		case tokClose:
			return points, p.advance()
		default:
			return nil, p.expected(", or )")
		}
	}
}

// point reads (48.9, 2.34).
func (p *parser) point() (out geo.Point, err error) {
	const form = "a point, latitude first: (48.9, 2.34)"
	at := p.tok.pos
	for i, kind := range [...]tokenKind{tokOpen, tokNumber, tokComma, tokNumber, tokClose} {
		if p.tok.kind != kind {
			return out, p.expected(form)
		}
		switch v, _ := ParseNumber(p.tok.text); i {
		case 1:
			out.Lat = v.Num
		case 3:
			out.Lon = v.Num
		case 4:
			if swapped := (geo.Point{Lat: out.Lon, Lon: out.Lat}); !out.Valid() {
				err := &SyntaxError{Pos: at, Expected: maxDegrees, Found: out.String()}
				if swapped.Valid() {
					err.Hint = swapped.String() + ", latitude first"
				}
				return out, err
			}
		}
		if err := p.advance(); err != nil {
			return out, err
		}
	}
	return out, nil
}
