package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/mapping"
)

// notes has three documents in a collection with declared fields.
func notes(t *testing.T, e *search.Engine) {
	t.Helper()
	settings := search.Settings{Fields: mapping.Mapping{"secret": {Type: mapping.Stored}, "later": {Type: mapping.Filter}, "note": {Type: mapping.Text}}}
	if _, err := e.CreateCollection(t.Context(), "notes", settings); err != nil {
		t.Fatal(err)
	}
	results, err := e.Ingest(t.Context(), "notes", []search.Document{
		doc("a", `{"text":"word","status":"new","secret":"s","meta":{"n":1}}`), doc("b", `{"text":"word","status":"old","secret":"s"}`),
		doc("c", `{"text":"word","gone":1}`),
	})
	if err != nil || results[2].Status != search.Created {
		t.Fatal(results, err)
	}
	if _, err := e.DeleteDocuments(t.Context(), "notes", []string{"c"}); err != nil {
		t.Fatal(err)
	}
}

// TestStoredFieldsAreRefused wherever a value is asked for.
func TestStoredFieldsAreRefused(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	notes(t, e)
	for want, q := range map[string]search.Query{
		`filter: got "secret", allowed: fields that`:          {Filter: "status = 'new' AND NOT secret EXISTS"},
		`sort[1].field: got "secret", allowed: fields that`:   {Sort: []search.SortKey{{Field: "status"}, {Field: "secret"}}},
		`facets[0].field: got "secret", allowed: fields that`: {Facets: []search.Facet{{Field: "secret"}}},
		`group: got "secret", allowed: fields that`:           {Group: "secret"},
	} {
		q.Q = "word"
		if _, err := e.Search(t.Context(), "notes", q); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
	q := search.Query{Q: "word", Group: "secret", Filter: "secret = 's'", Window: -1}
	_, err := e.Search(t.Context(), "notes", q)
	for _, part := range []string{"window:", "filter:", "group:"} { // all at once
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %s too", err, part)
		}
	}
	if _, err := e.DeleteByFilter(t.Context(), "notes", "secret != 's'", false); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), `got "secret"`) {
		t.Errorf("deletion: %v, want an error about secret", err)
	}
}

// TestUnknownFieldsAreToldOf: a field that is neither declared nor in any document gives a warning.
func TestUnknownFieldsAreToldOf(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	notes(t, e)
	for _, tc := range []struct {
		q    search.Query
		want []string
	}{
		{search.Query{Filter: "status = 'new' AND later > 1 AND `meta.n` = 1", Sort: []search.SortKey{{Field: "status"}, {Field: "_score"}}, Group: "later",
			Facets: []search.Facet{{Field: "later"}, {Field: "text"}}, Fields: search.Fields{"text", "note^2", "status"}}, nil},
		{search.Query{Filter: "stauts != 'new' AND (gone = 1 OR NOT stauts EXISTS)"}, []string{`filter: no document has a field "stauts"; the nearest name is "status"`, `filter: no document has a field "gone"`}},
		{search.Query{Filter: "status = 3 OR `meta.n` = '2' AND status IN ['new', true]"},
			[]string{`filter: "status" has strings, and 3 is a number; strings are written in quotes`, `filter: "meta.n" has numbers, and '2' is a string; numbers, true and false are written without quotes`,
				`filter: "status" has strings, and true is a boolean; strings are written in quotes`}},
		{search.Query{Filter: "meta EXISTS"}, []string{`filter: no document has a field "meta"; the nearest name is "meta.n"`}},
		{search.Query{Sort: []search.SortKey{{Field: "yaer"}}, Facets: []search.Facet{{Field: "lagn"}}, Group: "topci", Fields: search.Fields{"boddy", "meta.n", "text", "later"}},
			[]string{`fields: no document has a text field "boddy"`, `fields: no document has a text field "meta.n"`, `fields: no document has a text field "later"`,
				`facets: no document has a field "lagn"`, `sort: no document has a field "yaer"`, `group: no document has a field "topci"`}},
	} {
		tc.q.Q = "word"
		r, err := e.Search(t.Context(), "notes", tc.q)
		if err != nil || !slices.Equal(r.Warnings, tc.want) {
			t.Errorf("%+v: warnings %q, %v, want %q", tc.q, r.Warnings, err, tc.want)
			continue
		}
		if b, _ := json.Marshal(r); strings.Contains(string(b), `"warnings"`) != (tc.want != nil) {
			t.Errorf("%s", b)
		}
	}
	r, err := e.Similar(t.Context(), "notes", search.Similar{IDs: []string{"a"}, Filter: "stauts != 'new'"})
	if err != nil || len(r.Warnings) != 1 {
		t.Errorf("similar: %+v, %v, want one warning", r, err)
	}
}

// filling is a backend whose keyword index is said to be filled still.
type filling struct{ backend.Backend }

