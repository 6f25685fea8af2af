package filter

import (
	"slices"
	"strconv"
)

// DocumentID is the name under which the values of a document have its id, for [OfID]. No filter
// can name it.
const DocumentID = "\x00id"

// OfID holds where Own does and, of documents without a value of Own.Field, where the id is one of
// IDs.
type OfID struct {
	Own In
	IDs []string
}

func (OfID) sealed() {}

func (e OfID) Match(values map[string]any) bool {
	if (Exists{e.Own.Field}).Match(values) {
		return e.Own.Match(values)
	}
	id, ok := values[DocumentID].(string)
	return ok && slices.Contains(e.IDs, id)
}

func (e OfID) String() string { return e.Own.String() }

// WithID returns e with every =, !=, IN and NOT IN of a field named id or _id asking for the id of
// a document that has no such field. A number means its digits.
func WithID(e Expr) Expr {
	switch e := e.(type) {
	case And:
		return And(withIDs(e))
	case Or:
		return Or(withIDs(e))
	case Not:
		return Not{WithID(e.Expr)}
	case In:
		if isID(e.Field) {
			return OfID{e, ids(e.Values)}
		}
	case Compare:
		if !isID(e.Field) || e.Op != Equal && e.Op != NotEqual {
			return e
		}
		of := OfID{In{e.Field, []Value{e.Value}}, ids([]Value{e.Value})}
		if e.Op == NotEqual {
			return Not{of}
		}
		return of
	}
	return e
}

func isID(field string) bool { return field == "id" || field == "_id" }

func withIDs(list []Expr) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = WithID(e)
	}
	return out
}

// ids returns the ids that values mean.
func ids(values []Value) []string {
	var out []string
	for _, v := range values {
		switch v.Kind {
		case String, Date:
			out = append(out, v.Str)
		case Number:
			if v.Wide() {
				out = append(out, v.number())
			} else {
				out = append(out, strconv.FormatFloat(v.Num, 'f', -1, 64))
			}
		}
	}
	return out
}

// IDs returns the expression that holds for the documents with the given ids, whatever fields they
// have.
func IDs(ids []string) Expr {
	values := make([]Value, len(ids))
	for i, id := range ids {
		values[i] = literal(id)
	}
	const none = "\x00none" // a field that no document has
	return OfID{In{none, values}, ids}
}
