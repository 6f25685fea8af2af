package remote

import (
	"errors"
	"fmt"
	"math"

	"searchd/index/filter"
	"searchd/search/backend"
)

// maxNesting is how deep the expressions of a filter that is read may lie in one another: more than those of the longest filter do, each pair of whose
// parentheses may be an AND in an OR in a NOT.
const maxNesting = 4 * filter.MaxDepth

// part is an expression without those in it, which follow. A filter is a list of them, so that reading one needs no more depth than it is allowed.
type part struct {
	Is     string  `json:"is"`              // and, or, not, compare, in, exists, of_id
	Count  int     `json:"count,omitempty"` // of and, or: how many follow
	Field  text    `json:"field,omitempty"`
	Op     string  `json:"op,omitempty"`
	Values []value `json:"values,omitempty"`
	IDs    []text  `json:"ids,omitempty"`
}

// value is a [filter.Value].
type value struct {
	Kind filter.Kind `json:"kind"`
	Str  text        `json:"str,omitempty"`
	Num  float64     `json:"num,omitempty"`
	Off  int16       `json:"off,omitempty"`
	Time int64       `json:"time,omitempty"`
}

func valueOf(v filter.Value) value {
	return value{Kind: v.Kind, Str: text(v.Str), Num: v.Num, Off: v.Off, Time: v.Time}
}

func (v value) value() (filter.Value, error) {
	if v.Kind > filter.Opaque || v.Off < -filter.MaxOff || v.Off > filter.MaxOff {
		return filter.Value{}, fmt.Errorf("%w: a value of kind %d, %d off: allowed: kinds to %d, %d off", backend.ErrInvalid, v.Kind, v.Off, filter.Opaque, filter.MaxOff)
	}
	return filter.Value{Kind: v.Kind, Str: string(v.Str), Num: v.Num, Off: v.Off, Time: v.Time}, nil
}

func optionalOf(v *filter.Value) *value {
	if v == nil {
		return nil
	}
	out := valueOf(*v)
	return &out
}

func (v *value) optional() (*filter.Value, error) {
	if v == nil {
		return nil, nil
	}
	out, err := v.value()
	return &out, err
}

// partsOf appends an expression, nil being none, to a list.
func partsOf(list []part, e filter.Expr) ([]part, error) {
	all := func(list []part, es []filter.Expr) (_ []part, err error) {
		for _, e := range es {
			if list, err = partsOf(list, e); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	switch e := e.(type) {
	case nil:
		return list, nil
	case filter.And:
		return all(append(list, part{Is: "and", Count: len(e)}), e)
	case filter.Or:
		return all(append(list, part{Is: "or", Count: len(e)}), e)
	case filter.Not:
		return partsOf(append(list, part{Is: "not"}), e.Expr)
	case filter.Compare:
		return append(list, part{Is: "compare", Field: text(e.Field), Op: e.Op.String(), Values: []value{valueOf(e.Value)}}), nil
	case filter.In:
		return append(list, part{Is: "in", Field: text(e.Field), Values: convert(e.Values, valueOf)}), nil
	case filter.Exists:
		return append(list, part{Is: "exists", Field: text(e.Field)}), nil
	case filter.OfID:
		return append(list, part{Is: "of_id", Field: text(e.Own.Field), Values: convert(e.Own.Values, valueOf), IDs: textsOf(e.IDs)}), nil
	}
	return nil, fmt.Errorf("%w: a filter with a %T cannot be sent", backend.ErrInvalid, e)
}

// expression reads the expression of a list of parts; nil where there are none.
func expression(list []part) (filter.Expr, error) {
	if len(list) == 0 {
		return nil, nil
	}
	r := parts{left: list}
	e, err := r.next(0)
	if err == nil && len(r.left) > 0 {
		err = fmt.Errorf("%d parts follow the filter", len(r.left))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: filter: %w", backend.ErrInvalid, err)
	}
	return e, nil
}

// parts reads expressions from a list.
type parts struct{ left []part }

func (r *parts) next(depth int) (filter.Expr, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested more than %d deep", maxNesting)
	}
	if len(r.left) == 0 {
		return nil, errors.New("it ends too early")
	}
	p := r.left[0]
	r.left = r.left[1:]
	switch p.Is {
	case "and", "or":
		if p.Count < 1 || p.Count > len(r.left) {
			return nil, fmt.Errorf("%s of %d: allowed: 1 to the %d that follow", p.Is, p.Count, len(r.left))
		}
		list := make([]filter.Expr, p.Count)
		for i := range list {
			var err error
			if list[i], err = r.next(depth + 1); err != nil {
				return nil, err
			}
		}
		if p.Is == "and" {
			return filter.And(list), nil
		}
		return filter.Or(list), nil
	case "not":
		e, err := r.next(depth + 1)
		return filter.Not{Expr: e}, err
	}
	return p.condition()
}

// condition returns an expression without others in it.
func (p part) condition() (filter.Expr, error) {
	values, err := parse(p.Values, literal)
	if err != nil {
		return nil, err
	}
	field := string(p.Field)
	switch p.Is {
	case "compare":
		if len(values) != 1 {
			return nil, fmt.Errorf("a comparison with %d values: allowed: 1", len(values))
		}
		for op := filter.Equal; op <= filter.GreaterOrEqual; op++ {
			if op.String() == p.Op {
				return filter.Compare{Field: field, Op: op, Value: values[0]}, nil
			}
		}
		return nil, fmt.Errorf("op %.40q: allowed: = != < <= > >=", p.Op)
	case "in":
		return filter.In{Field: field, Values: values}, nil
	case "exists":
		return filter.Exists{Field: field}, nil
	case "of_id":
		return filter.OfID{Own: filter.In{Field: field, Values: values}, IDs: stringsOf(p.IDs)}, nil
	}
	return nil, fmt.Errorf("expression %.40q: allowed: and, or, not, compare, in, exists, of_id", p.Is)
}

// literal returns a value that a filter may name.
func literal(v value) (filter.Value, error) {
	if v.Kind == filter.Opaque || math.IsNaN(v.Num) {
		return filter.Value{}, fmt.Errorf("a value of kind %s: allowed: a string, a number, a boolean, a date", v.Kind)
	}
	return v.value()
}
