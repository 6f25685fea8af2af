package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		name    string
		mapping Mapping
		fields  string
		text    []TextField
		title   string
		values  map[string]any
	}{
		{"title and text", nil, `{"text":"Body.","title":"Head","year":2020}`,
			[]TextField{{"title", "Head"}, {"text", "Body."}}, "Head",
			map[string]any{"title": "Head", "text": "Body.", "year": 2020.0}},
		{"no well-known name: all strings", nil, `{"colour":"red","size":"big","n":1}`,
			[]TextField{{"colour", "red"}, {"size", "big"}}, "",
			map[string]any{"colour": "red", "size": "big", "n": 1.0}},
		{"a well-known name: others filter", nil, `{"body":"Text.","lang":"en","tags":["a","b"],"draft":true}`,
			[]TextField{{"body", "Text."}}, "",
			map[string]any{"body": "Text.", "lang": "en", "tags": []any{"a", "b"}, "draft": true}},
		{"empty texts are none", nil, `{"title":" ","text":"x"}`, []TextField{{"text", "x"}}, "", map[string]any{"title": " ", "text": "x"}},
		{"nested", nil, `{"text":"x","meta":{"lang":"en","deep":{"n":1}}}`, []TextField{{"text", "x"}}, "",
			map[string]any{"text": "x", "meta.lang": "en", "meta.deep.n": 1.0}},
		{"settings win", Mapping{"note": {Type: Text}, "text": {Type: Filter}, "secret": {Type: Stored}}, `{"note":"n","text":"t","secret":"s"}`,
			[]TextField{{"note", "n"}}, "", map[string]any{"note": "n", "text": "t"}},
		{"a list as text", Mapping{"lines": {Type: Text}}, `{"lines":["a","b"]}`, []TextField{{"lines", "a\nb"}}, "", map[string]any{"lines": []any{"a", "b"}}},
		{"long strings cannot be filtered on", nil, fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 257)),
			[]TextField{{"text", strings.Repeat("x", 257)}}, "", map[string]any{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := tc.mapping.Split([]byte(tc.fields))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(p.Text, tc.text) || p.Title != tc.title || !reflect.DeepEqual(p.Values, tc.values) {
				t.Errorf("got %+v,\nwant %+v, %q, %v", p, tc.text, tc.title, tc.values)
			}
		})
	}
}

func TestSplitRefuses(t *testing.T) {
	many := `{"a0":1`
	for i := 1; i <= MaxFields; i++ {
		many += fmt.Sprintf(`,"a%d":1`, i)
	}
	for name, tt := range map[string]struct{ fields, allowed string }{
		"list":           {`[]`, "a JSON object: "},
		"null":           {`null`, "a JSON object, not null"},
		"broken":         {`{"a"`, "a JSON object: unexpected EOF"},
		"number too big": {`{"a":1e999}`, "a JSON object: "},
		"deep": {strings.Repeat(`{"a":`, MaxDepth+2) + "1" + strings.Repeat("}", MaxDepth+2),
			`objects nested at most 16 deep, unlike field "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a"`},
		"empty name":     {`{"":1}`, `field names of 1 to 256 bytes of UTF-8, not ""`},
		"long name":      {fmt.Sprintf(`{%q:1}`, strings.Repeat("n", 300)), `field names of 1 to 256 bytes of UTF-8, not "nnn`},
		"many values":    {`{"a":[1` + strings.Repeat(",1", MaxListValues) + `]}`, `at most 1000 values in a field, not 1001 as in "a"`},
		"many fields":    {many + "}", "at most 1000 fields"},
		"too many bytes": {`{"a":"` + strings.Repeat("x", MaxDocument) + `"}`, "at most 8388608 bytes of JSON, not 8388616"},
	} {
		_, err := (Mapping)(nil).Split([]byte(tt.fields))
		if !errors.Is(err, ErrDocument) || !strings.HasPrefix(err.Error(), ErrDocument.Error()+": "+tt.allowed) {
			t.Errorf("%s: %v, want %v: %s", name, err, ErrDocument, tt.allowed)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(`{"title":"a","text":"b","n":[1,{"x":2}]}`))
	f.Fuzz(func(t *testing.T, fields []byte) {
		p, err := Mapping{"n": {Type: Text}}.Split(fields)
		if err == nil && len(p.Text)+len(p.Values) > 3*MaxFields {
			t.Errorf("%d parts", len(p.Text)+len(p.Values))
		}
	})
}
