package jinja

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// applyFilter applies a filter of Jinja.
func applyFilter(r *run, name string, v any, args []any, named map[string]any) (any, error) {
	switch name {
	case "default", "d":
		_, missing := v.(undefined)
		strict, ok := named["boolean"]
		if !ok {
			strict = argument(args, 1, false)
		}
		if missing || truth(strict) && !truth(v) {
			if def, ok := named["default_value"]; ok {
				return def, nil
			}
			return argument(args, 0, ""), nil
		}
		return v, nil
	case "tojson":
		indent := int64(-1)
		if n, ok := cmp.Or(named["indent"], argument(args, 0, nil)).(int64); ok {
			indent = max(0, min(n, 16))
		}
		var sb strings.Builder
		err := tojson(&sb, v, int(indent), 0)
		return sb.String(), err
	case "string":
		if err := r.measure(v, 0); err != nil {
			return nil, err
		}
		return str(v), nil
	case "safe":
		return v, nil
	case "length", "count":
		if s, ok := v.(string); ok {
			return runeCount(s), nil
		}
		list, err := elements(v)
		return int64(len(list)), err
	case "int", "float":
		return toNumber(name, v, args)
	case "abs":
		x, ok := number(v)
		if n, whole := v.(int64); whole {
			return max(n, -n), nil
		}
		if !ok {
			return nil, fmt.Errorf("%w: abs of %s", ErrRender, kind(v))
		}
		return math.Abs(x), nil
	case "round":
		x, _ := number(v)
		return math.Round(x), nil
	case "upper", "lower", "title", "capitalize":
		return stringMethods[name](r, str(v), nil)
	case "trim":
		return stringMethods["strip"](r, str(v), args)
	case "replace":
		return replaced(str(v), args)
	case "escape", "e":
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;").Replace(str(v)), nil
	case "indent":
		n, ok := argument(args, 0, int64(4)).(int64)
		if !ok || n < 0 || n > 64 {
			return nil, fmt.Errorf("%w: indent by %v", ErrRender, argument(args, 0, nil))
		}
		lines := strings.Split(str(v), "\n")
		for i := range lines {
			if lines[i] != "" && (i > 0 || truth(cmp.Or(named["first"], argument(args, 1, nil)))) {
				lines[i] = strings.Repeat(" ", int(n)) + lines[i]
			}
		}
		list := texts(lines)
		return joined(list, "\n")
	case "items", "dictsort":
		d, ok := v.(*Dict)
		if !ok {
			return nil, fmt.Errorf("%w: %s of %s", ErrRender, name, kind(v))
		}
		pairs := d.pairs()
		if name == "dictsort" {
			slices.SortFunc(pairs, func(a, b any) int {
				return strings.Compare(strings.ToLower(a.([]any)[0].(string)), strings.ToLower(b.([]any)[0].(string)))
			})
		}
		return pairs, nil
	}
	list, err := elements(v)
	if err != nil {
		return nil, err
	}
	return applyListFilter(r, name, list, v, args, named)
}

func toNumber(name string, v any, args []any) (any, error) {
	x, ok := number(v)
	if s, text := v.(string); text {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		x, ok = n, err == nil
	}
	switch {
	case !ok && name == "int":
		return argument(args, 0, int64(0)), nil
	case !ok:
		return argument(args, 0, 0.0), nil
	case name == "float":
		return x, nil
	}
	return int64(x), nil
}

