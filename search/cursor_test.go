package search_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestCursorIsOfItsCollection: a listing goes on with the collection that it began with, through
// what leaves its documents, and with no other.
func TestCursorIsOfItsCollection(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(6)...)
	another(t, e, "other", numbered(6)...)
	_, cursor, err := e.Documents(t.Context(), "docs", "", 4)
	if err != nil {
		t.Fatal(err)
	}
	goesOn := func(when string) {
		t.Helper()
		if docs, next, err := e.Documents(t.Context(), "docs", cursor, 10); len(docs) != 2 || next != "" || err != nil {
			t.Errorf("%s it goes on with %d documents, %q, %v", when, len(docs), next, err)
		}
	}
	refused := func(collection, cursor string) {
		t.Helper()
		docs, _, err := e.Documents(t.Context(), collection, cursor, 10)
		var wrong *search.FieldError
		if !errors.As(err, &wrong) || wrong.Field != "cursor" || wrong.Value != cursor {
			t.Errorf("the cursor %q of %s gives %d documents, %v", cursor, collection, len(docs), err)
		}
	}
	goesOn("at once")
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 70}}); err != nil {
		t.Fatal(err)
	}
	goesOn("with other settings")
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{KeepOld: true})
	if err != nil || ended(t, e, task.ID).State != search.TaskSucceeded {
		t.Fatal(err)
	}
	goesOn("re-embedded")

	refused("other", cursor)
	of, rest, _ := strings.Cut(cursor, ".")
	_, place, _ := strings.Cut(rest, "~")
	for _, bad := range []string{"AAAAAA", place, rest, of, of + ".", of + ".1~", of + ".0~" + place, of + ".01~" + place, of + ".1~AAAAAA", of + ".1~0/AAAAAA", cursor + "!", "." + rest} {
		refused("docs", bad)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	another(t, e, "docs", numbered(6)...)
	refused("docs", cursor)
}
