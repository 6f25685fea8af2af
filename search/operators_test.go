package search_test

import (
	"testing"

	"example.com/searchd/search"
)

// TestOperatorsAreText: the operators of query strings elsewhere (wildcards, patterns, edits,
// ranges, field names, boosts) are read as text, so that no query expands to many terms.
func TestOperatorsAreText(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("milk", `{"title":"dairy","text":"fresh milk"}`), doc("mill", `{"title":"milky","text":"a mill by the river"}`))
	for q, want := range map[string]string{
		"*": "", "?": "", "mi*": "", "*ilk": "", "m?lk": "", "/mil./": "", "/([a-z]{1,20}){1,20}/": "", "[a TO z]": "", ">zzz": "", "_exists_:title": "",
		"milk*": "milk", "milk~2": "milk", "milk^1000000000": "milk", "title:milk": "milk", "+milk": "milk", "(milk": "milk", `milk\`: "milk", "milk AND": "milk",
	} {
		if got := find(t, e, search.Query{Q: q, Mode: search.Keyword, Spelling: search.Exact}); got != want {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
}
