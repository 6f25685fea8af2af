package given

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.com/searchd/search/mapping"
)

// TestCut: what is cut and what is left are together what was there, whatever stands between.
func TestCut(t *testing.T) {
	for _, tt := range []struct{ object, rest, vector, vectors string }{
		{`{"vector":[1,2],"a":1}`, `{"a":1}`, `[1,2]`, ``},
		{` { "a" : "x]},\"" , "vector" : [ 1 , 2 ] } `, `{"a" : "x]},\""} `, `[ 1 , 2 ]`, ``},
		{`{"a":{"vector":[1]},"vectors":[[1],{"vector":[2]}],"b":[]}`, `{"a":{"vector":[1]},"b":[]}`, ``, `[[1],{"vector":[2]}]`},
		{`{"vector":null}`, `{}`, `null`, ``},
		{`{"a":1}`, `{"a":1}`, ``, ``},
		{`{}`, `{}`, ``, ``},
		{`{"vector":[1],"vector":[2]}`, `{"vector":[1],"vector":[2]}`, ``, ``}, // for others to refuse
		{`{"vector":[1}`, `{"vector":[1}`, ``, ``},
		{`{"vector":`, `{"vector":`, ``, ``},
		{`[1]`, `[1]`, ``, ``},
		{``, ``, ``, ``},
	} {
		rest, m := Cut([]byte(tt.object))
		if string(rest) != tt.rest || string(m.Vector) != tt.vector || string(m.Vectors) != tt.vectors {
			t.Errorf("Cut(%s) = %s, %s, %s", tt.object, rest, m.Vector, m.Vectors)
		}
	}
}

// TestInto: Into is the inverse of Cut.
func TestInto(t *testing.T) {
	for _, object := range []string{`{"a":1}`, `{}`, `{ "b" : [ {} ] }`} {
		both, err := Members{Vector: []byte(`[1]`), Vectors: []byte(`[[2]]`)}.Into([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		rest, m := Cut(both)
		var before, after any
		json.Unmarshal([]byte(object), &before)
		if err := json.Unmarshal(rest, &after); err != nil || !reflect.DeepEqual(before, after) || string(m.Vector) != `[1]` || string(m.Vectors) != `[[2]]` {
			t.Errorf("%s: %s, then %s, %v", object, both, rest, err)
		}
	}
	if _, err := (Members{Vector: []byte(`[1]`)}).Into([]byte(`{"vector":[2]}`)); err == nil {
		t.Error("a vector that is there twice was taken")
	}
}

// TestRead names each fault of vectors with its place.
func TestRead(t *testing.T) {
	doc, err := mapping.Mapping(nil).Split([]byte(`{"text":"Füße","n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ vector, vectors, want string }{
		{`[3,4]`, ``, ``},
		{`null`, ``, ``},
		{``, `[[1,0],{"vector":[0,1],"field":"text","start":1,"end":3},{"vector":[1e-30,0]}]`, ``},
		{`[1]`, ``, `field "vector": 1 numbers, allowed: 2, the dimension of the collection`},
		{`[1,2,3]`, ``, `field "vector": 3 numbers, allowed: 2,`},
		{`[]`, ``, `field "vector": 0 numbers`},
		{`[0,-0.0]`, ``, `field "vector": a vector of zeros, allowed: one that is not zero`},
		{`[1,NaN]`, ``, `field "vector[1]"`},
		{`[1,1e39]`, ``, `field "vector[1]": 1e39, allowed: a number of float32`},
		{`[1,"2"]`, ``, `field "vector[1]": a string, allowed: a number`},
		{`[1,null]`, ``, `field "vector[1]": null`},
		{`"1,2"`, ``, `field "vector": a string, allowed: a list of 2 numbers`},
		{`[1 2]`, ``, `field "vector": a list that is no JSON`},
		{`[1,2]`, `[[1,2]]`, `field "vectors": vector and vectors, allowed: one of them`},
		{``, `{}`, `field "vectors": an object, allowed: a list of vectors`},
		{``, `[[1,2],[0,0]]`, `field "vectors[1]": a vector of zeros`},
		{``, `[{"vector":[1,2],"field":"n"}]`, `field "vectors[0].field": n, allowed: the name of a field`},
		{``, `[{"vector":[1,2],"field":"text","start":2}]`, `field "vectors[0].end": 2 to 6, allowed: bytes of the text, which has 6, at characters`},
		{``, `[{"vector":[1,2],"field":"text","end":7}]`, `field "vectors[0].end": 0 to 7`},
		{``, `[{"vector":[1,2],"field":"text","start":-1}]`, `field "vectors[0].end": -1 to 6`},
		{``, `[{"vector":[1,2],"x":1}]`, `field "vectors[0]": another object`},
		{``, `[{"vector":[1]}]`, `field "vectors[0].vector": 1 numbers`},
	} {
		var m Members
		if tt.vector != "" {
			m.Vector = []byte(tt.vector)
		}
		if tt.vectors != "" {
			m.Vectors = []byte(tt.vectors)
		}
		list, err := m.Read(2, doc)
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), mapping.ErrDocument.Error()+": ")
		}
		if tt.want == "" && err != nil || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.vector, tt.vectors, got, tt.want)
		}
		for _, v := range list {
			if sum := v.Values[0]*v.Values[0] + v.Values[1]*v.Values[1]; math.Abs(float64(sum)-1) > 1e-6 {
				t.Errorf("%s %s: length² %v", tt.vector, tt.vectors, sum)
			}
		}
	}
}

// TestUnitStays: a vector of unit length keeps its bits, so that an export comes back the same.
func TestUnitStays(t *testing.T) {
	for i := range 100 {
		v := []float32{0.123 + float32(i)/7, -4.5, 7.25e-3, float32(i)}
		Unit(v)
		again := append([]float32(nil), v...)
		if !Unit(again) || !reflect.DeepEqual(v, again) {
			t.Errorf("%v became %v", v, again)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte(`{"vector":[1],"a":"\"]}"}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		rest, m := Cut(object)
		_, _ = m.Read(2, mapping.Parts{})
		var before, after map[string]json.RawMessage
		if json.Unmarshal(object, &before) != nil {
			return
		}
		if err := json.Unmarshal(rest, &after); err != nil {
			t.Fatalf("%s left %s: %v", object, rest, err)
		}
	})
}
