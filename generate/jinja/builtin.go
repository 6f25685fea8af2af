package jinja

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// globals are the functions that transformers gives to templates.
func globals() map[string]any {
	return map[string]any{
		"raise_exception": callable(func(_ *run, args []any, _ map[string]any) (any, error) {
			return nil, fmt.Errorf("%w: %s", ErrRender, str(argument(args, 0, "")))
		}),
		"strftime_now": callable(func(r *run, args []any, _ map[string]any) (any, error) {
			return strftime(r.now, str(argument(args, 0, ""))), nil
		}),
		"namespace": callable(func(_ *run, args []any, named map[string]any) (any, error) {
			d, err := newDict(args, named)
			return &namespace{d}, err
		}),
		"dict": callable(func(_ *run, args []any, named map[string]any) (any, error) { return newDict(args, named) }),
		"range": callable(func(_ *run, args []any, _ map[string]any) (any, error) {
			return numbers(args)
		}),
	}
}

func newDict(args []any, named map[string]any) (*Dict, error) {
	d := NewDict()
	if len(args) > 0 {
		from, ok := args[0].(*Dict)
		if !ok {
			return nil, fmt.Errorf("%w: a dictionary of %s", ErrRender, kind(args[0]))
		}
		for _, k := range from.keys {
			d.Set(k, from.values[k])
		}
	}
	for k, v := range named {
		d.Set(k, v)
	}
	return d, nil
}

// numbers is range() of Python.
func numbers(args []any) (any, error) {
	n := []int64{0, 0, 1}
	for i, a := range args {
		v, ok := a.(int64)
		if !ok || i > 2 {
			return nil, fmt.Errorf("%w: range of %s", ErrRender, kind(a))
		}
		if len(args) == 1 {
			n[1] = v
		} else {
			n[i] = v
		}
	}
	if n[2] == 0 {
		return nil, fmt.Errorf("%w: range with step 0", ErrRender)
	}
	var out []any
	for i := n[0]; n[2] > 0 && i < n[1] || n[2] < 0 && i > n[1]; i += n[2] {
		if len(out) == maxRange {
			return nil, fmt.Errorf("%w: a range of more than %d numbers", ErrLimit, maxRange)
		}
		out = append(out, i)
	}
	return out, nil
}

// argument returns argument i, or def if it is missing.
func argument(args []any, i int, def any) any {
	if i < len(args) {
		return args[i]
	}
	return def
}

var dictMethods = map[string]func(*Dict) callable{
	"items":  func(d *Dict) callable { return constant(d.pairs) },
	"keys":   func(d *Dict) callable { return constant(func() []any { return keysOf(d) }) },
	"values": func(d *Dict) callable { return constant(func() []any { return valuesOf(d) }) },
	"get": func(d *Dict) callable {
		return func(_ *run, args []any, _ map[string]any) (any, error) {
			if v, ok := d.values[str(argument(args, 0, ""))]; ok {
				return v, nil
			}
			return argument(args, 1, nil), nil
		}
	},
}

func constant(f func() []any) callable {
	return func(*run, []any, map[string]any) (any, error) { return f(), nil }
}

func valuesOf(d *Dict) []any {
	out := make([]any, len(d.keys))
	for i, k := range d.keys {
		out[i] = d.values[k]
	}
	return out
}

// trimmer returns a method that takes characters from the ends.
func trimmer(left, right bool) func(*run, string, []any) (any, error) {
	return func(_ *run, s string, args []any) (any, error) {
		drop := unicode.IsSpace
		if set, ok := argument(args, 0, nil).(string); ok {
			drop = func(r rune) bool { return strings.ContainsRune(set, r) }
		}
		if left {
			s = strings.TrimLeftFunc(s, drop)
		}
		if right {
			s = strings.TrimRightFunc(s, drop)
		}
		return s, nil
	}
}

// plain returns a method without arguments.
func plain(f func(string) any) func(*run, string, []any) (any, error) {
	return func(_ *run, s string, _ []any) (any, error) { return f(s), nil }
}

// affix returns startswith or endswith, which take a string or a list of them.
func affix(f func(s, part string) bool) func(*run, string, []any) (any, error) {
	return func(_ *run, s string, args []any) (any, error) {
		list, ok := argument(args, 0, "").([]any)
		if !ok {
			list = []any{argument(args, 0, "")}
		}
		return slices.ContainsFunc(list, func(x any) bool { return f(s, str(x)) }), nil
	}
}

