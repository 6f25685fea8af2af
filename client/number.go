package client

import (
	"bytes"
	"encoding/json"
	"math"
)

// UnmarshalJSON implements json.Unmarshaler. An integer that shares its float64 with others is a
// json.Number.
func (v *FacetValue) UnmarshalJSON(b []byte) error {
	type plain FacetValue // without this method
	return decodeExact(b, (*plain)(v), &v.Value)
}

// UnmarshalJSON implements json.Unmarshaler. An integer that shares its float64 with others is a
// json.Number.
func (g *HitGroup) UnmarshalJSON(b []byte) error {
	type plain HitGroup // without this method
	return decodeExact(b, (*plain)(g), &g.Value)
}

// decodeExact decodes b into x, one of whose members is value, and makes a float64 of it where it
// is a number that a float64 represents exactly.
func decodeExact(b []byte, x any, value *any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(x); err != nil {
		return err
	}
	if n, ok := (*value).(json.Number); ok {
		if f, err := n.Float64(); err == nil && math.Abs(f) < 1<<53 {
			*value = f
		}
	}
	return nil
}
