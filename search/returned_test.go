package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
)

func TestReturnFields(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	const whole = `{"a.b":"dotted","big":12345678901234567890,"html":"<b> & milk","meta":{"deep":{"n":1,"o":2},"lang":"en","list":[{"x":1}]},"text":"milk"}`
	put(t, e, search.Created, doc("d", whole))
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{nil, whole},
		{[]string{}, `{}`},
		{[]string{"nothing", "text.more"}, `{}`},
		{[]string{"text", "big"}, `{"big":12345678901234567890,"text":"milk"}`},
		{[]string{"html", "html"}, `{"html":"<b> & milk"}`},
		{[]string{"a.b"}, `{"a.b":"dotted"}`},
		{[]string{"a"}, `{}`},
		{[]string{"meta"}, `{"meta":{"deep":{"n":1,"o":2},"lang":"en","list":[{"x":1}]}}`},
		{[]string{"meta.deep.n", "meta.lang"}, `{"meta":{"deep":{"n":1},"lang":"en"}}`},
		{[]string{"meta.deep.n", "meta.deep"}, `{"meta":{"deep":{"n":1,"o":2}}}`},
		{[]string{"meta.list.x"}, `{}`},
		{[]string{"meta.list"}, `{"meta":{"list":[{"x":1}]}}`},
	} {
		answers := map[string]func() (*search.Response, error){
			"query": func() (*search.Response, error) {
				return e.Search(t.Context(), "docs", search.Query{Q: "milk", ReturnFields: tc.names})
			},
			"browse": func() (*search.Response, error) {
				return e.Search(t.Context(), "docs", search.Query{ReturnFields: tc.names})
			},
			"similar": func() (*search.Response, error) {
				return e.Similar(t.Context(), "docs", search.Similar{Text: "milk", ReturnFields: tc.names})
			},
		}
		for name, answer := range answers {
			r, err := answer()
			if err != nil || len(r.Hits) != 1 {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			h := r.Hits[0]
			if got := string(h.Document); got != tc.want {
				t.Errorf("%s returns of %q %s, want %s", name, tc.names, got, tc.want)
			}
			if len(h.Passages) != 1 || h.Passages[0].Text != "milk" {
				t.Errorf("%s, %q: passages %+v, want that of the text", name, tc.names, h.Passages)
			}
		}
	}
	for _, tc := range []struct {
		names, omit []string
		want        string
	}{
		{nil, []string{"nothing", "text.more", "meta.list.x"}, whole},
		{nil, []string{"text", "html", "meta"}, `{"a.b":"dotted","big":12345678901234567890}`},
		{nil, []string{"a.b", "big", "html", "meta.deep.n", "meta.list"}, `{"meta":{"deep":{"o":2},"lang":"en"},"text":"milk"}`},
		{[]string{"meta.deep", "big", "html"}, []string{"meta.deep.o", "big"}, `{"html":"<b> & milk","meta":{"deep":{"n":1}}}`},
		{[]string{}, []string{"text"}, `{}`},
	} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: "milk", ReturnFields: tc.names, OmitFields: tc.omit})
		s, serr := e.Similar(t.Context(), "docs", search.Similar{Text: "milk", ReturnFields: tc.names, OmitFields: tc.omit})
		if err != nil || serr != nil || len(r.Hits) != 1 || len(s.Hits) != 1 {
			t.Fatalf("%+v, %v; %+v, %v", r, err, s, serr)
		}
		if got, like := string(r.Hits[0].Document), string(s.Hits[0].Document); got != tc.want || like != tc.want || r.Hits[0].Passages[0].Text != "milk" {
			t.Errorf("of %q without %q: %s and %s, want %s", tc.names, tc.omit, got, like, tc.want)
		}
	}
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "milk", OmitFields: []string{""}}); err == nil || !strings.Contains(err.Error(), "omit_fields[0]") {
		t.Errorf("an empty name to omit: %v", err)
	}
	for field, names := range map[string][]string{"return_fields[1]": {"text", ""}, "return_fields[0]": {"\xff"}, "return_fields": strings.Split(strings.Repeat("x,", search.MaxReturnFields)+"x", ",")} {
		_, err := e.Search(t.Context(), "docs", search.Query{Q: "milk", ReturnFields: names})
		var got *search.FieldError
		if !errors.As(err, &got) || got.Field != field {
			t.Errorf("%s: %v", fmt.Sprint(len(names)), err)
		}
	}
}