var stringMethods = map[string]func(r *run, s string, args []any) (any, error){
	"strip": trimmer(true, true), "lstrip": trimmer(true, false), "rstrip": trimmer(false, true),
	"upper": plain(func(s string) any { return strings.ToUpper(s) }), "lower": plain(func(s string) any { return strings.ToLower(s) }),
	"title": plain(func(s string) any { return title(s) }), "capitalize": plain(func(s string) any { return capitalize(s) }),
	"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
	"isdigit": plain(func(s string) any {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
	}),
	"splitlines": plain(func(s string) any {
		return texts(strings.Split(strings.TrimSuffix(s, "\n"), "\n"))
	}),
	"split": func(_ *run, s string, args []any) (any, error) {
		sep, n := argument(args, 0, nil), count(args)
		if sep == nil {
			if n < 0 {
				return texts(strings.Fields(s)), nil
			}
			return nil, fmt.Errorf("%w: split at white space with a limit", ErrRender)
		}
		if str(sep) == "" {
			return nil, fmt.Errorf("%w: split at an empty string", ErrRender)
		}
		return texts(strings.SplitN(s, str(sep), n)), nil
	},
	"rsplit": func(_ *run, s string, args []any) (any, error) {
		sep, n := str(argument(args, 0, " ")), count(args)
		if sep == "" {
			return nil, fmt.Errorf("%w: split at an empty string", ErrRender)
		}
		parts := strings.Split(s, sep)
		if n > 0 && len(parts) > n {
			head := len(parts) - n + 1
			parts = append([]string{strings.Join(parts[:head], sep)}, parts[head:]...)
		}
		return texts(parts), nil
	},
	"replace": func(_ *run, s string, args []any) (any, error) {
		return replaced(s, args)
	},
	"removeprefix": func(_ *run, s string, args []any) (any, error) {
		return strings.TrimPrefix(s, str(argument(args, 0, ""))), nil
	},
	"removesuffix": func(_ *run, s string, args []any) (any, error) {
		return strings.TrimSuffix(s, str(argument(args, 0, ""))), nil
	},
	"find": func(_ *run, s string, args []any) (any, error) {
		at := strings.Index(s, str(argument(args, 0, "")))
		if at < 0 {
			return int64(-1), nil
		}
		return runeCount(s[:at]), nil
	},
	"count": func(_ *run, s string, args []any) (any, error) {
		return int64(strings.Count(s, str(argument(args, 0, "")))), nil
	},
	"join": func(r *run, s string, args []any) (any, error) {
		list, err := elements(argument(args, 0, []any{}))
		if err != nil {
			return nil, err
		}
		return joined(list, s)
	},
}

// count is the limit of split as strings.SplitN takes it.
func count(args []any) int {
	if n, ok := argument(args, 1, int64(-1)).(int64); ok && n >= 0 && n < math.MaxInt32 {
		return int(n) + 1
	}
	return -1
}

func replaced(s string, args []any) (any, error) {
	from, to := str(argument(args, 0, "")), str(argument(args, 1, ""))
	n, ok := argument(args, 2, int64(-1)).(int64)
	if !ok {
		n = -1
	}
	if times := strings.Count(s, from); len(to) > 0 && times > maxOutput/len(to) {
		return nil, ErrLimit
	}
	return strings.Replace(s, from, to, int(n)), nil
}

func texts(parts []string) []any {
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}

func joined(list []any, sep string) (any, error) {
	n := 0
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = str(x)
		if n += len(parts[i]) + len(sep); n > maxOutput {
			return nil, ErrLimit
		}
	}
	return strings.Join(parts, sep), nil
}

func capitalize(s string) string {
	for i, r := range s {
		return strings.ToUpper(string(r)) + strings.ToLower(s[i+len(string(r)):])
	}
	return s
}

func title(s string) string {
	begin := true
	return strings.Map(func(r rune) rune {
		defer func() { begin = !unicode.IsLetter(r) }()
		if begin {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

// strftime formats a time as Python does, for the usual directives.
func strftime(t time.Time, format string) string {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'H': "15", 'I': "03", 'M': "04",
		'S': "05", 'p': "PM", 'y': "06", 'Z': "MST", 'j': "002"}
	var sb strings.Builder
	for i := 0; i < len(format); i++ {
		if layout, ok := layouts[format[min(i+1, len(format)-1)]]; ok && format[i] == '%' && i+1 < len(format) {
			sb.WriteString(t.Format(layout))
			i++
		} else if format[i] == '%' && i+1 < len(format) && format[i+1] == '%' {
			sb.WriteByte('%')
			i++
		} else {
			sb.WriteByte(format[i])
		}
	}
	return sb.String()
}
