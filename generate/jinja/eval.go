package jinja

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

func (e literal) eval(*run) (any, error) { return e.value, nil }

func (e nameExpr) eval(r *run) (any, error) { return r.lookup(string(e)), nil }

func (e listExpr) eval(r *run) (any, error) {
	out := make([]any, len(e))
	for i, x := range e {
		var err error
		if out[i], err = x.eval(r); err != nil {
			return nil, err
		}
	}
	return out, r.spend(16 * len(out))
}

func (e dictExpr) eval(r *run) (any, error) {
	d := NewDict()
	for i := range e.keys {
		k, err := e.keys[i].eval(r)
		if err != nil {
			return nil, err
		}
		v, err := e.values[i].eval(r)
		if err != nil {
			return nil, err
		}
		d.Set(str(k), v)
	}
	return d, r.spend(len(d.keys))
}

func (e attribute) eval(r *run) (any, error) {
	of, err := e.of.eval(r)
	if err != nil {
		return nil, err
	}
	return member(of, e.name)
}

// member returns an attribute: a method, or the value of a key.
func member(of any, name string) (any, error) {
	switch v := of.(type) {
	case undefined:
		return nil, fmt.Errorf("%w: %s has no %q", ErrRender, kind(of), name)
	case *namespace:
		return item(v.Dict, name)
	case *Dict:
		if f, ok := dictMethods[name]; ok {
			return f(v), nil
		}
		return item(v, name)
	case string:
		if f, ok := stringMethods[name]; ok {
			return callable(func(r *run, args []any, named map[string]any) (any, error) { return f(r, v, args) }), nil
		}
	}
	return undefined(name), nil
}

func item(d *Dict, key string) (any, error) {
	if v, ok := d.values[key]; ok {
		return v, nil
	}
	return undefined(key), nil
}

func (e index) eval(r *run) (any, error) {
	of, err := e.of.eval(r)
	if err != nil {
		return nil, err
	}
	at, err := e.at.eval(r)
	if err != nil {
		return nil, err
	}
	if key, ok := at.(string); ok {
		if d, ok := of.(*Dict); ok {
			return item(d, key)
		}
		return member(of, key)
	}
	n, ok := at.(int64)
	list, err := elements(of)
	if _, none := of.(undefined); none || err != nil || !ok {
		return nil, fmt.Errorf("%w: %s has no element at %s", ErrRender, kind(of), kind(at))
	}
	if n < 0 {
		n += int64(len(list))
	}
	if n < 0 || n >= int64(len(list)) {
		return undefined(str(at)), nil
	}
	return list[n], nil
}

func (e slice) eval(r *run) (any, error) {
	of, err := e.of.eval(r)
	if err != nil {
		return nil, err
	}
	list, err := elements(of)
	if err != nil {
		return nil, err
	}
	bound := func(x expr, def int64) (int64, error) {
		if x == nil {
			return def, nil
		}
		v, err := x.eval(r)
		if err != nil || v == nil {
			return def, err
		}
		n, ok := v.(int64)
		if !ok {
			return 0, fmt.Errorf("%w: %s as the bound of a slice", ErrRender, kind(v))
		}
		return n, nil
	}
	step, err := bound(e.step, 1)
	if err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, fmt.Errorf("%w: a slice with step 0", ErrRender)
	}
	n := int64(len(list))
	lo, hi := int64(0), n // the range of bounds
	from, to := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
		from, to = n-1, -1
	}
	for _, b := range []struct {
		x   expr
		dst *int64
	}{{e.from, &from}, {e.to, &to}} {
		v, err := bound(b.x, math.MinInt64)
		if err != nil {
			return nil, err
		}
		if v == math.MinInt64 {
			continue
		}
		if v < 0 {
			v += n
		}
		*b.dst = max(lo, min(hi, v))
	}
	var out []any
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, list[i])
	}
	if err := r.spend(len(out)); err != nil {
		return nil, err
	}
	if _, ok := of.(string); ok {
		var sb strings.Builder
		for _, x := range out {
			sb.WriteString(x.(string))
		}
		return sb.String(), nil
	}
	return out, nil
}

// given evaluates the arguments of a call.
func (e call) given(r *run) (args []any, named map[string]any, err error) {
	for _, a := range e.args {
		v, err := a.eval(r)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, v)
	}
	named = map[string]any{}
	for i, a := range e.values {
		if named[e.names[i]], err = a.eval(r); err != nil {
			return nil, nil, err
		}
	}
	return args, named, nil
}

func (e call) eval(r *run) (any, error) {
	f, err := e.f.eval(r)
	if err != nil {
		return nil, err
	}
	args, named, err := e.given(r)
	if err != nil {
		return nil, err
	}
	g, ok := f.(callable)
	if !ok {
		return nil, fmt.Errorf("%w: %s is called", ErrRender, kind(f))
	}
	if r.depth++; r.depth > maxDepth {
		return nil, ErrLimit
	}
	v, err := g(r, args, named)
	r.depth--
	if err == nil {
		err = r.spend(size(v))
	}
	return v, err
}

// size is what spend counts for a value that was made.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return 16 * len(v)
	}
	return 1
}