func (f filling) Aggregate(ctx context.Context, r backend.AggregateRequest) (backend.AggregateResponse, error) {
	out, err := f.Backend.Aggregate(ctx, r)
	out.Missing, out.Partial = r.Fields, true
	return out, err
}

// TestLongNamesAreShortened wherever they are told.
func TestLongNamesAreShortened(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	notes(t, e)
	long := strings.Repeat("n", 100_000)
	for _, q := range []search.Query{{Fields: search.Fields{long}}, {Group: long}, {Sort: []search.SortKey{{Field: long}}}, {Facets: []search.Facet{{Field: long}}}} {
		q.Q = "word"
		r, err := e.Search(t.Context(), "notes", q)
		if err != nil || len(r.Warnings) != 1 || len(r.Warnings[0]) > 300 {
			t.Errorf("%.100v: %.300v, %.300v", q, r.Warnings, err)
		}
	}
	_, err := e.CreateCollection(t.Context(), "more", search.Settings{Fields: mapping.Mapping{long: {Type: "texts"}}})
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("settings: %.300v", err)
	}
}

// TestDeletionRefusesUnknownFields: a slip in a name would pass every document.
func TestDeletionRefusesUnknownFields(t *testing.T) {
	for _, state := range []string{"filled", "filling"} {
		b, err := embedded.Open(t.TempDir(), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := search.Options{Embedder: &fakeEmbedder{}, Backend: b}
		if state == "filling" {
			o.Backend = filling{b}
		}
		e, err := search.Open("", o)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		notes(t, e)
		for _, text := range []string{"stauts != 'new'", "NOT stauts EXISTS", "gone EXISTS OR status EXISTS OR meta = 1"} {
			for _, dryRun := range []bool{true, false} {
				_, err := e.DeleteByFilter(t.Context(), "notes", text, dryRun)
				if name := strings.Fields(strings.TrimPrefix(text, "NOT "))[0]; !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), `got "`+name+`", allowed: fields that`) {
					t.Errorf("%s: %s: %v, want an error about %s", state, text, err, name)
				}
			}
		}
		for text, want := range map[string]int{"status = 'no' OR `meta.n` = 2 OR text = ''": 0, "later = 1": 0, "status = 'new'": 1, "text = 'word'": 2} {
			if d, err := e.DeleteByFilter(t.Context(), "notes", text, true); err != nil || d.Matched != want {
				t.Errorf("%s: %s: %+v, %v", state, text, d, err)
			}
		}
		if _, err := e.DeleteByFilter(t.Context(), "notes", "later NOT EXISTS", false); err != nil {
			t.Errorf("%s: %v", state, err)
		}
		if d, err := e.DeleteByFilter(t.Context(), "notes", "stauts != 'new'", false); err != nil || d != (search.Deletion{Complete: true}) {
			t.Errorf("%s: of no documents: %+v, %v", state, d, err)
		}
		r, err := e.Search(t.Context(), "notes", search.Query{Q: "word", Filter: "stauts = 'new'"})
		if err != nil || len(r.Warnings) != map[string]int{"filled": 1, "filling": 0}[state] {
			t.Errorf("%s: warnings %q, %v", state, r.Warnings, err)
		}
	}
}

func TestSortKeysWithColons(t *testing.T) {
	for text, want := range map[string]search.SortKey{"year": {Field: "year"}, "year:asc": {Field: "year", Order: "asc"}, "a:b:desc": {Field: "a:b", Order: "desc"}, "_score": {Field: "_score"}} {
		if k, err := search.ParseSortKeys(text); err != nil || len(k) != 1 || k[0] != want {
			t.Errorf("%s: %+v, %v, want %+v", text, k, err, want)
		}
	}
	for text, want := range map[string]string{
		"year:desc, _score": "[{year desc <nil>} {_score  <nil>}]", "": "[{  <nil>}]", "a,,b": "[{a  <nil>} {  <nil>} {b  <nil>}]", "f(x": "[{f(x  <nil>}]", "f(x,y)": "[{f(x,y)  <nil>}]",
		"at(48.9,2.34)": "[{at  [48.9 2.34]}]", "n,at( -1.5 , 200 ):desc,_score": "[{n  <nil>} {at desc [-1.5 200]} {_score  <nil>}]",
	} {
		if k, err := search.ParseSortKeys(text); err != nil || fmt.Sprint(k) != want {
			t.Errorf("%q: %v, %v, want %s", text, k, err, want)
		}
	}
	var k search.SortKey
	for _, text := range []string{"price:dsc", "price:", "at:noon", ":", "a:DESC"} {
		if k, err := search.ParseSortKeys(text); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %+v, %v, want ErrInvalid", text, k, err)
		}
		if err := json.Unmarshal([]byte(`"`+text+`"`), &k); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("%s in JSON: %v, want ErrInvalid", text, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"field":"at:noon"}`), &k); err != nil || k != (search.SortKey{Field: "at:noon"}) {
		t.Errorf("as an object: %+v, %v", k, err)
	}
}
