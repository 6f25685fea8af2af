package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

func TestSplit(t *testing.T) {
	long := strings.Repeat("x", MaxFilterBytes+1)
	for _, tc := range []struct {
		name    string
		mapping Mapping
		fields  string
		text    []TextField
		title   string
		values  map[string]any
		words   []TextField
	}{
		{"title and text", nil, `{"text":"Body.","title":"Head","year":2020}`,
			[]TextField{{"title", "Head"}, {"text", "Body."}}, "Head",
			map[string]any{"title": "Head", "text": "Body.", "year": 2020.0}, nil},
		{"no well-known name: all strings", nil, `{"colour":"red","size":"big","n":1}`,
			[]TextField{{"colour", "red"}, {"size", "big"}}, "",
			map[string]any{"colour": "red", "size": "big", "n": 1.0}, nil},
		{"a well-known name: others words alone", nil, `{"body":"Text.","lang":"en","tags":["a","b"],"draft":true}`,
			[]TextField{{"body", "Text."}}, "",
			map[string]any{"body": "Text.", "lang": "en", "tags": []any{"a", "b"}, "draft": true}, []TextField{{"lang", "en"}, {"tags", "a\nb"}}},
		{"empty texts are none", nil, `{"title":" ","text":"x"}`, []TextField{{"text", "x"}}, "", map[string]any{"title": " ", "text": "x"}, nil},
		{"nested", nil, `{"text":"x","meta":{"lang":"en","deep":{"n":1}}}`, []TextField{{"text", "x"}}, "",
			map[string]any{"text": "x", "meta.lang": "en", "meta.deep.n": 1.0}, []TextField{{"meta.lang", "en"}}},
		{"settings win", Mapping{"note": {Type: Text}, "text": {Type: Filter}, "secret": {Type: Stored}}, `{"note":"n","text":"t","secret":"s"}`,
			[]TextField{{"note", "n"}}, "", map[string]any{"note": "n", "text": "t"}, nil},
		{"a list as text", Mapping{"lines": {Type: Text}}, `{"lines":["a","b"]}`, []TextField{{"lines", "a\nb"}}, "", map[string]any{"lines": []any{"a", "b"}}, nil},
		{"two ways to one name", nil, `{"a.b":1,"a":{"b":2,"c":"x"},"a.c":["y"],"d":{"e":null}}`, nil, "",
			map[string]any{"a.b": []any{2.0, 1.0}, "a.c": []any{"x", "y"}}, []TextField{{"a.c", "x\ny"}}},
		{"objects in a list", nil, `{"v":[{"color":"red","text":"zebra","n":1},{"color":"blue","text":"lion"},{"color":["grey",null]},"bare",null]}`,
			[]TextField{{"v.text", "zebra\nlion"}}, "",
			map[string]any{"v": []any{"bare"}, "v.color": []any{"red", "blue", "grey"}, "v.text": []any{"zebra", "lion"}, "v.n": 1.0}, []TextField{{"v", "bare"}, {"v.color", "red\nblue\ngrey"}}},
		{"objects in a list beside a well-known name", Mapping{"v.note": {Type: Text}, "v.id": {Type: Stored}},
			`{"text":"x","v":[{"color":"red","note":"n","id":1},{"color":"blue","note":["m"],"id":2}]}`,
			[]TextField{{"text", "x"}, {"v.note", "n\nm"}}, "",
			map[string]any{"text": "x", "v.color": []any{"red", "blue"}, "v.note": []any{"n", "m"}}, []TextField{{"v.color", "red\nblue"}}},
		{"lists in lists", nil, `{"text":"x","v":[[1,[2]],[[{"a":3}]],{"a":[4]}]}`, []TextField{{"text", "x"}}, "",
			map[string]any{"text": "x", "v": []any{1.0, 2.0}, "v.a": []any{3.0, 4.0}}, nil},
		{"what is declared text is text as it is written", Mapping{"v.a": {Type: Text}, "n": {Type: Text}}, `{"text":"x","v":[{"a":"y"},{"a":1.50}],"n":true}`,
			[]TextField{{"text", "x"}, {"n", "true"}, {"v.a", "y\n1.50"}}, "", map[string]any{"text": "x", "v.a": []any{"y", 1.5}, "n": true}, nil},
		{"mixed values are no text", nil, `{"title":5,"text":"x","v":[{"a":"y"},{"a":1}]}`, []TextField{{"text", "x"}}, "",
			map[string]any{"title": 5.0, "text": "x", "v.a": []any{"y", 1.0}}, []TextField{{"v.a", "y"}}},
		{"long strings cannot be compared", Mapping{"note": {Type: Text}}, fmt.Sprintf(`{"text":%q,"note":%[1]q,"more":%[1]q,"list":["a",%[1]q]}`, long),
			[]TextField{{"text", long}, {"note", long}}, "",
			map[string]any{"text": filter.Present{}, "note": filter.Present{}, "more": filter.Present{}, "list": []any{"a", filter.Present{}}}, []TextField{{"list", "a"}}},
		{"long strings of declared fields can", Mapping{"url": {Type: Filter}, "list": {Type: Filter}}, fmt.Sprintf(`{"text":"x","url":%q,"list":["a",%[1]q]}`, long),
			[]TextField{{"text", "x"}}, "",
			map[string]any{"text": "x", "url": long, "list": []any{"a", long}}, nil},
		{"words of what is not declared", Mapping{"f": {Type: Filter}, "s": {Type: Stored}, "t": {Type: Text}, "m": {Type: Text}},
			`{"name":"Ada","f":"f","s":"s","t":"t","m":["m",1],"email":"ada@example.org","title":["a"," ","b"],"notes":"owes me a ladder"}`,
			[]TextField{{"name", "Ada"}, {"m", "m\n1"}, {"t", "t"}}, "Ada",
			map[string]any{"name": "Ada", "f": "f", "t": "t", "m": []any{"m", 1.0}, "email": "ada@example.org", "title": []any{"a", " ", "b"}, "notes": "owes me a ladder"},
			[]TextField{{"title", "a\nb"}, {"email", "ada@example.org"}, {"notes", "owes me a ladder"}}},
		{"points", Mapping{"kept": {Type: Stored}},
			`{"text":"x","at":{"lat":48.9,"lon":2.34},"shops":["none",{"lat":1,"lng":2},{"lat":"3","lng":"4"}],"a":{"b":{"type":"Point","coordinates":[2.34,48.9]}},"kept":{"lat":1,"lon":2},"lat":5,"lon":6}`,
			[]TextField{{"text", "x"}}, "",
			map[string]any{"text": "x", "at": geo.Point{Lat: 48.9, Lon: 2.34}, "at.lat": 48.9, "at.lon": 2.34, "lat": 5.0, "lon": 6.0, "kept.lat": 1.0, "kept.lon": 2.0,
				"shops": []any{"none", geo.Point{Lat: 1, Lon: 2}, geo.Point{Lat: 3, Lon: 4}}, "shops.lat": []any{1.0, "3"}, "shops.lng": []any{2.0, "4"},
				"a.b": geo.Point{Lat: 48.9, Lon: 2.34}, "a.b.type": "Point", "a.b.coordinates": []any{2.34, 48.9}},
			[]TextField{{"a.b.type", "Point"}, {"shops", "none"}, {"shops.lat", "3"}, {"shops.lng", "4"}}},
		{"dates, blobs and what is no string have none", nil,
			fmt.Sprintf(`{"text":"x","day":"2024-05-01","at":["2024-05-01T12:00:00+02:00","noon"],"blob":%q,"runs":%q,"han":%q,"n":[1,true,"odd"],"empty":[" "],"near":"on 2024-05-01"}`,
				long, long+" "+long, strings.Repeat("文", 90)),
			[]TextField{{"text", "x"}}, "",
			map[string]any{"text": "x", "day": "2024-05-01", "at": []any{"2024-05-01T12:00:00+02:00", "noon"}, "blob": filter.Present{}, "runs": filter.Present{}, "han": filter.Present{},
				"n": []any{1.0, true, "odd"}, "empty": []any{" "}, "near": "on 2024-05-01"},
			[]TextField{{"at", "noon"}, {"han", strings.Repeat("文", 90)}, {"n", "odd"}, {"near", "on 2024-05-01"}, {"runs", long + " " + long}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 20 { // the order of maps differs each time
				p, err := tc.mapping.Split([]byte(tc.fields))
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(p.Text, tc.text) || p.Title != tc.title || !reflect.DeepEqual(p.Values, tc.values) || !reflect.DeepEqual(p.Words, tc.words) {
					t.Fatalf("got %+v,\nwant %+v, %q, %v, words %+v", p, tc.text, tc.title, tc.values, tc.words)
				}
				if stored, err := tc.mapping.SplitStored([]byte(tc.fields)); err != nil || !reflect.DeepEqual(stored, p) {
					t.Fatalf("SplitStored = %+v, %v, want %+v", stored, err, p)
				}
			}
		})
	}
}

