package mapping

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// decodeSlowly is the slow twin of decode.
func decodeSlowly(text []byte) (object map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return object, d.Decode(&object)
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `{"a": 1.50, "b": [true, null, {"c": "x\n\u00e9"}], "d": {}}`, `{"a": 1, "a": {"b": 2}, "a": {"c": []}}`,
		"{\"a\": \"\xff\xfe\", \"\xc3\": 1}", `{"a": "\ud800", "b": "\ud83d\ude00", "\udc00": ""}`, `{"a": 1e400, "b": -0, "c": 12345678901234567890}`,
		`{"a": 1} trailing`, ` {"a":1}`, "\ufeff{}", `[]`, `"a"`, `1`, `{"a"`, `{"a": tru}`, `{"a": 01}`, `{"a" 1}`, `{,}`, `{"a": [1,]}`, "{\"a\": \"\n\"}", `{'a': 1}`, ``,
		`{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, `{"a":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, wantErr := decodeSlowly(text)
		got, err := decode(text)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("decode(%.80q) = %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	})
}
