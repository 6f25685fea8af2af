package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Expr is a parsed filter: And, Or, Not, Compare, In, Exists or Within, and after [WithID] OfID. It
// is immutable and safe for concurrent use.
type Expr interface {
	// Match reports whether a document with these values passes. values maps a field's whole name,
	// dots included, to what Values takes.
	Match(values map[string]any) bool
	// String returns a filter that parses to an equal Expr.
	String() string
	sealed()
}

// All returns the expression that holds if every one of exprs does; nil ones hold. It is nil where
// all are.
func All(exprs ...Expr) Expr {
	var all And
	for _, e := range exprs {
		switch e := e.(type) {
		case nil:
		case And:
			all = append(all, e...)
		default:
			all = append(all, e)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// Op is a comparison.
type Op uint8

const (
	Equal Op = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	Contains   // of strings, whatever their case
	StartsWith // of strings, whatever their case
)

// String returns the operator as the language writes it.
func (o Op) String() string {
	switch o {
	case Equal:
		return "="
	case NotEqual:
		return "!="
	case Less:
		return "<"
	case LessOrEqual:
		return "<="
	case Greater:
		return ">"
	case GreaterOrEqual:
		return ">="
	case Contains:
		return "CONTAINS"
	case StartsWith:
		return "STARTS WITH"
	default:
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
}

type (
	// And holds if every one of at least two expressions holds; none of them is an And.
	And []Expr
	// Or holds if one of at least two expressions holds; none of them is an Or.
	Or []Expr
	// Not holds if Expr does not.
	Not struct{ Expr Expr }
	// Compare holds if a value of Field stands in the relation Op to Value; for NotEqual, if none
	// is equal. The Value of Contains and StartsWith is a String.
	Compare struct {
		Field string
		Op    Op
		Value Value
	}
	// In holds if a value of Field is equal to one of Values.
	In struct {
		Field  string
		Values []Value
	}
	// Exists holds if Field has a value.
	Exists struct{ Field string }
)

func (And) sealed()     {}
func (Or) sealed()      {}
func (Not) sealed()     {}
func (Compare) sealed() {}
func (In) sealed()      {}
func (Exists) sealed()  {}

func (e And) Match(values map[string]any) bool {
	return !slices.ContainsFunc(e, func(x Expr) bool { return !x.Match(values) })
}

func (e Or) Match(values map[string]any) bool {
	return slices.ContainsFunc(e, func(x Expr) bool { return x.Match(values) })
}

func (e Not) Match(values map[string]any) bool { return !e.Expr.Match(values) }

func (e Compare) Match(values map[string]any) bool {
	if passes := e.Text(); passes != nil {
		return slices.ContainsFunc(Values(nil, values[e.Field]), func(v Value) bool { return v.Kind == String && passes(v.Key()) })
	}
	for _, v := range Values(nil, values[e.Field]) {
		order, ok := v.Compare(e.Value)
		if !ok {
			continue
		}
		switch e.Op {
		case Equal:
			ok = order == 0
		case NotEqual:
			if order == 0 {
				return false
			}
			ok = false
		case Less:
			ok = order < 0
		case LessOrEqual:
			ok = order <= 0
		case Greater:
			ok = order > 0
		case GreaterOrEqual:
			ok = order >= 0
		}
		if ok {
			return true
		}
	}
	return e.Op == NotEqual
}

// Text returns the condition that Contains and StartsWith set for the [Value.Key] of a string, and
// nil for other operators. Only the first MaxString bytes of the key count.
func (e Compare) Text() func(key string) bool {
	var in func(s, part string) bool
	switch e.Op {
	case Contains:
		in = strings.Contains
	case StartsWith:
		in = strings.HasPrefix
	default:
		return nil
	}
	part := strings.ToLower(e.Value.Str)
	return func(key string) bool { return in(strings.ToLower(key[:min(len(key), MaxString)]), part) }
}

func (e In) Match(values map[string]any) bool {
	for _, v := range Values(nil, values[e.Field]) {
		for _, w := range e.Values {
			if order, ok := v.Compare(w); ok && order == 0 {
				return true
			}
		}
	}
	return false
}

func (e Exists) Match(values map[string]any) bool { return len(Values(nil, values[e.Field])) > 0 }

func (e And) String() string { return join(e, " AND ") }

func (e Or) String() string { return join(e, " OR ") }

func (e Not) String() string { return "NOT " + operand(e.Expr) }

func (e Compare) String() string {
	return fieldName(e.Field) + " " + e.Op.String() + " " + e.Value.String()
}

func (e In) String() string {
	values := make([]string, len(e.Values))
	for i, v := range e.Values {
		values[i] = v.String()
	}
	return fieldName(e.Field) + " IN [" + strings.Join(values, ", ") + "]"
}

func (e Exists) String() string { return fieldName(e.Field) + " EXISTS" }

func join(operands []Expr, operator string) string {
	parts := make([]string, len(operands))
	for i, x := range operands {
		parts[i] = operand(x)
	}
	return strings.Join(parts, operator)
}

// operand writes x as an operand, in parentheses where it needs them.
func operand(x Expr) string {
	switch x.(type) {
	case And, Or:
		return "(" + x.String() + ")"
	}
	return x.String()
}

func fieldName(name string) string {
	if plainField(name) {
		return name
	}
	return "`" + name + "`"
}

// plainField reports whether name can be written without backquotes.
func plainField(name string) bool {
	if keyword(name) != "" {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" {
			return false
		}
		for i, r := range part {
			if !nameRune(r, i == 0) {
				return false
			}
		}
	}
	return true
}

func nameRune(r rune, first bool) bool {
	return r == '_' || unicode.IsLetter(r) || !first && (r == '-' || unicode.IsDigit(r) || unicode.IsMark(r))
}

// keyword returns the word in capitals if it has a meaning of its own, else "".
func keyword(word string) string {
	for _, k := range [...]string{"AND", "OR", "NOT", "IN", "EXISTS", "TRUE", "FALSE"} {
		if len(word) == len(k) && strings.EqualFold(word, k) {
			return k
		}
	}
	return ""
}

// Fields returns the distinct names of the fields in e, in the order of their first use, without
// those of an OfID.
func Fields(e Expr) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	each(e, func(e Expr) {
		switch e := e.(type) {
		case Compare:
			add(e.Field)
		case In:
			add(e.Field)
		case Exists:
			add(e.Field)
		case Within:
			add(e.Field)
		}
	})
	return names
}

// each calls f with e and the expressions in it.
func each(e Expr, f func(Expr)) {
	f(e)
	switch e := e.(type) {
	case And:
		for _, x := range e {
			each(x, f)
		}
	case Or:
		for _, x := range e {
			each(x, f)
		}
	case Not:
		each(e.Expr, f)
	}
}