func TestSplitRefuses(t *testing.T) {
	many := `{"a0":1`
	for i := 1; i <= MaxFields; i++ {
		many += fmt.Sprintf(`,"a%d":1`, i)
	}
	half := "[1" + strings.Repeat(",1", MaxListValues/2) + "]"
	for _, tc := range []struct{ name, fields, want string }{
		{"list", `[]`, ": a JSON object"},
		{"null", `null`, ": a JSON object"},
		{"broken", `{"a"`, ": a JSON object"},
		{"number too big", `{"a":1e999}`, `field "a": 1e999, allowed: numbers of float64`},
		{"number in objects of a list", `{"a":[{"b":[1,-1e999]}]}`, `field "a[0].b[1]": -1e999`},
		{"deep", strings.Repeat(`{"a":`, MaxDepth+2) + "1" + strings.Repeat("}", MaxDepth+2), "nested deeper than 16"},
		{"deep objects in lists", strings.Repeat(`{"a":[`, MaxDepth+2) + "1" + strings.Repeat("]}", MaxDepth+2), "nested deeper than 16"},
		{"deep lists", `{"a":` + strings.Repeat("[", MaxDepth+2) + "1" + strings.Repeat("]", MaxDepth+2) + "}", strings.Repeat("[0]", MaxDepth+1) + `": a list, allowed: nothing nested deeper than 16`},
		{"empty name", `{"":1}`, `field "\"\"": , allowed: field names of 1 to 256 bytes of UTF-8`},
		{"long name", fmt.Sprintf(`{%q:1}`, strings.Repeat("n", 300)), "field names of"},
		{"many values", `{"a":[1` + strings.Repeat(",1", MaxListValues) + `]}`, `field "a": 1001 values, allowed: at most 1000`},
		{"many values by two ways", `{"a.b":` + half + `,"a":[{"b":` + half + `}]}`, `field "a.b[499]": more than 1000 values, allowed: at most 1000`},
		{"many fields", many + "}", "allowed: at most 1000 fields"},
		{"too many bytes", `{"a":"` + strings.Repeat("x", MaxDocument) + `"}`, ": at most 8388608 bytes of JSON, not 8388616"},
	} {
		if _, err := (Mapping)(nil).Split([]byte(tc.fields)); !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want ErrDocument with %s", tc.name, err, tc.want)
		}
	}
}