func (e filter) eval(r *run) (any, error) {
	v, err := e.f.eval(r)
	if err != nil {
		return nil, err
	}
	args, named, err := e.given(r)
	if err != nil {
		return nil, err
	}
	v, err = applyFilter(r, e.name, v, args, named)
	if err == nil {
		err = r.spend(size(v))
	}
	return v, err
}

func (e test) eval(r *run) (any, error) {
	v, err := e.f.eval(r)
	if err != nil {
		return nil, err
	}
	args, _, err := e.given(r)
	if err != nil {
		return nil, err
	}
	ok, err := applyTest(e.name, v, args)
	return ok != e.not, err
}

func (e unary) eval(r *run) (any, error) {
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	if e.op == "not" {
		return !truth(v), nil
	}
	sign := int64(1)
	if e.op == "-" {
		sign = -1
	}
	switch v := v.(type) {
	case int64:
		return sign * v, nil
	case float64:
		return float64(sign) * v, nil
	}
	return nil, fmt.Errorf("%w: %s before %s", ErrRender, e.op, kind(v))
}

func (e choice) eval(r *run) (any, error) {
	c, err := e.condition.eval(r)
	if err != nil {
		return nil, err
	}
	if truth(c) {
		return e.yes.eval(r)
	}
	if e.no == nil {
		return undefined(""), nil
	}
	return e.no.eval(r)
}

func (e comparison) eval(r *run) (any, error) {
	a, err := e.first.eval(r)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		b, err := e.rest[i].eval(r)
		if err != nil {
			return nil, err
		}
		ok, err := compare(r, op, a, b)
		if err != nil || !ok {
			return false, err
		}
		a = b
	}
	return true, nil
}

func compare(r *run, op string, a, b any) (ok bool, err error) {
	if err := r.spend(0); err != nil {
		return false, err
	}
	switch op {
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	case "<":
		return less(a, b)
	case ">":
		return less(b, a)
	case "<=":
		ok, err = less(b, a)
		return !ok, err
	case ">=":
		ok, err = less(a, b)
		return !ok, err
	}
	if ok, err = contains(b, a); err != nil {
		return false, err
	}
	return ok == (op == "in"), nil
}

// contains reports whether x is in v: a part of a string, a key or an element.
func contains(v, x any) (bool, error) {
	switch v := v.(type) {
	case string:
		s, ok := x.(string)
		if !ok {
			return false, fmt.Errorf("%w: %s in a string", ErrRender, kind(x))
		}
		return strings.Contains(v, s), nil
	case *Dict:
		s, ok := x.(string)
		_, found := v.values[s]
		return ok && found, nil
	case []any:
		return slices.ContainsFunc(v, func(y any) bool { return equal(x, y) }), nil
	case undefined:
		return false, nil
	}
	return false, fmt.Errorf("%w: in %s", ErrRender, kind(v))
}

func (e binary) eval(r *run) (any, error) {
	a, err := e.a.eval(r)
	if err != nil {
		return nil, err
	}
	if e.op == "and" && !truth(a) || e.op == "or" && truth(a) {
		return a, nil
	}
	b, err := e.b.eval(r)
	if err != nil || e.op == "and" || e.op == "or" {
		return b, err
	}
	v, err := arithmetic(e.op, a, b)
	if err == nil {
		err = r.spend(size(v))
	}
	return v, err
}

func arithmetic(op string, a, b any) (any, error) {
	wrong := fmt.Errorf("%w: %s %s %s", ErrRender, kind(a), op, kind(b))
	if op == "~" {
		return str(a) + str(b), nil
	}
	switch a := a.(type) {
	case string:
		switch b := b.(type) {
		case string:
			if op == "+" {
				return a + b, nil
			}
		case int64:
			if op == "*" {
				if b > 0 && int64(len(a)) > maxOutput/b {
					return nil, ErrLimit
				}
				return strings.Repeat(a, int(max(b, 0))), nil
			}
		}
		return nil, wrong
	case []any:
		if b, ok := b.([]any); ok && op == "+" {
			return slices.Concat(a, b), nil
		}
		return nil, wrong
	}
	i, okI := a.(int64)
	j, okJ := b.(int64)
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		return nil, wrong
	}
	if (op == "/" || op == "//" || op == "%") && y == 0 {
		return nil, fmt.Errorf("%w: a division by zero", ErrRender)
	}
	whole := okI && okJ
	switch op {
	case "+":
		if whole {
			return i + j, nil
		}
		return x + y, nil
	case "-":
		if whole {
			return i - j, nil
		}
		return x - y, nil
	case "*":
		if whole {
			return i * j, nil
		}
		return x * y, nil
	case "/":
		return x / y, nil
	case "//":
		if whole {
			return int64(math.Floor(x / y)), nil
		}
		return math.Floor(x / y), nil
	case "%":
		if whole {
			return (i%j + j) % j, nil
		}
		return math.Mod(math.Mod(x, y)+y, y), nil
	}
	if whole && j >= 0 {
		return int64(math.Pow(x, y)), nil
	}
	return math.Pow(x, y), nil
}

// runeCount is len() of Python.
func runeCount(s string) int64 { return int64(utf8.RuneCountInString(s)) }
