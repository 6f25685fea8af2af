package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"searchd/search/backend"
	"searchd/search/fault"
)

// Bounds of [Fields].
const (
	maxQueryFields = 32
	maxFieldWeight = 100
)

// Fields names the searched fields that a query looks at, each as name or name^weight. The weight,
// 1 by default, multiplies the one of the collection's mapping. In JSON it is a list, ["title^3",
// "body"], or an object, {"title": 3, "body": 1}.
type Fields []string

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fields) UnmarshalJSON(b []byte) error {
	allowed := `a list of names, ["title^3", "body"], or an object of weights, {"title": 3, "body": 1}`
	switch {
	case string(b) == "null":
		return nil
	case bytes.HasPrefix(b, []byte{'['}):
		var list []string
		if err := json.Unmarshal(b, &list); err != nil {
			return fault.Field("fields", string(b), allowed)
		}
		*f = list
		return nil
	}
	var weights map[string]float64
	if err := json.Unmarshal(b, &weights); err != nil {
		return fault.Field("fields", string(b), allowed)
	}
	*f = make(Fields, 0, len(weights))
	for name, w := range weights {
		*f = append(*f, name+"^"+strconv.FormatFloat(w, 'g', -1, 64))
	}
	slices.Sort(*f)
	return nil
}

// weights reads the names and weights; its error is a *FieldError.
func (f Fields) weights() ([]backend.FieldWeight, error) {
	if len(f) > maxQueryFields {
		return nil, fault.Field("fields", len(f), fmt.Sprintf("at most %d fields", maxQueryFields))
	}
	var out []backend.FieldWeight
	for _, s := range f {
		name, w := s, 1.0
		if i := strings.LastIndexByte(s, '^'); i >= 0 {
			var err error
			name = s[:i]
			if w, err = strconv.ParseFloat(s[i+1:], 64); err != nil || !(w > 0 && w <= maxFieldWeight) || math.IsInf(w, 0) {
				return nil, fault.Field("fields", s, fmt.Sprintf("name or name^weight, the weight above 0 and at most %d", maxFieldWeight))
			}
		}
		if name == "" {
			return nil, fault.Field("fields", s, "name or name^weight")
		}
		if slices.ContainsFunc(out, func(o backend.FieldWeight) bool { return o.Name == name }) {
			return nil, fault.Field("fields", s, "each field once")
		}
		out = append(out, backend.FieldWeight{Name: name, Weight: w})
	}
	return out, nil
}
