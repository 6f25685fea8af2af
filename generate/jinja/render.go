package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"
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
