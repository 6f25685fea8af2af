package meilisearch

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestFormat(t *testing.T) {
	doc := json.RawMessage(`{"id":1,"title":"A Big dog's big day","tags":["big cat","dog"],"nested":{"note":"big <b>"},"n":7}`)
	marks := map[string][]string{"title": {"A <mark>Big</mark> <mark>dog&#39;s</mark> big day"}}
	for name, tc := range map[string]struct {
		query Query
		want  string
	}{
		"one attribute": {Query{AttributesToHighlight: []string{"title"}}, `{"id":1,"title":"A <em>Big</em> <em>dog</em>'<em>s</em> <em>big</em> day","tags":["big cat","dog"],"nested":{"note":"big <b>"},"n":7}`},
		"all of them":   {Query{AttributesToHighlight: []string{"*"}, AttributesToRetrieve: []string{"tags", "n"}}, `{"tags":["<em>big</em> cat","<em>dog</em>"],"n":"7"}`},
		"nested":        {Query{AttributesToHighlight: []string{"nested"}, AttributesToRetrieve: []string{}}, `{"nested":{"note":"<em>big</em> <b>"}}`},
		"cropped":       {Query{AttributesToCrop: []string{"title:2"}, AttributesToRetrieve: []string{"title"}}, `{"title":"A Big…"}`},
		"both":          {Query{AttributesToCrop: []string{"title:1"}, AttributesToHighlight: []string{"title"}, AttributesToRetrieve: []string{"title"}}, `{"title":"…<em>Big</em>…"}`},
	} {
		x := &index{}
		x.settings.DisplayedAttributes = []string{"*"}
		show, err := x.show(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := show.format(doc, marks)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(formatted)
		var a, b any
		json.Unmarshal(got, &a)
		json.Unmarshal([]byte(tc.want), &b)
		if name == "one attribute" { // numbers are texts in all of _formatted
			b.(map[string]any)["id"], b.(map[string]any)["n"] = "1", "7"
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestSynonymRules(t *testing.T) {
	rules, err := synonymRules(map[string][]string{"tv": {"television", "telly"}, "alone": nil})
	if err != nil || !reflect.DeepEqual(rules, []string{"tv => tv, television, telly"}) {
		t.Errorf("%q, %v", rules, err)
	}
	if _, err := synonymRules(map[string][]string{"a": {"b => c"}}); err == nil {
		t.Error("a rule inside a synonym")
	}
}