// applyListFilter applies a filter to the elements of v.
func applyListFilter(r *run, name string, list []any, v any, args []any, named map[string]any) (any, error) {
	switch name {
	case "list":
		return slices.Clone(list), nil
	case "first", "last":
		if len(list) == 0 {
			return undefined(name), nil
		}
		if name == "first" {
			return list[0], nil
		}
		return list[len(list)-1], nil
	case "join":
		if a, ok := named["attribute"]; ok {
			picked := make([]any, len(list))
			for i, x := range list {
				var err error
				if picked[i], err = member(x, str(a)); err != nil {
					return nil, err
				}
			}
			list = picked
		}
		return joined(list, str(argument(args, 0, "")))
	case "reverse":
		list = slices.Clone(list)
		slices.Reverse(list)
		if _, ok := v.(string); ok {
			return joined(list, "")
		}
		return list, nil
	case "unique":
		var out []any
		for _, x := range list {
			if err := r.spend(len(out)); err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(out, func(y any) bool { return equal(x, y) }) {
				out = append(out, x)
			}
		}
		return out, nil
	case "sum":
		var total any = int64(0)
		for _, x := range list {
			var err error
			if total, err = arithmetic("+", total, x); err != nil {
				return nil, err
			}
		}
		return total, nil
	case "sort", "min", "max":
		list = slices.Clone(list)
		var failed error
		slices.SortStableFunc(list, func(a, b any) int {
			below, err := less(a, b)
			above, _ := less(b, a)
			failed = cmp.Or(failed, err)
			switch {
			case below:
				return -1
			case above:
				return 1
			}
			return 0
		})
		switch {
		case failed != nil:
			return nil, failed
		case name == "sort" && truth(cmp.Or(named["reverse"], argument(args, 0, nil))):
			slices.Reverse(list)
			return list, nil
		case name == "sort":
			return list, nil
		case len(list) == 0:
			return undefined(name), nil
		case name == "min":
			return list[0], nil
		}
		return list[len(list)-1], nil
	case "map":
		out := make([]any, len(list))
		for i, x := range list {
			var err error
			if a, ok := named["attribute"]; ok {
				out[i], err = member(x, str(a))
			} else {
				out[i], err = applyFilter(r, str(argument(args, 0, "")), x, args[min(1, len(args)):], nil)
			}
			if err == nil {
				err = r.spend(size(out[i]))
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	case "select", "reject", "selectattr", "rejectattr":
		return picked(r, name, list, args)
	}
	return nil, fmt.Errorf("%w: filter %q is not supported", ErrRender, name)
}

// picked applies select and its relatives: a test of each element or of an attribute of it.
func picked(r *run, name string, list, args []any) (any, error) {
	attribute := ""
	if strings.HasSuffix(name, "attr") {
		attribute = str(argument(args, 0, ""))
		args = args[min(1, len(args)):]
	}
	var out []any
	for _, x := range list {
		y, err := x, error(nil)
		if attribute != "" {
			if y, err = member(x, attribute); err != nil {
				return nil, err
			}
		}
		ok := truth(y)
		if len(args) > 0 {
			if ok, err = applyTest(str(args[0]), y, args[1:]); err != nil {
				return nil, err
			}
		}
		if err := r.spend(1); err != nil {
			return nil, err
		}
		if ok == strings.HasPrefix(name, "select") {
			out = append(out, x)
		}
	}
	return out, nil
}

// applyTest applies a test of Jinja.
func applyTest(name string, v any, args []any) (bool, error) {
	x := argument(args, 0, nil)
	n, whole := v.(int64)
	switch name {
	case "defined", "undefined":
		_, missing := v.(undefined)
		return missing == (name == "undefined"), nil
	case "none":
		return v == nil, nil
	case "true":
		return v == true, nil
	case "false":
		return v == false, nil
	case "boolean":
		_, ok := v.(bool)
		return ok, nil
	case "string":
		_, ok := v.(string)
		return ok, nil
	case "integer":
		return whole, nil
	case "float":
		_, ok := v.(float64)
		return ok, nil
	case "number":
		_, ok := number(v)
		return ok, nil
	case "mapping":
		_, ok := v.(*Dict)
		return ok, nil
	case "sequence", "iterable":
		switch v.(type) {
		case string, []any, *Dict, undefined:
			return true, nil
		}
		return false, nil
	case "callable":
		_, ok := v.(callable)
		return ok, nil
	case "eq", "equalto", "==":
		return equal(v, x), nil
	case "ne", "!=":
		return !equal(v, x), nil
	case "lt", "lessthan", "<":
		return less(v, x)
	case "gt", "greaterthan", ">":
		return less(x, v)
	case "in":
		return contains(x, v)
	case "odd":
		return whole && n%2 != 0, nil
	case "even":
		return whole && n%2 == 0, nil
	case "divisibleby":
		by, ok := x.(int64)
		return ok && by != 0 && whole && n%by == 0, nil
	case "lower":
		return str(v) == strings.ToLower(str(v)), nil
	case "upper":
		return str(v) == strings.ToUpper(str(v)), nil
	}
	return false, fmt.Errorf("%w: test %q is not supported", ErrRender, name)
}
