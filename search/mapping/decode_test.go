package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
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
		got, err := decode(text, false)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("decode(%.80q) = %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	})
}

// TestLongListsInMemory: a list that is refused for its length is not decoded first.
func TestLongListsInMemory(t *testing.T) {
	for name, item := range map[string]string{"objects": `{"":0},`, "empty objects": `{},`, "lists": `[],`, "numbers": `0,`} {
		n := (MaxDocument - 10) / len(item)
		text := []byte(`{"a":[` + strings.Repeat(item, n) + `0]}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Mapping{}.Split(text)
		runtime.ReadMemStats(&after)
		if want := fmt.Sprintf("%d values, allowed: at most %d", n+1, MaxListValues); !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrDocument with %q", name, err, want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
			t.Errorf("%s: %d MiB allocated for %d MiB", name, used>>20, len(text)>>20)
		}
	}
}

// TestManyObjectsInMemory: many short lists within a list are refused for their number.
func TestManyObjectsInMemory(t *testing.T) {
	for name, item := range map[string]string{"objects": `{"":0},`, "empty objects": `{},`, "lists": `[],`} {
		inner := "[" + strings.Repeat(item, MaxListValues-1) + "0],"
		text := []byte(`{"a":[` + strings.Repeat(inner, (MaxDocument-10)/len(inner)/4) + `[` + strings.Repeat(inner, MaxListValues/2) + `0]]}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Mapping{}.Split(text)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), "more than 100000 objects and lists, allowed: at most 100000") {
			t.Errorf("%s: %v, want ErrDocument with the limit", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
			t.Errorf("%s: %d MiB allocated for %d MiB", name, used>>20, len(text)>>20)
		}
		if _, err := (Mapping{}).SplitStored(text); err != nil {
			t.Errorf("%s, stored: %v", name, err)
		}
	}
}
