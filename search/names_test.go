package search_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestNamesInSnippets: a place that has a name comes before one that has its words, and the name
// has one mark.
func TestNamesInSnippets(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	filler := strings.Repeat("Here a ball lies and nothing else. ", 20)
	text := "A path of the os: then join it. " + filler + "Look at os.path.join of Python. " + filler + "We join a path on this os. " + filler
	put(t, e, search.Created, doc("a", fmt.Sprintf(`{"text":%q}`, text)))
	put(t, e, search.Created, doc("b", fmt.Sprintf(`{"text":%q}`, "It is written in C, not in "+filler+"C++ of the year.")))
	for _, tt := range []struct{ q, want string }{
		{"os.path.join", "<mark>os.path.join</mark>"},
		{"C++", "<mark>C++</mark>"},
		{`"os.path.join"`, "<mark>os.path.join</mark>"},
	} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: tt.q, Mode: search.Keyword})
		if err != nil || len(r.Hits) != 1 {
			t.Fatalf("%s: %+v, %v", tt.q, r, err)
		}
		if all := strings.Join(r.Hits[0].Highlights["text"], " | "); !strings.Contains(all, tt.want) {
			t.Errorf("%s: snippets %s, want %s", tt.q, all, tt.want)
		}
		if got := r.Hits[0].Passages[0]; !strings.Contains(got.Text, strings.Trim(tt.q, `"`)) {
			t.Errorf("%s: passage %q", tt.q, got.Text)
		}
	}
}
