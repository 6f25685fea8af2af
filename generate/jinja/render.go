package jinja

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of one rendering.
const (
	maxSteps    = 1 << 18
	maxOutput   = 4 << 20
	maxRange    = 100000
	maxTemplate = 1 << 20
)

// Template is a parsed template. It is read-only.
type Template struct{ body []node }

// Parse reads a template.
func Parse(src string) (*Template, error) {
	if len(src) > maxTemplate {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrSyntax, len(src), maxTemplate)
	}
	body, err := parse(src)
	if err != nil {
		return nil, err
	}
	return &Template{body}, nil
}

// Render renders the template with variables whose values Decode could have made. now is what
// strftime_now goes by.
func (t *Template) Render(variables *Dict, now time.Time) (string, error) {
	r := &run{now: now, scopes: []map[string]any{globals(), {}}}
	for k, v := range variables.values {
		r.scopes[1][k] = v
	}
	err := r.all(t.body)
	return r.out.String(), err
}

// run is one rendering.
type run struct {
	out    strings.Builder
	scopes []map[string]any
	steps  int
	bytes  int // that strings and lists were made of
	depth  int
	now    time.Time
}

// Signals of {% break %} and {% continue %}.
var (
	errBreak    = errors.New("jinja: break outside of a loop")
	errContinue = errors.New("jinja: continue outside of a loop")
)

// spend counts work: a step, and n bytes or elements that are made.
func (r *run) spend(n int) error {
	r.steps++
	if r.bytes += n; r.steps > maxSteps || r.bytes > 4*maxOutput {
		return ErrLimit
	}
	return nil
}

func (r *run) all(body []node) error {
	for _, n := range body {
		if err := r.spend(0); err != nil {
			return err
		}
		if err := n.render(r); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) write(s string) error {
	if r.out.Len()+len(s) > maxOutput {
		return ErrLimit
	}
	r.out.WriteString(s)
	return nil
}

// capture returns what f writes.
func (r *run) capture(f func() error) (string, error) {
	outer := r.out
	r.out = strings.Builder{}
	err := f()
	text := r.out.String()
	r.out = outer
	if err == nil {
		err = r.spend(len(text))
	}
	return text, err
}

func (r *run) lookup(name string) any {
	for i := len(r.scopes) - 1; i >= 0; i-- {
		if v, ok := r.scopes[i][name]; ok {
			return v
		}
	}
	return undefined(name)
}

func (r *run) inScope(variables map[string]any, f func() error) error {
	if r.depth++; r.depth > maxDepth {
		return ErrLimit
	}
	r.scopes = append(r.scopes, variables)
	err := f()
	r.scopes = r.scopes[:len(r.scopes)-1]
	r.depth--
	return err
}

func (n textNode) render(r *run) error { return r.write(string(n)) }

func (n outputNode) render(r *run) error {
	v, err := n.e.eval(r)
	if err != nil {
		return err
	}
	if err := r.measure(v, 0); err != nil {
		return err
	}
	return r.write(str(v))
}

// measure bounds the text of a value that holds others.
func (r *run) measure(v any, depth int) error {
	if depth > maxDepth {
		return ErrLimit
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if err := r.measure(x, depth+1); err != nil {
				return err
			}
		}
	case *Dict:
		for _, x := range v.values {
			if err := r.measure(x, depth+1); err != nil {
				return err
			}
		}
	case string:
		if depth > 0 {
			return r.spend(len(v))
		}
	}
	return r.spend(0)
}

func (n *ifNode) render(r *run) error {
	for i, c := range n.conditions {
		v, err := c.eval(r)
		if err != nil {
			return err
		}
		if truth(v) {
			return r.all(n.bodies[i])
		}
	}
	return r.all(n.otherwise)
}

// bind sets names to a value or to the elements of one.
func bind(scope map[string]any, names []string, v any) error {
	if len(names) == 1 {
		scope[names[0]] = v
		return nil
	}
	list, err := elements(v)
	if err != nil || len(list) != len(names) {
		return fmt.Errorf("%w: %s for the names %v", ErrRender, kind(v), names)
	}
	for i, name := range names {
		scope[name] = list[i]
	}
	return nil
}

func (n *forNode) render(r *run) error {
	over, err := n.over.eval(r)
	if err != nil {
		return err
	}
	list, err := elements(over)
	if err != nil {
		return err
	}
	if n.only != nil {
		var kept []any
		for _, v := range list {
			scope := map[string]any{}
			if err := bind(scope, n.names, v); err != nil {
				return err
			}
			err := r.inScope(scope, func() error {
				ok, err := n.only.eval(r)
				if err == nil && truth(ok) {
					kept = append(kept, v)
				}
				if err == nil {
					err = r.spend(1)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		list = kept
	}
	if len(list) == 0 {
		return r.all(n.otherwise)
	}
	for i, v := range list {
		scope := map[string]any{"loop": loopOf(list, i)}
		if err := bind(scope, n.names, v); err != nil {
			return err
		}
		switch err := r.inScope(scope, func() error { return r.all(n.body) }); {
		case errors.Is(err, errBreak):
			return nil
		case err != nil && !errors.Is(err, errContinue):
			return err
		}
		if err := r.spend(1); err != nil {
			return err
		}
	}
	return nil
}

// loopOf is the variable loop of the i-th round.
func loopOf(list []any, i int) *Dict {
	d := NewDict("index", int64(i+1), "index0", int64(i), "first", i == 0, "last", i == len(list)-1, "length", int64(len(list)),
		"revindex", int64(len(list)-i), "revindex0", int64(len(list)-i-1))
	if i > 0 {
		d.Set("previtem", list[i-1])
	}
	if i+1 < len(list) {
		d.Set("nextitem", list[i+1])
	}
	return d
}

func (n *setNode) render(r *run) error {
	var v any
	var err error
	if n.value != nil {
		v, err = n.value.eval(r)
	} else {
		v, err = r.capture(func() error { return r.all(n.body) })
	}
	if err != nil {
		return err
	}
	if n.of == nil {
		return bind(r.scopes[len(r.scopes)-1], n.names, v)
	}
	of, err := n.of.eval(r)
	if err != nil {
		return err
	}
	ns, ok := of.(*namespace)
	if !ok {
		return fmt.Errorf("%w: members of %s cannot be set, only those of a namespace", ErrRender, kind(of))
	}
	ns.Set(n.names[0], v)
	return nil
}

func (n *macroNode) render(r *run) error {
	r.scopes[len(r.scopes)-1][n.name] = callable(func(r *run, args []any, named map[string]any) (any, error) {
		if len(args) > len(n.names) {
			return nil, fmt.Errorf("%w: %s takes %d arguments, not %d", ErrRender, n.name, len(n.names), len(args))
		}
		scope := map[string]any{}
		for i, name := range n.names {
			v, ok := named[name]
			switch {
			case i < len(args):
				v = args[i]
			case ok:
			case n.defaults[i] != nil:
				var err error
				if v, err = n.defaults[i].eval(r); err != nil {
					return nil, err
				}
			default:
				v = undefined(name)
			}
			scope[name] = v
		}
		return r.capture(func() error { return r.inScope(scope, func() error { return r.all(n.body) }) })
	})
	return nil
}

func (n groupNode) render(r *run) error { return r.all(n) }

func (n jumpNode) render(*run) error {
	if n {
		return errBreak
	}
	return errContinue
}

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
