package filter

import (
	"fmt"
	"slices"
)

// Mismatches describes the comparisons of e that no value of documents like these can satisfy: the
// field has values of other kinds only. Fields that none of them has are left out.
func Mismatches(e Expr, documents []map[string]any) (out []string) {
	note := func(field string, v Value) {
		var kinds []Kind
		for _, d := range documents {
			for _, x := range Values(nil, d[field]) {
				kinds = append(kinds, x.Kind)
			}
		}
		if len(kinds) == 0 || slices.Contains(kinds, v.Kind) {
			return
		}
		have := fmt.Sprintf("%q has %ss, and %s is a %s", cut(field, 64), kinds[0], cut(v.String(), 64), v.Kind)
		switch kinds[0] {
		case Number, Bool:
			have += "; numbers, true and false are written without quotes"
		case String:
			have += "; strings are written in quotes"
		}
		if !slices.Contains(out, have) {
			out = append(out, have)
		}
	}
	each(e, func(e Expr) {
		switch e := e.(type) {
		case Compare:
			note(e.Field, e.Value)
		case In:
			for _, v := range e.Values {
				note(e.Field, v)
			}
		}
	})
	return out
}