// TestSplitStored leaves out what is beyond a limit.
func TestSplitStored(t *testing.T) {
	many := strings.Repeat(",1", MaxListValues)
	fields := `{"v":[{"n":[1` + many + `]},{"n":2}],"text":"x","":1,"deep":` + strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40) + `,"inf":1e999}`
	p, err := (Mapping)(nil).SplitStored([]byte(fields))
	if err != nil || len(p.Values["v.n"].([]any)) != MaxListValues || len(p.Values) != 2 || len(p.Text) != 1 {
		t.Errorf("%d texts, %d values, %v", len(p.Text), len(p.Values), err)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(`{"title":"a","text":"b","n":[1,{"x":2}]}`))
	f.Fuzz(func(t *testing.T, fields []byte) {
		p, err := Mapping{"n": {Type: Text}}.Split(fields)
		stored, lenientErr := Mapping{"n": {Type: Text}}.SplitStored(fields)
		if err == nil && (lenientErr != nil || !reflect.DeepEqual(p, stored)) {
			t.Errorf("SplitStored = %+v, %v, want %+v", stored, lenientErr, p)
		}
		if err == nil && len(p.Text)+len(p.Values) > 3*MaxFields {
			t.Errorf("%d parts", len(p.Text)+len(p.Values))
		}
	})
}
